"""CompiledDAG: a checked graph, each execution of which makes the same few actor calls."""

from __future__ import annotations

import time
import uuid
from collections import deque
from typing import TYPE_CHECKING, Any

from reactor import _core
from reactor.execution.stages import cut
from reactor.plan import flow, make, worker_of_each_reactor

from rayshim.api.control import kill
from rayshim.calls.refs import ObjectRef
from rayshim.dag import dag_node
from rayshim.dag.calls import PLAIN, calls
from rayshim.dag.context import DAGContext
from rayshim.dag.reading import read
from rayshim.dag.results import Results
from rayshim.errors.exceptions import (
    RayActorError,
    RayCgraphCapacityExceeded,
    RayChannelError,
    RayChannelTimeoutError,
)
from rayshim.errors.user_code import at, calling
from rayshim.experimental.compiled_dag_ref import CompiledDAGFuture, CompiledDAGRef
from rayshim.session import physical, session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rayshim.dag.dag_node import DAGNode

_SHORT = 1000  # longest text, in bytes, that is sent with each call; longer ones are stored once


class Raised:
    """Takes the place of a result whose execution failed. It has the refs of the execution and not the error: an error that was raised refers, by its
    traceback, to the frames that it has passed, and so to the refs in them, which then are never dropped."""

    def __init__(self, refs: list[Any]) -> None:
        self._refs = refs

    def throw(self) -> None:
        """Raises the error of the execution, as a new object. Results that are not there yet are not waited for, if another has failed."""
        for ref in self._refs:
            if ref.done():
                _core.get([ref], None)
        _core.get(self._refs, None)


