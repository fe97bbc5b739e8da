"""The functions of the state API. Ray's arguments `timeout` and `raise_on_missing_output` are accepted and have no effect; `address` must be that
of this program's session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from rayshim.errors.user_code import calling
from rayshim.util.state import places
from rayshim.util.state.client import StateApiClient
from rayshim.util.state.exception import RayStateApiException
from rayshim.util.state.options import (
    DEFAULT_LIMIT,
    DEFAULT_RPC_TIMEOUT,
    GetApiOptions,
    ListApiOptions,
    StateResource,
    SummaryApiOptions,
    SummaryResource,
    invalid,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from rayshim.calls.refs import ObjectRef
    from rayshim.util.state.records import (
        ActorState,
        ClusterEventState,
        JobState,
        NodeState,
        ObjectState,
        PlacementGroupState,
        RuntimeEnvState,
        TaskState,
        WorkerState,
    )

    R_co = TypeVar("R_co", covariant=True)

    class _Listing(Protocol[R_co]):
        def __call__(
            self,
            address: str | None = None,
            filters: list[tuple[str, str, Any]] | None = None,
            limit: int = DEFAULT_LIMIT,
            timeout: int = DEFAULT_RPC_TIMEOUT,
            detail: bool = False,
            raise_on_missing_output: bool = True,
            _explain: bool = False,
        ) -> list[R_co]: ...

    class _Getting(Protocol[R_co]):
        def __call__(
            self, id: str, address: str | None = None, timeout: int = DEFAULT_RPC_TIMEOUT, _explain: bool = False
        ) -> R_co | None: ...


def _listing(resource: StateResource, doc: str) -> _Listing[Any]:
    def listing(
        address: str | None = None,
        filters: list[tuple[str, str, Any]] | None = None,
        limit: int = DEFAULT_LIMIT,
        timeout: int = DEFAULT_RPC_TIMEOUT,
        detail: bool = False,
        raise_on_missing_output: bool = True,
        _explain: bool = False,
    ) -> list[Any]:
        options = ListApiOptions(limit=limit, timeout=timeout, filters=filters, detail=detail)
        return StateApiClient(address).list(resource, options, raise_on_missing_output, _explain)

    listing.__name__ = listing.__qualname__ = f"list_{resource.value}"
    listing.__doc__ = (
        f"{doc}\n\n    Arguments:\n        filters: list of (field, '=' or '!=', value); a record must match all of them.\n"
        "        limit: most records in the list, at most 10,000, or what RAY_MAX_LIMIT_FROM_API_SERVER\n            says.\n        detail: whether to fill in all fields.\n\n"
        "    Raises pydantic's ValidationError, a ValueError, for another comparison or a wrong type, RayStateApiException for an unknown field, ConnectionError without a "
        "session.\n    "
    )
    return listing


list_actors: _Listing[ActorState] = _listing(
    StateResource.ACTORS, "A list with the ActorState of each actor, including recently ended ones."
)
list_tasks: _Listing[TaskState] = _listing(
    StateResource.TASKS,
    "A list with the TaskState of each call that runs, waits for a worker or has ended. Only with `init(trace=True)` do calls that have ended have "
    "ids and times. A worker that is busy when it is asked does not tell which calls it has ended.",
)
list_nodes: _Listing[NodeState] = _listing(StateResource.NODES, "A list with the NodeState of this machine.")
list_jobs: _Listing[JobState] = _listing(StateResource.JOBS, "A list with the JobState of this program.")
list_workers: _Listing[WorkerState] = _listing(
    StateResource.WORKERS, "A list with the WorkerState of the driver and of each living worker."
)
list_placement_groups: _Listing[PlacementGroupState] = _listing(
    StateResource.PLACEMENT_GROUPS,
    "A list with the PlacementGroupState of each placement group, including removed ones.",
)
list_objects: _Listing[ObjectState] = _listing(
    StateResource.OBJECTS, "Raises RayStateApiException: rayshim keeps no list of objects."
)
list_runtime_envs: _Listing[RuntimeEnvState] = _listing(
    StateResource.RUNTIME_ENVS, "Raises RayStateApiException: rayshim keeps no list of runtime environments."
)
list_cluster_events: _Listing[ClusterEventState] = _listing(
    StateResource.CLUSTER_EVENTS, "An empty list: the cluster is this machine, and does not change."
)


def _getting(resource: StateResource, name: str, doc: str) -> _Getting[Any]:
    def getting(
        id: str, address: str | None = None, timeout: int = DEFAULT_RPC_TIMEOUT, _explain: bool = False
    ) -> Any | None:
        return StateApiClient(address).get(resource, id, GetApiOptions(timeout=timeout), _explain)

    getting.__name__ = getting.__qualname__ = name
    getting.__doc__ = doc + " Raises RayStateApiException for an invalid id."
    return getting


get_actor: _Getting[ActorState] = _getting(
    StateResource.ACTORS,
    "get_actor",
    "The ActorState of the actor with this hex id, with details; None if there is none.",
)
get_node: _Getting[NodeState] = _getting(StateResource.NODES, "get_node", "The NodeState with this hex id, or None.")
get_job: _Getting[JobState] = _getting(
    StateResource.JOBS, "get_job", "The JobState of the job with this submission id, or None."
)
get_worker: _Getting[WorkerState] = _getting(
    StateResource.WORKERS, "get_worker", "The WorkerState with this hex id, or None."
)
get_placement_group: _Getting[PlacementGroupState] = _getting(
    StateResource.PLACEMENT_GROUPS,
    "get_placement_group",
    "The PlacementGroupState with this hex id, with details, or None.",
)
get_objects: _Getting[list[ObjectState]] = _getting(
    StateResource.OBJECTS, "get_objects", "Raises RayStateApiException: rayshim keeps no list of objects."
)


def get_task(
    id: str | ObjectRef[Any], address: str | None = None, timeout: int = DEFAULT_RPC_TIMEOUT, _explain: bool = False
) -> TaskState | list[TaskState] | None:
    """The TaskState of a call, given by its hex id or by a ref to its result. Returns a list if the call has run several times, and None if there is no
    such call. Without `init(trace=True)`, only calls that wait for a worker are found; a line on stderr says so.

    Raises RayStateApiException for an invalid id.
    """
    found = id if isinstance(id, str) else id.task_id().hex()
    return StateApiClient(address).get(StateResource.TASKS, found, GetApiOptions(timeout=timeout), _explain)


def _summary(resource, address, timeout, raise_on_missing_output, _explain):
    options = SummaryApiOptions(timeout=timeout)
    return StateApiClient(address).summary(
        resource, options=options, raise_on_missing_output=raise_on_missing_output, _explain=_explain
    )


def summarize_actors(
    address: str | None = None,
    timeout: int = DEFAULT_RPC_TIMEOUT,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> dict[str, Any]:
    """The number of actors in each state, by class, as a dict."""
    return _summary(SummaryResource.ACTORS, address, timeout, raise_on_missing_output, _explain)


def summarize_tasks(
    address: str | None = None,
    timeout: int = DEFAULT_RPC_TIMEOUT,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> dict[str, Any]:
    """The number of calls in each state, by function, as a dict; see `list_tasks`."""
    return _summary(SummaryResource.TASKS, address, timeout, raise_on_missing_output, _explain)


def summarize_objects(
    address: str | None = None,
    timeout: int = DEFAULT_RPC_TIMEOUT,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> dict[str, Any]:
    """Raises RayStateApiException: rayshim keeps no list of objects."""
    return _summary(SummaryResource.OBJECTS, address, timeout, raise_on_missing_output, _explain)


def list_logs(
    address: str | None = None,
    node_id: str | None = None,
    node_ip: str | None = None,
    glob_filter: str | None = None,
    timeout: int = DEFAULT_RPC_TIMEOUT,
) -> dict[str, list[str]]:
    """An empty dict: rayshim writes no log files. AssertionError without `node_id` and `node_ip`."""
    if node_ip is None and node_id is None:
        raise AssertionError(f"At least one of node ip and node id is required (list_logs at {calling()})")
    places.require(address)
    StateApiClient()
    return {}


def get_log(
    address: str | None = None,
    node_id: str | None = None,
    node_ip: str | None = None,
    filename: str | None = None,
    actor_id: str | None = None,
    task_id: str | None = None,
    pid: int | None = None,
    follow: bool = False,
    tail: int = -1,
    timeout: int = DEFAULT_RPC_TIMEOUT,
    suffix: str = "out",
    encoding: str | None = "utf-8",
    errors: str | None = "strict",
    submission_id: str | None = None,
    attempt_number: int = 0,
    _interval: float | None = None,
    filter_ansi_code: bool = False,
) -> Iterator[str]:
    """Raises RayStateApiException when it is read: rayshim writes no log files. ValueError for wrong arguments."""
    places.require(address)
    StateApiClient()
    wrong = None
    if not (node_id or node_ip or actor_id or task_id):
        wrong = "node_id or node_ip must be provided as constructor arguments when no actor or task_id is supplied as arguments."
    elif node_id and node_ip:
        wrong = f"Both node_id and node_ip are given. Only one of them can be provided. Given node id: {node_id}, given node ip: {node_ip}"
    elif not (actor_id or task_id or pid or filename or submission_id):
        wrong = "None of actor_id, task_id, pid, submission_id or filename is provided. At least one of them is required to fetch logs."
    elif suffix not in ("out", "err"):
        wrong = f"Invalid suffix: {suffix}. Must be one of 'out' or 'err'."
    if wrong:
        raise invalid("GetLogOptions", "", None, f"Value error, {wrong} (get_log at {calling()})")
    raise RayStateApiException(
        f"rayshim writes no log files: what workers print goes to the driver's stdout and stderr, unless init(log_to_driver=False) is given. "
        f"For a job, use `rayshim job logs` (get_log at {calling()})"
    )
    yield ""
