"""Inner facts of the store, for Ray's libraries."""

import gc


def global_gc():
    """Collects garbage in this process; in workers Python does it by itself."""
    gc.collect()


def get_local_ongoing_lineage_reconstruction_tasks():
    """Tasks that are run again for lost objects: no object is lost on one machine."""
    return []


def get_state_from_address(address=None):
    from ray._private.state import state

    return state


def get_memory_info_reply(state, node_manager_address=None, node_manager_port=None):
    """Raises NotImplementedError: no sum of what was spilled is kept. Data then leaves these rows out of its statistics."""
    raise NotImplementedError("rayshim keeps no sum of what its store has spilled and restored")
