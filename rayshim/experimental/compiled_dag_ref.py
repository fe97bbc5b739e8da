"""CompiledDAGRef and CompiledDAGFuture: the results of a compiled graph's executions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from rayshim.api import values
from rayshim.errors.user_code import calling

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Generator, Sequence

    from rayshim.dag.compiled_dag_node import CompiledDAG


class _Result:
    """Common base class of CompiledDAGRef and CompiledDAGFuture, which cannot be copied, pickled or passed to `wait`."""

    def __init__(self, dag: CompiledDAG, execution_index: int, channel_index: int | None) -> None:
        self._dag, self._execution_index, self._channel_index = dag, execution_index, channel_index

    def __str__(self) -> str:
        return (
            f"{type(self).__name__}({self._dag.get_id()}, execution_index={self._execution_index}, "
            f"channel_index={self._channel_index})"
        )

    def __copy__(self) -> NoReturn:
        raise ValueError(f"{type(self).__name__} cannot be copied. (at {calling()}: `get` its value, and copy that)")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise ValueError(
            f"{type(self).__name__} cannot be deep copied. (at {calling()}: `get` its value, and copy that)"
        )

    def __reduce__(self) -> NoReturn:
        raise _CannotTravel(
            f"{type(self).__name__} cannot be pickled. (at {calling()}: `get` its value in the process that called execute(), and pass that on)"
        )

    def __del__(self) -> None:
        if not (self._is_used or self._dag.is_teardown):  # pyright: ignore[reportAttributeAccessIssue]
            self._dag._results.drop(self._execution_index, self._channel_index)


class _CannotTravel(ValueError, TypeError):
    """As on Ray, a ValueError where it is pickled, and a TypeError where it is an argument of a call."""

    __module__, __qualname__ = "builtins", "ValueError"


class CompiledDAGRef(_Result):
    """The result of `CompiledDAG.execute`. `ray.get` returns its value, only once."""

    _is_used = False

    def get(self, timeout: float | None = None) -> Any:
        """The value. `timeout`: seconds; None: DAGContext's get_timeout when the graph was compiled; -1: no limit.

        Raises the error of the execution, RayChannelTimeoutError if the value is not ready in time, ValueError if `get` was called before.
        """
        if self._is_used:
            raise ValueError(
                f"ray.get() can only be called once on a CompiledDAGRef, and it was already called. (at {calling()}: keep the value of the first)"
            )
        self._is_used = True
        return self._dag.result(self._execution_index, self._channel_index, timeout)

    @staticmethod
    def get_all(refs: Sequence[CompiledDAGRef], timeout: float | None = None) -> list[Any]:
        """The values of `refs`, as `get` of each gives them; those of one execution are taken at once."""
        first, *others = refs
        graph, execution = first._dag, first._execution_index
        whole = not first._is_used and graph.has_channels(len(refs))
        if not whole or not all(
            ref._channel_index == k and ref._execution_index == execution and ref._dag is graph and not ref._is_used
            for k, ref in enumerate(refs)
        ):
            return [ref.get(timeout) for ref in refs]
        first._is_used = True
        values = graph.whole_result(execution, timeout)
        if values is None:  # the error is that of the first that has one
            return [graph.result(execution, 0, timeout), *(ref.get(timeout) for ref in others)]
        for ref in others:
            ref._is_used = True
        return values


values.compiled_refs = CompiledDAGRef


class CompiledDAGFuture(_Result):
    """The result of `await CompiledDAG.execute_async`. `await` returns its value, only once."""

    def __init__(
        self, dag: CompiledDAG, execution_index: int, task: asyncio.Future[list[Any]], channel_index: int | None
    ) -> None:
        super().__init__(dag, execution_index, channel_index)
        self._task = task  # gives the list of the execution's results

    @property
    def _is_used(self):
        return self._task is None

    def __await__(self) -> Generator[Any, None, Any]:
        import asyncio

        if self._is_used:
            raise ValueError(
                f"CompiledDAGFuture can only be awaited upon once, and it has already been awaited upon. (at {calling()}: keep the value of the first)"
            )
        task, self._task = self._task, None
        # Shielded: cancelling the wait for one result does not cancel the others.
        try:
            values = yield from asyncio.shield(task).__await__()  # pyright: ignore[reportArgumentType]
        except BaseException:
            self._dag._results.drop(self._execution_index, self._channel_index)
            raise
        self._dag.settle(self._execution_index, values)
        return self._dag.taken(self._execution_index, self._channel_index)
