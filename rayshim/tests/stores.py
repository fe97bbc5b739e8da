"""What the store holds, for tests that look at the room that values take."""

import rayshim as ray


def used():
    """Bytes of the running session's store that are in use."""
    return ray.cluster_resources()["object_store_memory"] - ray.available_resources()["object_store_memory"]


class Plain:
    """A value that is pickled, with an array in it."""

    def __init__(self, array):
        self.array = array
