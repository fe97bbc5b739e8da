"""`ray._private.internal_api`."""

from rayshim.internal import free

__all__ = [
    "free",
    "get_local_ongoing_lineage_reconstruction_tasks",
    "get_memory_info_reply",
    "get_state_from_address",
    "global_gc",
]


def global_gc():
    """Collects garbage in this process; in workers Python does it by itself."""
    import gc

    gc.collect()


def get_local_ongoing_lineage_reconstruction_tasks():
    """Tasks that are run again for lost objects: no object is lost on one machine."""
    return []


def get_state_from_address(address=None):
    """The GlobalState of the session."""
    from rayshim._private.state import state

    return state


def get_memory_info_reply(state, node_manager_address=None, node_manager_port=None):
    """Raises NotImplementedError: no sum of spilled bytes is kept. Ray Data then leaves these rows out of its statistics."""
    raise NotImplementedError("rayshim keeps no sum of what its store has spilled and restored")
