"""Parallel iterators over items in actors (`ray.util.iter`, which is deprecated in Ray, but still exists).

from_range(4, num_shards=2).for_each(lambda x: x * x).gather_sync().take(4)   # [0, 4, 1, 9]
"""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, Any

from rayshim import api
from rayshim.errors.user_code import at, calling
from rayshim.util.iter_local import LocalIterator, _NextValueNotReady
from rayshim.util.iter_metrics import MetricsContext, SharedMetrics
from rayshim.util.iter_worker import ParallelIteratorWorker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rayshim.calls.handle import ActorHandle

__all__ = [
    "LocalIterator",
    "MetricsContext",
    "ParallelIterator",
    "ParallelIteratorWorker",
    "SharedMetrics",
    "from_actors",
    "from_items",
    "from_iterators",
    "from_range",
]


def from_items(items: list[Any], num_shards: int = 2, repeat: bool = False) -> ParallelIterator:
    """A ParallelIterator over `items`, distributed round-robin over `num_shards` actors. `repeat`: start again after the last item."""
    shards = [[] for _ in range(num_shards)]
    for i, item in enumerate(items):
        shards[i % num_shards].append(item)
    kind = type(items[0]).__name__ if items else "None"
    return from_iterators(shards, repeat, f"from_items[{kind}, {len(items)}, shards={num_shards}{_suffix(repeat)}]")


def from_range(n: int, num_shards: int = 2, repeat: bool = False) -> ParallelIterator:
    """A ParallelIterator over 0 to n - 1. Each actor has a range of successive numbers; the last one also has the rest."""
    size = n // num_shards
    ends = [i * size for i in range(num_shards)] + [n]
    shards = [range(*pair) for pair in itertools.pairwise(ends)]
    return from_iterators(shards, repeat, f"from_range[{n}, shards={num_shards}{_suffix(repeat)}]")


def from_iterators(
    generators: Sequence[Iterable[Any] | Callable[[], Iterable[Any]]], repeat: bool = False, name: str | None = None
) -> ParallelIterator:
    """A ParallelIterator with an actor for each of `generators`. These are iterables, or functions that return one (a function can be pickled,
    a generator cannot)."""
    worker = api.remote(ParallelIteratorWorker)
    actors = [worker.remote(generator, repeat) for generator in generators]
    return from_actors(actors, name or f"from_iterators[shards={len(actors)}{_suffix(repeat)}]")


def from_actors(actors: Sequence[ActorHandle[Any] | type[Any]], name: str | None = None) -> ParallelIterator:
    """A ParallelIterator over actors whose classes derive from ParallelIteratorWorker."""
    return ParallelIterator([_ActorSet(actors, [])], name or f"from_actors[shards={len(actors)}]", [])


def _suffix(repeat):
    return ", repeat=True" if repeat else ""


class _ActorSet:
    """Actors and the transformations that each of them applies."""

    def __init__(self, actors, transforms):
        self.actors = actors
        self.transforms = transforms

    def init_actors(self):
        api.get([actor.par_iter_init.remote(self.transforms) for actor in self.actors])

    def with_transform(self, fn):
        return _ActorSet(self.actors, [*self.transforms, fn])


