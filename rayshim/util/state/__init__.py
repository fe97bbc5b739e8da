"""The state API: lists the actors, ended calls, nodes, workers and placement groups of the session. It does not list objects and logs."""

from typing import NoReturn

from rayshim.util.state.api import (
    get_actor,
    get_job,
    get_node,
    get_placement_group,
    get_task,
    get_worker,
    list_actors,
    list_jobs,
    list_nodes,
    list_placement_groups,
    list_tasks,
    list_workers,
    summarize_actors,
    summarize_tasks,
)

__all__ = [
    "get_actor",
    "get_job",
    "get_node",
    "get_placement_group",
    "get_task",
    "get_worker",
    "list_actors",
    "list_jobs",
    "list_nodes",
    "list_placement_groups",
    "list_tasks",
    "list_workers",
    "summarize_actors",
    "summarize_tasks",
]


def __getattr__(name: str) -> NoReturn:
    if name.startswith(("get_", "list_", "summarize_")):
        raise AttributeError(f"rayshim does not provide ray.util.state.{name}: it provides {', '.join(__all__)}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
