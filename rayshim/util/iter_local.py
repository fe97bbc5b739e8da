"""LocalIterator: an iterator over one stream of items, in this process."""

from __future__ import annotations

import collections
import random
import threading
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rayshim import api
from rayshim.errors.user_code import at
from rayshim.util.iter_metrics import SharedMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rayshim.util.iter_metrics import MetricsContext

_GREEDY = 100  # most items that a union takes at once from a parent with weight "*"


class _NextValueNotReady(Exception):
    """An item that means: no item was ready within the timeout, ask again. Transformations pass it through."""


class LocalIterator:
    """A lazy chain of transformations over one stream. It can be pickled before its first item is read; only one process may read it.

    Arguments:
        base_iterator: function of a timeout (seconds or None) that returns the stream; with a timeout, the stream yields
            _NextValueNotReady if an item is late.
        shared_metrics: the SharedMetrics of the chain.
        local_transforms: functions from iterator to iterator, applied in this order.
        timeout: for `base_iterator`.
        name: for `repr`.
    """

    __module__ = "rayshim.util.iter"

    # A function given to `for_each` may have a method of this name; it is called before each item is fetched.
    ON_FETCH_START_HOOK_NAME = "_on_fetch_start"
    thread_local: ClassVar[threading.local] = threading.local()

    def __init__(
        self,
        base_iterator: Callable[[float | None], Iterable[Any]],
        shared_metrics: SharedMetrics,
        local_transforms: list[Callable[[Iterator[Any]], Iterator[Any]]] | None = None,
        timeout: float | None = None,
        name: str | None = None,
    ) -> None:
        self.base_iterator = base_iterator
        self.shared_metrics = shared_metrics
        self.local_transforms: list[Callable[[Iterator[Any]], Iterator[Any]]] = local_transforms or []
        self.timeout = timeout
        self.name: str = name or "unknown"
        self.built_iterator: Iterator[Any] | None = None

    @staticmethod
    def get_metrics() -> MetricsContext:
        """The MetricsContext of the running chain. ValueError outside of an iterator's function."""
        metrics = getattr(LocalIterator.thread_local, "metrics", None)
        if metrics is None:
            raise ValueError(
                f"Cannot access context outside an iterator. ({at('LocalIterator.get_metrics')}: call it in a function given to for_each() or filter())"
            )
        return metrics

    def __iter__(self) -> Iterator[Any]:
        if self.built_iterator is None:
            stream = iter(self.base_iterator(self.timeout))
            for transform in self.local_transforms:
                stream = transform(stream)
            self.built_iterator = stream
        return self.built_iterator

    def __next__(self) -> Any:
        return next(iter(self))

    def __repr__(self) -> str:
        return f"LocalIterator[{self.name}]"

    def _then(self, transform, name):
        return LocalIterator(
            self.base_iterator, self.shared_metrics, [*self.local_transforms, transform], name=self.name + name
        )

    def _call(self, function, *args):
        """Calls `function(*args)`, which may call `get_metrics`."""
        self.thread_local.metrics = self.shared_metrics.get()
        return function(*args)

    # ---- transformations; each returns a new LocalIterator

    def transform(self, fn: Callable[..., Any]) -> LocalIterator:
        """Passes the whole stream through the generator function `fn(iterator)`."""
        return self._then(lambda stream: iter(fn(stream)), ".transform()")

    def for_each(
        self, fn: Callable[..., Any], max_concurrency: int = 1, resources: dict[str, Any] | None = None
    ) -> LocalIterator:
        """`fn(item)` for each item. If it returns _NextValueNotReady, it is called again with the same item.

        With a `max_concurrency` other than 1, the calls are tasks with the options `resources`. At most `max_concurrency` of them run at the
        same time (0: no limit), and results come as they become ready.
        """
        if max_concurrency == 1:
            stream = self._calls_here(fn)
        else:
            stream = _calls_as_tasks(fn, max_concurrency, resources or {})
        if hasattr(fn, self.ON_FETCH_START_HOOK_NAME):
            stream = self._announcing(stream, getattr(fn, self.ON_FETCH_START_HOOK_NAME))
        return self._then(stream, ".for_each()")

    def _calls_here(self, fn):
        def stream(items):
            for item in items:
                if _late(item):
                    yield item
                    continue
                result = self._call(fn, item)
                while _late(result):
                    yield result
                    result = self._call(fn, item)
                yield result

        return stream

    def _announcing(self, inner, hook):
        def stream(items):
            items = inner(items)
            due = True
            while True:
                if due:
                    self._call(hook)
                try:
                    item = next(items)
                except StopIteration:
                    return
                due = not _late(item)  # an item that is only late is not counted again
                yield item

        return stream

    def filter(self, fn: Callable[..., Any]) -> LocalIterator:
        """Only items for which `fn(item)` is true."""
        return self._then(lambda items: (item for item in items if _late(item) or self._call(fn, item)), ".filter()")

    def batch(self, n: int) -> LocalIterator:
        """Lists of `n` successive items; the last may be shorter."""

        def stream(items):
            batch = []
            for item in items:
                if _late(item):
                    yield item
                    continue
                batch.append(item)
                if len(batch) >= n:
                    yield batch
                    batch = []
            if batch:
                yield batch

        return self._then(stream, f".batch({n})")

    def flatten(self) -> LocalIterator:
        """The items of the items."""

        def stream(items):
            for item in items:
                if _late(item):
                    yield item
                else:
                    yield from item

        return self._then(stream, ".flatten()")

    def shuffle(self, shuffle_buffer_size: int, seed: int | None = None) -> LocalIterator:
        """The items in random order: each is drawn from a buffer of `shuffle_buffer_size`."""
        draw = random.Random(seed)

        def stream(items):
            buffer = []
            for item in items:
                if _late(item):
                    yield item
                    continue
                buffer.append(item)
                if len(buffer) >= shuffle_buffer_size:
                    yield buffer.pop(draw.randint(0, len(buffer) - 1))
            while buffer:
                yield buffer.pop(draw.randint(0, len(buffer) - 1))

        return self._then(stream, f".shuffle(shuffle_buffer_size={shuffle_buffer_size}, seed={seed})")

    def combine(self, fn: Callable[..., Any]) -> LocalIterator:
        """The items of the lists `fn(item)`."""
        combined = self.for_each(fn).flatten()
        combined.name = self.name + ".combine()"
        return combined

    def zip_with_source_actor(self) -> LocalIterator:
        """(actor, item) for each item, directly after `gather_async`. Iterating raises ValueError if the actor is not known."""

        def pair(item):
            actor = LocalIterator.get_metrics().current_actor
            if actor is None:
                raise ValueError(
                    "Could not identify source actor of item (zip_with_source_actor(): use it directly after gather_async())"
                )
            return actor, item

        pairs = self.for_each(pair)
        pairs.name = self.name + ".zip_with_source_actor()"
        return pairs

    # ---- several at once

    def duplicate(self, n: int) -> list[LocalIterator]:
        """A list of `n` iterators over the same items. An iterator that is ahead yields _NextValueNotReady until the others have caught up."""
        if n < 2:
            raise ValueError(f"Number of copies must be >= 2 ({at('LocalIterator.duplicate')}: {n})")
        waiting = [collections.deque() for _ in range(n)]

        def copy(mine):
            def stream(timeout):
                while True:
                    if len(mine) < max(map(len, waiting)):
                        yield _NextValueNotReady()
                        continue
                    if not mine:
                        self.timeout = timeout
                        try:
                            item = next(self)
                        except StopIteration:
                            return
                        for queue in waiting:
                            queue.append(item)
                    yield mine.popleft()

            return stream

        return [
            LocalIterator(copy(mine), self.shared_metrics, [], name=f"{self.name}.duplicate[{i}]")
            for i, mine in enumerate(waiting)
        ]

    def union(
        self,
        *others: LocalIterator,
        deterministic: bool = False,
        round_robin_weights: Sequence[float | Literal["*"]] | None = None,
    ) -> LocalIterator:
        """The items of this iterator and of the others.

        By default, items come when they are ready. `deterministic=True`: one item of each iterator in turn. `round_robin_weights`: from each
        iterator in turn, as many items as its weight (a fraction is a probability); "*" means all items that are ready.
        """
        for other in others:
            if not isinstance(other, LocalIterator):
                raise ValueError(
                    f"other must be of type LocalIterator, got {type(other)} ({at('LocalIterator.union')})"
                )
        parents = [self, *others]
        if round_robin_weights:
            if len(round_robin_weights) != len(parents):
                raise ValueError(
                    "Length of round robin weights must equal number of iterators total. "
                    f"({at('LocalIterator.union')}: {len(round_robin_weights)} weights, {len(parents)} iterators)"
                )
            weights = list(round_robin_weights)
            timeouts = [0 if weight == "*" else None for weight in weights]
        else:
            weights = [1] * len(parents)
            timeouts = [None if deterministic else 0] * len(parents)
        metrics = SharedMetrics(parents=[parent.shared_metrics for parent in parents])
        streams = [
            LocalIterator(parent.base_iterator, metrics, parent.local_transforms, timeout=timeout)
            for parent, timeout in zip(parents, timeouts)
        ]

        def stream(timeout=None):
            active = list(zip(weights, streams))
            while active:
                for weight, items in list(active):
                    try:
                        for _ in range(_GREEDY if weight == "*" else _rounded(weight)):
                            item = next(items)
                            if not _late(item):
                                yield item
                                continue
                            if timeout is not None:
                                yield item
                            break
                    except StopIteration:
                        active.remove((weight, items))

        return LocalIterator(stream, metrics, [], name=f"LocalUnion[{self}, {', '.join(map(str, others))}]")

    # ---- results

    def take(self, n: int) -> list[Any]:
        """A list of the first `n` items, or of all if there are fewer."""
        taken = []
        for item in self:
            taken.append(item)
            if len(taken) >= n:
                break
        return taken

    def show(self, n: int = 20) -> None:
        """Prints the first `n` items."""
        for item in self.take(n):
            print(item)


def _late(item):
    return isinstance(item, _NextValueNotReady)


def _calls_as_tasks(fn, limit, options):
    def stream(items):
        remote = api.remote(fn).options(**options) if options else api.remote(fn)
        pending = []
        for item in items:
            if _late(item):
                yield item
                continue
            if limit and len(pending) >= limit:
                ready, pending = api.wait(pending)
                yield from api.get(ready)
            pending.append(remote.remote(item))
        while pending:
            ready, pending = api.wait(pending)
            yield from api.get(ready)

    return stream


def _rounded(weight):
    whole = int(weight)
    return whole + (random.random() < weight - whole)