class ParallelIterator:
    """Items in several actors (shards), which also transform them. It can be pickled; only one process may read a shard.

    To read the items, use `gather_sync`, `gather_async` or `batch_across_shards`, or `get_shard` for a single shard.
    """

    def __init__(self, actor_sets: list[_ActorSet], name: str, parent_iterators: list[ParallelIterator]) -> None:
        self.actor_sets = actor_sets  # several after a union
        self.name = name
        self.parent_iterators = parent_iterators  # after a repartition: kept, so that their actors stay

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            f"You must use it.gather_sync() or it.gather_async() to iterate over the results of a ParallelIterator. ({self.name}, at {calling()})"
        )

    def __repr__(self) -> str:
        return f"ParallelIterator[{self.name}]"

    # ---- transformations in the actors; each returns a new ParallelIterator

    def _then(self, fn, name):
        return ParallelIterator(
            [s.with_transform(fn) for s in self.actor_sets], self.name + name, self.parent_iterators
        )

    def transform(self, fn: Callable[..., Any]) -> ParallelIterator:
        """See `LocalIterator.transform`."""
        return self._then(lambda items: items.transform(fn), ".transform()")

    def for_each(
        self, fn: Callable[..., Any], max_concurrency: int = 1, resources: dict[str, Any] | None = None
    ) -> ParallelIterator:
        """See `LocalIterator.for_each`."""
        if max_concurrency < 0:
            raise AssertionError(
                f"max_concurrency must be non-negative. ({at('ParallelIterator.for_each')}: {max_concurrency})"
            )
        return self._then(lambda items: items.for_each(fn, max_concurrency, resources), ".for_each()")

    def filter(self, fn: Callable[..., Any]) -> ParallelIterator:
        """Only items for which `fn(item)` is true."""
        return self._then(lambda items: items.filter(fn), ".filter()")

    def batch(self, n: int) -> ParallelIterator:
        """Lists of `n` successive items of a shard."""
        return self._then(lambda items: items.batch(n), f".batch({n})")

    def flatten(self) -> ParallelIterator:
        """The items of the items."""
        return self._then(lambda items: items.flatten(), ".flatten()")

    def combine(self, fn: Callable[..., Any]) -> ParallelIterator:
        """The items of the lists `fn(item)`."""
        combined = self.for_each(fn).flatten()
        combined.name = self.name + ".combine()"
        return combined

    def local_shuffle(self, shuffle_buffer_size: int, seed: int | None = None) -> ParallelIterator:
        """Each shard in random order, see `LocalIterator.shuffle`."""
        return self._then(
            lambda items: items.shuffle(shuffle_buffer_size, seed),
            f".local_shuffle(shuffle_buffer_size={shuffle_buffer_size}, seed={seed})",
        )

    def repartition(self, num_partitions: int, batch_ms: int = 0) -> ParallelIterator:
        """The same items in `num_partitions` other actors: of each shard, the i-th goes to actor i modulo `num_partitions`."""
        actors = self._started()

        def partition(number):
            def fetch(actor):
                return actor.par_iter_slice_batch.remote(step=num_partitions, start=number, batch_ms=batch_ms)

            return lambda: _as_they_come(actors, fetch)

        worker = api.remote(ParallelIteratorWorker)
        workers = [worker.remote(partition(i), repeat=False) for i in range(num_partitions)]
        return ParallelIterator(
            [_ActorSet(workers, [])], f"{self.name}.repartition[num_partitions={num_partitions}]", [self]
        )

    # ---- gathering; each returns a LocalIterator

    def gather_sync(self) -> LocalIterator:
        """The items in a fixed order: one of each shard in turn."""
        gathered = self.batch_across_shards().flatten()  # pyright: ignore[reportAttributeAccessIssue]
        gathered.name = f"{self}.gather_sync()"
        return gathered

    def batch_across_shards(self) -> LocalIterator:
        """Lists with the next item of each shard that still has one."""

        def stream(timeout=None):
            active = self._started()
            refs = [actor.par_iter_next.remote() for actor in active]
            while active:
                try:
                    batch = api.get(refs, timeout=timeout)
                except TimeoutError:
                    yield _NextValueNotReady()
                    continue
                except StopIteration:
                    batch, active = _without_ended(active, refs)
                refs = [actor.par_iter_next.remote() for actor in active]
                if batch:
                    yield batch
                if timeout is not None:
                    yield _NextValueNotReady()

        return LocalIterator(stream, SharedMetrics(), name=f"{self}.batch_across_shards()")

    def gather_async(self, batch_ms: int = 0, num_async: int = 1) -> LocalIterator:
        """The items as they become ready. Each actor has `num_async` pending requests; a request returns the items that the actor makes within
        `batch_ms` milliseconds (0: one item)."""
        if num_async < 1:
            raise ValueError(
                f"queue depth must be positive ({at('ParallelIterator.gather_async')}: num_async={num_async})"
            )
        if batch_ms < 0:
            raise ValueError(
                f"batch time must be positive ({at('ParallelIterator.gather_async')}: batch_ms={batch_ms})"
            )

        def stream(timeout=None):
            def came_from(actor):
                gathered.shared_metrics.get().current_actor = actor

            def fetch(actor):
                return actor.par_iter_next_batch.remote(batch_ms)

            return _as_they_come(self._started(), fetch, num_async, timeout, came_from)

        gathered = LocalIterator(stream, SharedMetrics(), name=f"{self}.gather_async()")
        return gathered

    def _started(self):
        """All actors, after they have started their iterators."""
        for actor_set in self.actor_sets:
            actor_set.init_actors()
        return [actor for actor_set in self.actor_sets for actor in actor_set.actors]

    def take(self, n: int) -> list[Any]:
        """A list of the first `n` items in the order of `gather_sync`."""
        return self.gather_sync().take(n)

    def show(self, n: int = 20) -> None:
        """Prints the first `n` items in the order of `gather_sync`."""
        self.gather_sync().show(n)

    # ---- shards

    def union(self, other: ParallelIterator) -> ParallelIterator:
        """A ParallelIterator over the shards of both."""
        if not isinstance(other, ParallelIterator):
            raise TypeError(
                f"other must be of type ParallelIterator, got {type(other)} ({at('ParallelIterator.union')})"
            )
        return ParallelIterator(
            [*self.actor_sets, *other.actor_sets],
            f"ParallelUnion[{self}, {other}]",
            [*self.parent_iterators, *other.parent_iterators],
        )

    def select_shards(self, shards_to_keep: list[int]) -> ParallelIterator:
        """A ParallelIterator over the shards of these numbers."""
        if len(self.actor_sets) > 1:
            raise ValueError(
                f"select_shards() is not allowed after union() ({at('ParallelIterator.select_shards')}: select the shards of each, then unite them)"
            )
        if not shards_to_keep:
            raise ValueError(
                f"at least one shard must be selected ({at('ParallelIterator.select_shards')}: give the numbers of those to keep)"
            )
        old = self.actor_sets[0]
        chosen = [actor for i, actor in enumerate(old.actors) if i in shards_to_keep]
        if len(chosen) != len(shards_to_keep):
            raise AssertionError(
                f"Invalid actor index: {shards_to_keep} of {len(old.actors)} shards ({at('ParallelIterator.select_shards')}: they are numbered from 0, each named once)"
            )
        return ParallelIterator(
            [_ActorSet(chosen, old.transforms)],
            f"{self}.select_shards({len(shards_to_keep)} total)",
            self.parent_iterators,
        )

    def num_shards(self) -> int:
        return sum(len(actor_set.actors) for actor_set in self.actor_sets)

    def shards(self) -> list[LocalIterator]:
        """A list with a LocalIterator for each shard."""
        return [self.get_shard(i) for i in range(self.num_shards())]

    def get_shard(self, shard_index: int, batch_ms: int = 0, num_async: int = 1) -> LocalIterator:
        """A picklable LocalIterator over one shard; the other arguments as in `gather_async`."""
        if num_async < 1:
            raise ValueError(f"num async must be positive ({at('ParallelIterator.get_shard')}: num_async={num_async})")
        if batch_ms < 0:
            raise ValueError(f"batch time must be positive ({at('ParallelIterator.get_shard')}: batch_ms={batch_ms})")
        shards = [(actor, actor_set.transforms) for actor_set in self.actor_sets for actor in actor_set.actors]
        if not 0 <= shard_index < len(shards):
            raise ValueError(
                f"Shard index out of range ({at('ParallelIterator.get_shard')}: {shard_index}, of {len(shards)} shards numbered from 0)"
            )
        actor, transforms = shards[shard_index]

        def stream(timeout=None):
            api.get(actor.par_iter_init.remote(transforms))
            refs = collections.deque(actor.par_iter_next_batch.remote(batch_ms) for _ in range(num_async))
            while True:
                try:
                    batch = api.get(refs[0], timeout=timeout)
                except TimeoutError:
                    yield _NextValueNotReady()
                    continue
                except StopIteration:
                    return
                refs.popleft()
                refs.append(actor.par_iter_next_batch.remote(batch_ms))
                yield from batch
                if timeout is not None:
                    yield _NextValueNotReady()

        return LocalIterator(stream, SharedMetrics(), name=f"{self.name}.shard[{shard_index}]")


def _without_ended(active, refs):
    """Of actors that were asked for an item: (the items of those that had one, those actors)."""
    items, left = [], []
    for actor, ref in zip(active, refs):
        try:
            items.append(api.get(ref))
            left.append(actor)
        except StopIteration:
            pass
    return items, left


def _as_they_come(actors, fetch, depth=1, timeout=None, came_from=lambda actor: None):
    """The items of the batches `fetch(actor)`, with `depth` pending requests per actor, until all actors have no more items."""
    pending = {fetch(actor): actor for _ in range(depth) for actor in actors}
    while pending:
        refs = list(pending)
        ready, _ = api.wait(refs, num_returns=len(refs), timeout=0 if timeout is None else timeout)
        if not ready and timeout is None:
            ready, _ = api.wait(refs, num_returns=1)
        for ref in ready:
            actor = pending.pop(ref)
            try:
                batch = api.get(ref)
            except StopIteration:
                continue
            came_from(actor)
            pending[fetch(actor)] = actor
            yield from batch
        if timeout is not None:
            yield _NextValueNotReady()
