"""Bookkeeping of a compiled graph's results: fetched, taken by the program, or dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rayshim.errors.exceptions import RayCgraphCapacityExceeded
from rayshim.errors.user_code import calling

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rayshim.dag.compiled_dag_node import CompiledDAG


class Results:
    """The results of one CompiledDAG.

    With `in_order`, results are fetched in the order of the executions, and stay in `buffer` until the program takes them. `dropped` and
    `taken` list the channels of an execution (None: its only one) that the program can no longer ask for. They forget an execution when they
    have all its channels.
    """

    def __init__(self, graph: CompiledDAG, channels: int, most_buffered: int, in_order: bool) -> None:
        self._graph, self._channels, self._most_buffered, self._in_order = graph, channels, most_buffered, in_order
        self.buffer: dict[int, dict[int, Any]] = {}
        self.dropped: dict[int, set[int | None]] = {}
        self.taken: dict[int, set[int | None]] = {}
        self.finished: int = (
            -1
        )  # number of the last execution whose results are fetched or given up; how many, less one

    def fetch_next(self, execution: int, timeout: float | None) -> bool:
        """Fetches the oldest results that have not been fetched. Returns False if those of `execution` have been."""
        if self.finished >= execution:
            return False
        if len(self.buffer) >= self._most_buffered:
            raise RayCgraphCapacityExceeded(
                f"The compiled graph can't have more than {self._most_buffered} buffered results, and you currently have "
                f"{len(self.buffer)} buffered results. Call `ray.get()` on CompiledDAGRef's (or await on CompiledDAGFuture's) "
                "to retrieve results, or increase `_max_buffered_results` if buffering is desired, note that this will "
                f"increase driver memory usage. (at {calling()})"
            )
        oldest = self.finished + 1
        if not self._give_up(oldest):
            self.put(oldest, self._graph.fetch(oldest, timeout))
        return True

    def put(self, execution: int, values: Iterable[Any]) -> None:
        """Stores fetched results."""
        gone = self.dropped.get(execution, ())
        self.buffer[execution] = {channel: value for channel, value in enumerate(values) if channel not in gone}
        self.finished += 1

    def take(self, execution: int, channel: int | None) -> list[Any]:
        """The list with the result for a ref or future: the result of its channel."""
        if channel is None:
            values = [value for _, value in sorted(self.buffer.pop(execution).items())]
        else:
            values = [self.buffer[execution].pop(channel)]
        self.taken.setdefault(execution, set()).add(channel)
        self._tidy(execution)
        return values

    def take_whole(self, execution: int, error: type) -> list[Any] | None:
        """The results of all channels. None, and nothing is taken, if the program has dropped one, or one is an `error`."""
        values = list(self.buffer[execution].values())
        if len(values) < self._channels or any(type(value) is error for value in values):
            return None
        del self.buffer[execution]
        self._tidy(execution)
        return values

    def drop(self, execution: int, channel: int | None) -> None:
        """Called when a ref or future is deleted before its value was taken."""
        self.dropped.setdefault(execution, set()).add(channel)
        self._tidy(execution)

    def _tidy(self, execution):
        self._forget(execution)
        if not self._in_order:
            self._give_up(execution)
            return
        while self._give_up(self.finished + 1):
            pass

    def _give_up(self, execution):
        """Marks `execution` as finished and returns True if it has not been fetched and the program can no longer ask for it."""
        gone = self.dropped.get(execution, ())
        if not (None in gone or len(gone) == self._channels) or not self._graph.is_pending(execution):
            return False
        self._graph.drop(execution)
        del self.dropped[execution]
        self.finished += 1
        return True

    def _forget(self, execution):
        """Removes an execution whose results have been fetched, and taken or dropped."""
        if execution not in self.buffer and execution not in self.taken:
            return
        taken, dropped = self.taken.get(execution, ()), self.dropped.get(execution, ())
        if None in taken or len(taken) + len(dropped) == self._channels:  # none is both
            for book in (self.buffer, self.dropped, self.taken):
                book.pop(execution, None)