class CompiledDAG:
    """A compiled graph, see `DAGNode.experimental_compile`. Only one thread may use it at a time.

    An execution makes the actor calls of the plan, in the order of the serial run, and passes results from call to call as refs.
    Values that stay in their actor are not passed. If an execution fails, `get` of each of its results raises the error. After the death of
    one of its actors, and after `teardown`, a graph can no longer be executed.
    """

    def __init__(
        self,
        output_node: DAGNode,
        submit_timeout: float | None = None,
        buffer_size_bytes: int | None = None,
        enable_asyncio: bool = False,
        max_inflight_executions: int | None = None,
        max_buffered_results: int | None = None,
        overlap_gpu_communication: bool | None = None,
        default_communicator: str = "create",
    ) -> None:
        self._is_teardown = True  # until it is whole
        context = DAGContext.get_current()

        def or_default(given, name):
            return getattr(context, name) if given is None else given

        self._dag_id = uuid.uuid4().hex
        self._enable_asyncio = enable_asyncio
        self._submit_timeout = or_default(submit_timeout, "submit_timeout")
        self._get_timeout = context.get_timeout
        self._max_inflight_executions = or_default(max_inflight_executions, "max_inflight_executions")
        _check(or_default(buffer_size_bytes, "buffer_size_bytes"), default_communicator)
        session.ensure()
        self._graph = read(output_node)
        self._returns_list = self._graph.returns_list
        self._channels = len(self._graph.outputs)
        self._execution_index = -1
        self._attempts = 0  # executions begun, those counted whose input could not be sent
        self._pending = {}  # execution -> refs of its results, until they are fetched
        self._draining = deque()  # refs of executions that nobody can ask for, until they are done
        most = or_default(max_buffered_results, "max_buffered_results")
        self._results = Results(self, self._channels, most, in_order=not enable_asyncio)
        self._death = None  # the error of the actor that has died
        self._build()
        self._is_teardown = False

    def _build(self):
        from rayshim.dag import constants

        profile = constants.RAY_CGRAPH_ENABLE_PROFILING
        self._plan = make(flow(self._graph.steps), worker_of_each_reactor, self._graph.outputs, by_level=False)
        stages = cut(self._plan, separate=profile)
        actors = list({step.worker: step.reactor for step in self._plan.steps}.values())  # in the order of the workers
        installed = _core.get(
            [actor.__dag_stage__.remote(None, found, profile) for actor, found in zip(actors, stages.stages)],  # pyright: ignore[reportAttributeAccessIssue]
            None,
        )
        keys = dict(zip(actors, installed))  # pyright: ignore[reportArgumentType, reportCallIssue]
        self._keys = {actor: key for actor, (key, _) in keys.items()}
        self._inputs, self._outputs, self._places = stages.inputs, stages.outputs, stages.places
        self._calls = [_started(call, *keys[call.actor]) for call in calls(self._plan, stages, separate=profile)]

    # ---- what Ray's own objects of this kind have

    @property
    def is_teardown(self) -> bool:
        return self._is_teardown

    def get_id(self) -> str:
        """Hex id of the graph."""
        return self._dag_id

    def __str__(self) -> str:
        return f"CompiledDAG({self._dag_id})"

    # ---- executing

    def execute(self, *args: Any, **kwargs: Any) -> CompiledDAGRef | list[CompiledDAGRef]:
        """Starts an execution with these arguments and returns a CompiledDAGRef, or a list of them for a MultiOutputNode.

        Raises ValueError if the arguments do not match the graph's input, RayCgraphCapacityExceeded if too many results have not been fetched,
        RayChannelTimeoutError if earlier executions do not end in time, RayChannelError after the end of the graph.
        """
        if self._enable_asyncio:
            raise ValueError(
                f"Use execute_async if enable_asyncio=True ({at('execute')}: `await graph.execute_async(...)`, or compile it without enable_asyncio)"
            )
        if self._is_teardown:
            raise RayChannelError(_closed())
        self._submit(args, kwargs)
        return self._handed(lambda channel: CompiledDAGRef(self, self._execution_index, channel))

    async def execute_async(self, *args: Any, **kwargs: Any) -> CompiledDAGFuture | list[CompiledDAGFuture]:
        """Like `execute`, for graphs compiled with `enable_asyncio=True`. Returns CompiledDAGFutures, each of which can be awaited once."""
        if not self._enable_asyncio:
            raise ValueError(
                f"Use execute if enable_asyncio=False ({at('execute_async')}: or compile it with experimental_compile(enable_asyncio=True))"
            )
        if self._is_teardown:
            raise RuntimeError(
                f"DAG execution cancelled ({at('execute_async')}: the graph has ended; compile it again)"
            )
        import asyncio

        self._submit(args, kwargs)
        collected = asyncio.ensure_future(self._collect(self._pending[self._execution_index]))
        return self._handed(lambda channel: CompiledDAGFuture(self, self._execution_index, collected, channel))

    def _handed(self, make):
        return [make(channel) for channel in range(self._channels)] if self._returns_list else make(None)

    def _submit(self, args, kwargs):
        self._check_inputs(args, kwargs)
        self._make_room()
        places: list[Any] = [None] * self._places
        for part, place, takers in self._inputs:
            value = args[0] if part is None else args[part] if isinstance(part, int) else kwargs[part]
            places[place] = _to_send(value, takers)
        self._attempts += 1
        for remote, is_stage, arguments, fills, keywords, gives in self._calls:
            given = arguments[:]
            for at, place in fills:  # noqa: F402
                given[at] = places[place]
            if is_stage:
                given[2] = self._attempts
            refs = remote(*given, **keywords)
            if len(gives) == 1:
                places[gives[0]] = refs
            else:
                for place, ref in zip(gives, refs):
                    places[place] = ref
        self._execution_index += 1
        self._pending[self._execution_index] = [places[place] for place in self._outputs]

    def _check_inputs(self, args, kwargs):
        wanted = self._graph.positional
        if len(args) != wanted:
            raise ValueError(
                f"dag.execute() or dag.execute_async() must be called with {wanted} positional args, got {len(args)} (at {calling()})"
            )
        for name in self._graph.keywords:
            if name not in kwargs:
                raise ValueError(
                    f"dag.execute() or dag.execute_async() must be called with kwarg `{name}` (at {calling()}: got {sorted(kwargs)})"
                )

    def _make_room(self):
        """Waits until another execution may start. Executions whose results the program has dropped count as running until they are done."""
        if self._submit_timeout < 0 and self._submit_timeout != -1:
            raise AssertionError(
                f"Timeout must be non-negative or -1. (_submit_timeout={self._submit_timeout} at {calling()})"
            )
        while self._draining and all(ref.done() for ref in self._draining[0]):
            self._draining.popleft()
        waiting = self._execution_index - self._results.finished
        if waiting >= self._max_inflight_executions:
            raise RayCgraphCapacityExceeded(
                f"The compiled graph can't have more than {self._max_inflight_executions} in-flight executions, and you "
                f"currently have {waiting} in-flight executions. Retrieve an output using ray.get before submitting more "
                "requests or increase `_max_inflight_executions`. `dag.experimental_compile(_max_inflight_executions=...)` "
                f"(at {calling()})"
            )
        if self._draining and waiting + len(self._draining) >= self._max_inflight_executions:
            refs = list(dict.fromkeys(self._draining[0]))
            if _core.wait(refs, len(refs), _seconds(self._submit_timeout))[1]:
                raise self._timed_out("submit", self._submit_timeout)
            self._draining.popleft()

    # ---- results

    def fetch(self, execution: int, timeout: float | None) -> list[Any]:
        """Waits for the results of `execution`, at most `timeout` seconds (-1: no limit), and returns them in a list. If the execution failed, each of
        them is its error."""
        if execution not in self._pending:
            raise self._death or RayChannelError(_closed())  # torn down
        refs = self._pending[execution]
        try:
            values = _core.get(refs, _seconds(timeout))
        except Exception as error:
            values = self._failed(error, refs)
        if values is None:
            raise self._timed_out("get", self._get_timeout)
        del self._pending[execution]
        return values

    def _failed(self, error, refs):
        """The results of an execution that failed with `error`."""
        if isinstance(error, RayActorError):
            self._death, self._is_teardown = error, True
        return [Raised(refs)] * self._channels

    async def _collect(self, refs):
        import asyncio

        try:
            return await asyncio.gather(*(ref.as_future() for ref in refs))
        except Exception as error:
            return self._failed(error, refs)

    def drop(self, execution: int) -> None:
        """Called when the program can no longer ask for the results of `execution`."""
        self._draining.append(self._pending.pop(execution))

    def result(self, execution: int, channel: int | None, timeout: float | None) -> Any:
        """The result for a CompiledDAGRef; see `ray.get`."""
        self._fetch_until(execution, timeout)
        return self.taken(execution, channel)

    def has_channels(self, number: int) -> bool:
        """Whether an execution gives a list of so many results."""
        return self._returns_list and self._channels == number

    def whole_result(self, execution: int, timeout: float | None) -> list[Any] | None:
        """All results of an execution, of which the program has taken none; None: one of them is an error."""
        self._fetch_until(execution, timeout)
        return self._results.take_whole(execution, Raised)

    def _fetch_until(self, execution, timeout):
        deadline = None if timeout == -1 else time.monotonic() + (self._get_timeout if timeout is None else timeout)
        left = -1 if deadline is None else max(deadline - time.monotonic(), 0)
        while self._results.fetch_next(execution, left):
            left = -1 if deadline is None else max(deadline - time.monotonic(), 0)

    def settle(self, execution: int, values: Iterable[Any]) -> None:
        """Called when the results of `execution`, which a CompiledDAGFuture awaits, are ready."""
        if self._pending.pop(execution, None) is not None:
            self._results.put(execution, values)

    def is_pending(self, execution: int) -> bool:
        return execution in self._pending

    def taken(self, execution: int, channel: int | None) -> Any:
        """The result of a CompiledDAGRef or CompiledDAGFuture whose execution has been fetched; raises its error."""
        values = self._results.take(execution, channel)
        for value in values:
            if type(value) is Raised:
                value.throw()
        return values[0]

    def _timed_out(self, which, seconds):
        physical.count("a compiled graph whose time was up")
        return RayChannelTimeoutError(
            f"If the execution is expected to take a long time, increase RAY_CGRAPH_{which}_timeout which is currently "
            f"{seconds} seconds. Otherwise, this may indicate that the execution is hanging."
        )

    # ---- its end

    def teardown(self, kill_actors: bool = False) -> None:
        """Ends the graph. Its actors can then be used for other calls; with `kill_actors=True` they are killed. Results that have not been
        fetched are lost."""
        if self._is_teardown and not kill_actors:
            return
        self._is_teardown = True
        self._pending.clear()
        self._draining.clear()
        keys, self._keys = self._keys, {}
        if session.current is None:
            return
        for actor, key in keys.items():
            if kill_actors:
                kill(actor)  # pyright: ignore[reportArgumentType]
            elif actor._link.state == _core.InboxState.OPEN and not actor._link.stale:  # pyright: ignore[reportAttributeAccessIssue]
                actor.__dag_stage__.remote(key, None, None)  # pyright: ignore[reportAttributeAccessIssue]

    def visualize(
        self, filename: str = "compiled_graph", format: str = "png", view: bool = False, channel_details: bool = False
    ) -> str:
        """Draws the graph. For format "ascii", returns text. For other formats, returns DOT source and renders it to `filename`.`format`.

        Raises ImportError if the package graphviz is needed and not installed.
        """
        from rayshim.dag.drawing import drawn

        return drawn(self._graph, filename, format, view, channel_details)


