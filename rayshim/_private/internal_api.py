"""`ray._private.internal_api`."""

from dataclasses import dataclass

from rayshim.internal import free
from rayshim.session import session

__all__ = [
    "free",
    "get_local_ongoing_lineage_reconstruction_tasks",
    "get_memory_info_reply",
    "get_state_from_address",
    "global_gc",
    "memory_summary",
    "store_stats_summary",
]


def global_gc():
    """Collects garbage in all processes of the session: in those that wait at once, in others when they wait next, or end a call."""
    from reactor import _core

    if session.current is None:
        raise ConnectionError("there is no session whose processes could collect garbage: call ray.init() first")
    _core.collect_everywhere()


def get_local_ongoing_lineage_reconstruction_tasks():
    """Tasks that are run again for lost objects: no object is lost on one machine."""
    return []


def get_state_from_address(address=None):
    """The GlobalState of the session."""
    from rayshim._private.state import state

    return state


@dataclass(frozen=True)
class StoreStats:
    """The object store, in bytes and seconds, under the names of Ray's message. A value on the disk is read where it lies, so that nothing is
    ever restored."""

    object_store_bytes_used: int
    object_store_bytes_avail: int
    spilled_bytes_total: int
    spilled_objects_total: int
    spill_time_total_s: float
    restored_bytes_total: int = 0
    restored_objects_total: int = 0
    restore_time_total_s: float = 0.0

    @property
    def object_store_bytes_primary_copy(self):
        return self.object_store_bytes_used  # there is one copy


@dataclass(frozen=True)
class MemoryInfo:
    store_stats: StoreStats


def get_memory_info_reply(state=None, node_manager_address=None, node_manager_port=None):
    """The MemoryInfo of the session. Raises ConnectionError without one."""
    from reactor import _core

    if session.current is None:
        raise ConnectionError(
            "the object store cannot be described, because this process is in no session: call ray.init() first"
        )
    spilled = _core.spilling()
    return MemoryInfo(
        StoreStats(
            object_store_bytes_used=_core.large_values(),
            object_store_bytes_avail=_core.store_limit(),
            spilled_bytes_total=int(spilled["spilled"]),
            spilled_objects_total=int(spilled["values"]),
            spill_time_total_s=spilled["seconds"],
        )
    )


def store_stats_summary(reply):
    """A text about a MemoryInfo, in Ray's words."""
    stats = reply.store_stats
    full = round(100 * stats.object_store_bytes_used / stats.object_store_bytes_avail, 2)
    needed = round(100 * stats.object_store_bytes_primary_copy / stats.object_store_bytes_avail, 2)
    text = (
        "--- Aggregate object store stats across all nodes ---\n"
        f"Plasma memory usage {stats.object_store_bytes_used >> 20} MiB, {full}% full, {needed}% needed\n"
    )
    if stats.spill_time_total_s > 0:
        pace = int(stats.spilled_bytes_total / (1 << 20) / stats.spill_time_total_s)
        text += (
            f"Spilled {stats.spilled_bytes_total >> 20} MiB, {stats.spilled_objects_total} objects, "
            f"avg write throughput {pace} MiB/s\n"
        )
    return text


def memory_summary(
    address=None,
    group_by="NODE_ADDRESS",
    sort_by="OBJECT_SIZE",
    units="B",
    line_wrap=True,
    stats_only=False,
    num_entries=None,
):
    """A text about the object store of this process's session, however full it is and how much was spilled. rayshim keeps no list of objects, so
    that the text is the same with `stats_only=False`, and the other arguments have no effect. Raises ConnectionError without a session."""
    return store_stats_summary(get_memory_info_reply(get_state_from_address(address)))
