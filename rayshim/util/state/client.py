"""StateApiClient, which the functions of the state API use."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from typing import Any, ClassVar

from rayshim.errors.user_code import calling
from rayshim.session import heads, session
from rayshim.util.state import calls, places, sources
from rayshim.util.state.exception import RayStateApiException, ServerUnavailable
from rayshim.util.state.options import (
    GetApiOptions,
    ListApiOptions,
    StateResource,
    SummaryApiOptions,
    SummaryResource,
    matching,
    selected,
)
from rayshim.util.state.records import (
    ActorState,
    ClusterEventState,
    JobState,
    NodeState,
    ObjectState,
    PlacementGroupState,
    RuntimeEnvState,
    StateSchema,
    TaskState,
    WorkerState,
)


class StateApiClient:
    """Reads the state of this program's session. `address` must be the address of this session, if given. The other arguments have no effect.

    Raises ConnectionError if no session is running. If no session is at `address`, raises RpcError or ValueError, or, at the first request,
    ServerUnavailable."""

    __module__ = "rayshim.util.state.api"

    _SOURCES: ClassVar[dict[StateResource, tuple[type[StateSchema], Any]]] = {
        StateResource.ACTORS: (ActorState, sources.actors),
        StateResource.JOBS: (JobState, sources.jobs),
        StateResource.PLACEMENT_GROUPS: (PlacementGroupState, sources.placement_groups),
        StateResource.NODES: (NodeState, sources.nodes),
        StateResource.WORKERS: (WorkerState, sources.workers),
        StateResource.OBJECTS: (ObjectState, sources.objects),
        StateResource.RUNTIME_ENVS: (RuntimeEnvState, sources.runtime_envs),
        StateResource.CLUSTER_EVENTS: (ClusterEventState, sources.cluster_events),
    }
    # The field with the id, and its bytes if Ray checks them.
    _KEYS: ClassVar[dict[StateResource, tuple[str, int | None]]] = {
        StateResource.NODES: ("node_id", 28),
        StateResource.ACTORS: ("actor_id", 16),
        StateResource.PLACEMENT_GROUPS: ("placement_group_id", None),
        StateResource.WORKERS: ("worker_id", None),
        StateResource.TASKS: ("task_id", 24),
        StateResource.OBJECTS: ("object_id", None),
        StateResource.JOBS: ("submission_id", None),
    }

    def __init__(
        self,
        address: str | None = None,
        cookies: dict[str, Any] | None = None,
        headers: dict[str, Any] | None = None,
    ) -> None:
        self._unreachable = None if places.answers(address) else address
        if self._unreachable:
            return
        if session.current is None and not heads.any_runs():
            raise ConnectionError(f"{heads.NOT_FOUND} (at {calling()}: call init() first)")
        session.ensure()

    def _reach(self, endpoint):
        if self._unreachable:
            raise ServerUnavailable(
                f"Failed to make request to {self._unreachable.rstrip('/')}/api/v0/{endpoint}. {places.NO_SERVER} (at {calling()}: there is no "
                "session with this address; give none)"
            )

    def list(
        self, resource: StateResource, options: ListApiOptions, raise_on_missing_output: bool, _explain: bool = False
    ) -> list[Any]:
        """The records that `options` selects."""
        if options.has_conflicting_filters():
            return []
        self._reach(resource.value)
        kind = TaskState if resource is StateResource.TASKS else self._SOURCES[resource][0]
        selected((), kind, options)  # that is wrong whatever is found
        if resource is StateResource.TASKS:
            calls.tell()
        found = self._found(resource)
        if _explain:
            _warn_of_more(found, kind, options)
        return selected(found, kind, options)

    def _found(self, resource):
        if resource is StateResource.TASKS:
            return calls.found()
        return [(record, 1) for record in self._SOURCES[resource][1]()]

    def get(self, resource: StateResource, id: str, options: GetApiOptions | None, _explain: bool = False) -> Any:
        """The record with this id, with details, or None; of tasks a list if it has run several times.

        Raises ValueError for resources without ids, RayStateApiException for an invalid id."""
        if resource not in self._KEYS:
            raise ValueError(f"Can't get {resource.name} by id. (at {calling()})")
        self._reach(resource.value)
        key, size = self._KEYS[resource]
        _check_id(id, size)
        found = [record for record, _ in self._found(resource) if record[key] == id]
        if not found and resource is StateResource.TASKS:
            calls.tell()
        return None if not found else found[0] if len(found) == 1 else found

    def summary(
        self,
        resource: SummaryResource,
        *,
        options: SummaryApiOptions,
        raise_on_missing_output: bool,
        _explain: bool = False,
    ) -> dict[str, Any]:
        """The numbers of records in each state, as a dict."""
        self._reach(f"{resource.value}/summarize")
        if resource is SummaryResource.OBJECTS:
            sources.objects()
        kind = TaskState if resource is SummaryResource.TASKS else ActorState
        counted = matching(self._found(StateResource(resource.value)), kind, options.filters)
        if resource is SummaryResource.TASKS:
            calls.tell()
            return {"cluster": _of_tasks(counted)}
        groups = _grouped(counted, "class_name")
        classes = {name: {"class_name": name, "state_counts": states} for name, (_, states) in groups.items()}
        return {"cluster": {"summary": classes, "total_actors": len(counted), "summary_by": "class"}}


def _warn_of_more(found, kind, options):
    total = sum(count for _, count in matching(found, kind, options.filters))
    if total > options.limit:
        warnings.warn(
            f"Limit last {options.limit} entries (Total {total}). Use `--filter` to reduce the amount of data to return or setting a higher "
            "limit with `--limit` to see all data. ",
            stacklevel=3,
        )


def _of_tasks(counted):
    groups = _grouped(counted, "name")
    totals = Counter()
    for record, count in counted:
        totals[record.type] += count
    return {
        "summary": {
            name: {"func_or_class_name": name, "type": first.type, "state_counts": states}
            for name, (first, states) in groups.items()
        },
        "total_tasks": totals["NORMAL_TASK"],
        "total_actor_tasks": totals["ACTOR_TASK"],
        "total_actor_scheduled": totals["ACTOR_CREATION_TASK"],
        "summary_by": "func_name",
    }


def _grouped(counted, by):
    """{name: (its first record, {state: number})}"""
    groups = {}
    for record, count in counted:
        states = groups.setdefault(record[by], (record, {}))[1]
        states[record.state] = states.get(record.state, 0) + count
    return groups


def _check_id(id, size):
    if not isinstance(id, (str, int)):
        raise RayStateApiException(f"The id must be a hex string, got {id!r}. (at {calling()})")
    text = str(id)
    if size is None:
        return
    if len(text) % 2 and re.fullmatch("[0-9a-fA-F]*", text):
        raise RayStateApiException(f"Odd-length string {text!r} (an id, at {calling()})")
    if not re.fullmatch("[0-9a-fA-F]*", text):
        raise RayStateApiException(f"Non-hexadecimal digit found in {text!r} (an id, at {calling()})")
    if len(text) != 2 * size:
        raise RayStateApiException(f"ID string needs to have length {size}, got {len(text) // 2} (at {calling()})")
