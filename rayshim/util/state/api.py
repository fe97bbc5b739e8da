"""The functions of the state API. Ray's arguments `address`, `timeout`, `raise_on_missing_output` and `_explain` are accepted and have no
effect."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from rayshim.errors.sites import calling
from rayshim.session import session
from rayshim.util.state import sources

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from rayshim.util.state.records import (
        ActorState,
        JobState,
        NodeState,
        PlacementGroupState,
        Record,
        TaskState,
        WorkerState,
    )

    R_co = TypeVar("R_co", covariant=True)

    class _Listing(Protocol[R_co]):
        def __call__(
            self,
            address: str | None = None,
            filters: list[tuple[str, str, Any]] | None = None,
            limit: int | None = 100,
            timeout: float | None = 30,
            detail: bool = False,
            raise_on_missing_output: bool = True,
            _explain: bool = False,
        ) -> list[R_co]: ...

    class _Getting(Protocol[R_co]):
        def __call__(
            self, id: str, address: str | None = None, timeout: float | None = 30, _explain: bool = False
        ) -> R_co | None: ...


R = TypeVar("R", bound="Record")


def _listing(source: Callable[[], list[R]], doc: str) -> _Listing[R]:
    def listing(
        address: str | None = None,
        filters: list[tuple[str, str, Any]] | None = None,
        limit: int | None = 100,
        timeout: float | None = 30,
        detail: bool = False,
        raise_on_missing_output: bool = True,
        _explain: bool = False,
    ) -> list[R]:
        return _select(source, filters, limit, detail)

    listing.__doc__ = (
        f"{doc}\n\n    Arguments:\n        filters: list of (field, '=' or '!=', value); a record must match all of them.\n"
        "        limit: most records in the list.\n        detail: whether to fill in all fields.\n\n"
        "    Raises ValueError for another comparison or an unknown field.\n    "
    )
    return listing


def _select(
    source: Callable[[], list[R]], filters: list[tuple[str, str, Any]] | None, limit: int | None, detail: bool
) -> list[R]:
    session.ensure()
    found = source()
    for key, predicate, value in filters or ():
        if predicate not in ("=", "!="):
            raise ValueError(
                f"Unsupported filter predicate {predicate} is given. Available predicates: =, !=. (at {calling()})"
            )
        if found and key not in found[0].columns():
            raise ValueError(
                f"Invalid filter key {key}. Available filter keys: {', '.join(sorted(found[0].columns()))}. (at {calling()})"
            )
        found = [record for record in found if _same(record[key], value) == (predicate == "=")]
    found = found[:limit]
    return found if detail else [record.brief() for record in found]


def _same(have, wanted):
    return str(have).lower() == str(wanted).lower()


list_actors: _Listing[ActorState] = _listing(
    sources.actors, "A list with the ActorState of each actor, including recently ended ones."
)
list_tasks: _Listing[TaskState] = _listing(
    sources.tasks,
    "A list with the TaskState of each ended call. Raises RayStateApiException unless the session has `trace=True`.",
)
list_nodes: _Listing[NodeState] = _listing(sources.nodes, "A list with the NodeState of this machine.")
list_jobs: _Listing[JobState] = _listing(sources.jobs, "A list with the JobState of this program.")
list_workers: _Listing[WorkerState] = _listing(
    sources.workers, "A list with the WorkerState of the driver and of each living worker."
)
list_placement_groups: _Listing[PlacementGroupState] = _listing(
    sources.placement_groups, "A list with the PlacementGroupState of each placement group, including removed ones."
)


def _getting(source: Callable[[], list[R]], key: str, doc: str) -> _Getting[R]:
    def getting(id: str, address: str | None = None, timeout: float | None = 30, _explain: bool = False) -> R | None:
        session.ensure()
        return next((record for record in source() if record[key] == id), None)

    getting.__doc__ = doc
    return getting


get_actor: _Getting[ActorState] = _getting(
    sources.actors,
    "actor_id",
    "The ActorState of the actor with this hex id, with details; None if there is no such actor.",
)
get_node: _Getting[NodeState] = _getting(sources.nodes, "node_id", "The NodeState with this hex id, or None.")
get_job: _Getting[JobState] = _getting(sources.jobs, "job_id", "The JobState with this hex id, or None.")
get_worker: _Getting[WorkerState] = _getting(sources.workers, "worker_id", "The WorkerState with this hex id, or None.")
get_task: _Getting[TaskState] = _getting(
    sources.tasks, "task_id", "The TaskState of the ended call with this hex id, or None; else as `list_tasks`."
)
get_placement_group: _Getting[PlacementGroupState] = _getting(
    sources.placement_groups, "placement_group_id", "The PlacementGroupState with this hex id, with details, or None."
)


def summarize_actors(
    address: str | None = None, timeout: float | None = 30, raise_on_missing_output: bool = True, _explain: bool = False
) -> dict[str, Any]:
    """The number of actors in each state, by class, as a dict."""
    return {"cluster": _summary(list_actors(limit=None), "class_name", "total_actors")}


def summarize_tasks(
    address: str | None = None, timeout: float | None = 30, raise_on_missing_output: bool = True, _explain: bool = False
) -> dict[str, Any]:
    """The number of ended calls, by function, as a dict; see `list_tasks`."""
    found = list_tasks(limit=None)
    actor_tasks = sum(task.type == "ACTOR_TASK" for task in found)
    return {
        "cluster": {
            **_summary(found, "func_or_class_name", "total_tasks"),
            "total_tasks": len(found) - actor_tasks,
            "total_actor_tasks": actor_tasks,
            "total_actor_scheduled": 0,
        }
    }


def _summary(records, by, total):
    groups = {}
    for record in records:
        groups.setdefault(record[by], []).append(record)
    return {
        "summary": {
            name: {by: name, "state_counts": dict(Counter(record.state for record in found))}
            for name, found in groups.items()
        },
        total: len(records),
        "summary_by": "class" if by == "class_name" else "func_name",
    }