dag_node.compiler = CompiledDAG


def _started(call, key, concurrent):
    """The data of a call for the loop of `_submit`: (remote, whether it runs a stage, arguments, fills, keywords, places of the results)."""
    if call.method and not (concurrent or call.actor._info.is_async):
        method = getattr(call.actor, call.method)
        return (
            method.with_results(len(call.gives)).remote,
            False,
            list(call.arguments),
            call.fills,
            call.keywords,
            call.gives,
        )
    method = call.actor.__dag_stage__.with_results(len(call.gives))
    fills = list(enumerate(call.takes, 3))
    return method.remote, True, [key, call.stage, None] + [None] * len(fills), fills, {}, call.gives


def _to_send(value, takers):
    """The form in which `takers` calls get this input. A large value is stored once for all of them. A ref is treated as a value: it is stored, too, and
    the calls get the ref itself."""
    if isinstance(value, ObjectRef):
        return _core.put_recorded(value)
    if takers < 2 or isinstance(value, PLAIN) and not (isinstance(value, (str, bytes)) and len(value) > _SHORT):
        return value
    return _core.put_recorded(value)


def _closed():
    return f"Channel closed. (at {calling()}: the graph was torn down, or an actor of it has died; compile it again)"


def _seconds(timeout):
    return None if timeout == -1 else timeout


def _check(buffer_size, communicator):
    from rayshim.experimental.channel.communicator import Communicator

    if isinstance(communicator, str) and communicator != "create":
        raise ValueError(
            f"The only allowed string for default_communicator is 'create', got {communicator} ({at('experimental_compile')})"
        )
    if not (communicator is None or isinstance(communicator, (str, Communicator))):
        raise ValueError(
            f"The default_communicator must be None, a string, or a Communicator, got {type(communicator)} ({at('experimental_compile')})"
        )
    if not isinstance(buffer_size, int) or buffer_size <= 0:
        raise ValueError(
            f"`buffer_size_bytes` must be a positive integer, found {buffer_size} ({at('experimental_compile')})"
        )
