"""The state API: what there is in the session. Of Ray's arguments, `address`, `timeout`, `raise_on_missing_output` and `_explain`
are accepted and have no meaning in one process's own session."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rayshim.errors.sites import calling
from rayshim.session import session
from rayshim.util.state import sources


def _listing(source, doc):
    def listing(
        address: str | None = None,
        filters: list[tuple[str, str, Any]] | None = None,
        limit: int | None = 100,
        timeout: float | None = 30,
        detail: bool = False,
        raise_on_missing_output: bool = True,
        _explain: bool = False,
    ) -> list[Any]:
        return _select(source, filters, limit, detail)

    listing.__doc__ = (
        f"{doc}\n\n    Arguments: filters, list of (field, '=' or '!=', value), all of which must hold; limit, the most that is "
        "listed; detail,\n    whether the fields of lesser interest are filled. Raises ValueError for another comparison or an "
        "unknown field.\n    "
    )
    return listing


def _select(source, filters, limit, detail):
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


list_actors = _listing(sources.actors, "ActorState of the actors, the last dead ones included.")
list_tasks = _listing(
    sources.tasks, "TaskState of the ended calls; RayStateApiException unless the session keeps them (`trace=True`)."
)
list_nodes = _listing(sources.nodes, "NodeState of this machine.")
list_jobs = _listing(sources.jobs, "JobState of this program.")
list_workers = _listing(sources.workers, "WorkerState of the driver and the living workers.")
list_placement_groups = _listing(
    sources.placement_groups, "PlacementGroupState of the placement groups, removed ones included."
)


def _getting(source, key, doc):
    def getting(id: str, address: str | None = None, timeout: float | None = 30, _explain: bool = False) -> Any:
        session.ensure()
        return next((record for record in source() if record[key] == id), None)

    getting.__doc__ = doc
    return getting


get_actor = _getting(
    sources.actors, "actor_id", "The ActorState, with details, of the actor with this hex id, or None."
)
get_node = _getting(sources.nodes, "node_id", "The NodeState of this hex id, or None.")
get_job = _getting(sources.jobs, "job_id", "The JobState of this hex id, or None.")
get_worker = _getting(sources.workers, "worker_id", "The WorkerState of this hex id, or None.")
get_placement_group = _getting(
    sources.placement_groups, "placement_group_id", "The PlacementGroupState, with details, of this hex id, or None."
)


def summarize_actors(
    address: str | None = None, timeout: float | None = 30, raise_on_missing_output: bool = True, _explain: bool = False
) -> Any:
    """How many actors there are in which state, by class, as a dict."""
    return {"cluster": _summary(list_actors(limit=None), "class_name", "total_actors")}


def summarize_tasks(
    address: str | None = None, timeout: float | None = 30, raise_on_missing_output: bool = True, _explain: bool = False
) -> Any:
    """How many calls there were, by function, as a dict; else as `list_tasks`."""
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
