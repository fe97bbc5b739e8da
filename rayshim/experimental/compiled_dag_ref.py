"""Results of a compiled graph's executions."""

from __future__ import annotations

from typing import Any

from rayshim.errors.sites import calling


class _Result:
    """What CompiledDAGRef and CompiledDAGFuture have in common: they cannot be copied, sent or waited for."""

    def __init__(self, dag, execution_index, channel_index):
        self._dag, self._execution_index, self._channel_index = dag, execution_index, channel_index

    def __str__(self):
        return (
            f"{type(self).__name__}({self._dag.get_id()}, execution_index={self._execution_index}, "
            f"channel_index={self._channel_index})"
        )

    def __copy__(self):
        raise ValueError(f"{type(self).__name__} cannot be copied. (at {calling()}: `get` its value, and copy that)")

    def __deepcopy__(self, memo):
        raise ValueError(
            f"{type(self).__name__} cannot be deep copied. (at {calling()}: `get` its value, and copy that)"
        )

    def __reduce__(self):
        raise ValueError(
            f"{type(self).__name__} cannot be pickled. (at {calling()}: `get` its value in the process that called execute(), and pass that on)"
        )

    def __del__(self):
        if not (self._is_used or self._dag.is_teardown):  # pyright: ignore[reportAttributeAccessIssue]
            self._dag._results.drop(self._execution_index, self._channel_index)


class CompiledDAGRef(_Result):
    """What `CompiledDAG.execute` gives: `ray.get` gives its value, once."""

    _is_used = False

    def get(self, timeout: float | None = None) -> Any:
        """The value. `timeout`: seconds; None: DAGContext's get_timeout when the graph was compiled; -1: without end.

        Raises the execution's error, RayChannelTimeoutError, or ValueError if it has been called before.
        """
        if self._is_used:
            raise ValueError(
                f"ray.get() can only be called once on a CompiledDAGRef, and it was already called. (at {calling()}: keep the value of the first)"
            )
        self._is_used = True
        return self._dag.result(self._execution_index, self._channel_index, timeout)


class CompiledDAGFuture(_Result):
    """What `await CompiledDAG.execute_async` gives: `await` gives its value, once."""

    def __init__(self, dag: Any, execution_index: int, task: Any, channel_index: int) -> None:
        super().__init__(dag, execution_index, channel_index)
        self._task = task  # gives the list of the execution's results

    @property
    def _is_used(self):
        return self._task is None

    def __await__(self):
        import asyncio

        if self._is_used:
            raise ValueError(
                f"CompiledDAGFuture can only be awaited upon once, and it has already been awaited upon. (at {calling()}: keep the value of the first)"
            )
        task, self._task = self._task, None
        # Shielded: who stops waiting for one result does not end the others.
        try:
            values = yield from asyncio.shield(task).__await__()  # pyright: ignore[reportArgumentType]
        except BaseException:
            self._dag._results.drop(self._execution_index, self._channel_index)
            raise
        self._dag.settle(self._execution_index, values)
        return self._dag.taken(self._execution_index, self._channel_index)
