"""The actors of a parallel iterator."""

from __future__ import annotations

import collections
import time
from typing import TYPE_CHECKING, Any

from rayshim.util.iter_local import LocalIterator
from rayshim.util.iter_metrics import SharedMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class ParallelIteratorWorker:
    """Base class of an actor that has one shard. `from_actors` takes actors of its subclasses, which must call this constructor.

    Arguments:
        item_generator: an iterable, or a function that returns one.
        repeat: start again after the last item, for ever.
    """

    __module__ = "rayshim.util.iter"

    def __init__(self, item_generator: Iterable[Any] | Callable[[], Iterable[Any]], repeat: bool) -> None:
        def items():
            return item_generator() if callable(item_generator) else item_generator

        def cycle():
            while True:
                stream = iter(items())
                if stream is item_generator:
                    raise ValueError(
                        f"Cannot iterate over {item_generator} multiple times. Please pass in the base iterable or "
                        f"lambda: {item_generator} instead."
                    )
                yield from stream

        self.item_generator: Iterable[Any] = cycle() if repeat else items()
        self.local_it: Iterator[Any] | None = None
        self.next_ith_buffer: collections.defaultdict[int, collections.deque[Any]] | None = None

    def par_iter_init(self, transforms: Iterable[Callable[[LocalIterator], LocalIterator]]) -> None:
        """Starts the iteration. `transforms`: functions from LocalIterator to LocalIterator."""
        iterator = LocalIterator(lambda timeout: self.item_generator, SharedMetrics())
        for transform in transforms:
            iterator = transform(iterator)
        self.local_it = iter(iterator)

    def par_iter_next(self) -> Any:
        """The next item; StopIteration after the last."""
        if self.local_it is None:
            raise AssertionError("must call par_iter_init() (before the first item is asked for)")
        return next(self.local_it)

    def par_iter_next_batch(self, batch_ms: int) -> list[Any]:
        """A list of the items of the next `batch_ms` milliseconds, at least one; StopIteration if there is none."""
        return _collect(self.par_iter_next, batch_ms)

    def par_iter_slice(self, step: int, start: int) -> Any:
        """The next item whose number modulo `step` is `start`. Items in between are kept for the other values of `start`."""
        if self.local_it is None:
            raise AssertionError("must call par_iter_init() (before the first item is asked for)")
        if self.next_ith_buffer is None:
            self.next_ith_buffer = collections.defaultdict(collections.deque)
        mine = self.next_ith_buffer[start]
        if not mine:
            for place, item in zip(range(step), self.local_it):
                self.next_ith_buffer[place].append(item)
        if not mine:
            raise StopIteration
        return mine.popleft()

    def par_iter_slice_batch(self, step: int, start: int, batch_ms: int) -> list[Any]:
        """Like `par_iter_next_batch`, for the items of `par_iter_slice`."""
        return _collect(lambda: self.par_iter_slice(step, start), batch_ms)


def _collect(next_item, batch_ms):
    batch = [next_item()]
    end = time.monotonic() + batch_ms / 1000
    while batch_ms and time.monotonic() < end:
        try:
            batch.append(next_item())
        except StopIteration:
            break
    return batch
