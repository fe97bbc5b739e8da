"""ActorPool: a set of actors that share a queue of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from rayshim import api
from rayshim.errors.exceptions import ActorDiedError
from rayshim.errors.user_code import at, calling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rayshim.calls.handle import ActorHandle

V = TypeVar("V")


class ActorPool:
    """Gives each piece of work to a free actor, and returns the results in order or as they become ready.

    Takes a list of actor handles. Work is `fn(actor, value)`, which makes a call and returns its ref (or the list of refs of a call with
    several results). An actor that has died is not used again.

        pool = ActorPool([Worker.remote(), Worker.remote()])
        squares = list(pool.map(lambda actor, v: actor.square.remote(v), range(4)))
    """

    def __init__(self, actors: Iterable[ActorHandle[Any] | type[Any]]) -> None:
        # Classes that extend this one keep work of their own in these; the names are Ray's.
        self._idle_actors: list[Any] = list(actors)
        self._future_to_actor: dict[Any, Any] = {}  # the work's ref, or tuple of refs -> (the work's number, its actor)
        self._index_to_future: dict[int, Any] = {}  # the work's number -> what fn returned
        self._next_task_index = 0
        self._next_return_index = 0
        self._pending_submits = []

    def submit(self, fn: Callable[[Any, V], Any], value: V) -> None:
        """Starts `fn(actor, value)` on a free actor, or queues it until an actor is free."""
        if not self._idle_actors:
            self._pending_submits.append((fn, value))
            return
        actor = self._idle_actors.pop()
        result = fn(actor, value)
        self._future_to_actor[_key(result)] = (self._next_task_index, actor)
        self._index_to_future[self._next_task_index] = result
        self._next_task_index += 1

    def map(self, fn: Callable[[Any, V], Any], values: Iterable[V]) -> Iterator[Any]:
        """Submits all `values` and returns an iterator over the results, in the same order.

        Drops results of earlier submissions that have not been taken.
        """
        while self.has_next():
            try:
                self.get_next(timeout=0, ignore_if_timedout=True)
            except TimeoutError:
                pass
        return self._all_of(fn, values, self.get_next)

    def map_unordered(self, fn: Callable[[Any, V], Any], values: Iterable[V]) -> Iterator[Any]:
        """Like `map`, with the results in the order in which they become ready."""
        while self.has_next():
            try:
                self.get_next_unordered(timeout=0.01)
            except TimeoutError:
                pass
        return self._all_of(fn, values, self.get_next_unordered)

    def _all_of(self, fn, values, get):
        for value in values:
            self.submit(fn, value)

        def results():
            while self.has_next():
                yield get()

        return results()

    def has_next(self) -> bool:
        """Whether there are results that have not been taken."""
        return bool(self._future_to_actor)

    def get_next(self, timeout: float | None = None, ignore_if_timedout: bool = False) -> Any:
        """The next result in the order of submission.

        Waits up to `timeout` seconds (None: no limit). Raises StopIteration if no result is left, TimeoutError if the result is not ready in
        time (with `ignore_if_timedout=True` this result is then dropped), ValueError if results were taken out of order before, and the
        exception of the work if it failed.
        """
        if not self.has_next():
            raise StopIteration(
                f"No more results to get (at {calling()}: all submitted results have been taken; check has_next() first)"
            )
        if self._next_return_index >= self._next_task_index or self._next_return_index not in self._index_to_future:
            raise ValueError(
                f"It is not allowed to call get_next() after get_next_unordered(). ({at('ActorPool.get_next')}: the next result in order has been taken already; "
                "go on with get_next_unordered())"
            )
        result = self._index_to_future[self._next_return_index]
        timed_out = timeout is not None and not _ready([_key(result)], timeout)
        if timed_out and not ignore_if_timedout:
            raise TimeoutError(
                f"Timed out waiting for result ({at('ActorPool.get_next')}: it was not ready within {timeout:g} s; call get_next() again to wait longer)"
            )
        return self._take(_key(result), timed_out)

    def get_next_unordered(self, timeout: float | None = None, ignore_if_timedout: bool = False) -> Any:
        """The next result that becomes ready; otherwise like `get_next`. With `ignore_if_timedout=True` the oldest work is dropped."""
        if not self.has_next():
            raise StopIteration(
                f"No more results to get (at {calling()}: all submitted results have been taken; check has_next() first)"
            )
        keys = list(self._future_to_actor)
        key = _ready(keys, timeout)
        if key is None and not ignore_if_timedout:
            raise TimeoutError(
                f"Timed out waiting for result ({at('ActorPool.get_next_unordered')}: none of {len(keys)} was ready within {timeout:g} s; call it again to wait longer)"
            )
        return self._take(keys[0] if key is None else key, key is None)

    def _take(self, key, timed_out):
        number, actor = self._future_to_actor.pop(key)
        result = self._index_to_future.pop(number)
        self._next_return_index = max(self._next_return_index, number + 1)
        if timed_out:
            self._return_actor(actor)
            raise TimeoutError(
                f"Timed out waiting for result. The task {result} has been ignored. (asked for at {calling()} with ignore_if_timedout=True)"
            )

        return self._get_result(result, actor)

    def _get_result(self, future, actor):
        is_alive = True
        try:
            return api.get(future)
        except ActorDiedError:
            is_alive = False
            raise
        finally:
            self._return_actor(actor, is_alive=is_alive)

    def _return_actor(self, actor, is_alive=True):
        if is_alive:
            self._idle_actors.append(actor)
        if self._pending_submits and self._idle_actors:
            self.submit(*self._pending_submits.pop(0))

    def has_free(self) -> bool:
        """Whether an actor is idle and no work is queued."""
        return bool(self._idle_actors) and not self._pending_submits

    def pop_idle(self) -> ActorHandle[Any] | None:
        """Removes an idle actor from the pool and returns it; None if no actor is idle."""
        return self._idle_actors.pop() if self.has_free() else None

    def push(self, actor: ActorHandle[Any] | type[Any]) -> None:
        """Adds an actor. Raises ValueError if the pool already has it."""
        if actor in self._idle_actors or any(actor == busy for _, busy in self._future_to_actor.values()):
            raise ValueError(
                f"Actor already belongs to current ActorPool ({at('ActorPool.push')}: {actor!r}; push each actor once)"
            )
        self._return_actor(actor)


def _key(result):
    return tuple(result) if isinstance(result, list) else result


def _ready(keys, timeout):
    """The first of these pieces of work that is ready within `timeout` seconds, or None. All results of a call are ready together."""
    by_ref = {(key[0] if isinstance(key, tuple) else key): key for key in keys}
    ready, _ = api.wait(list(by_ref), num_returns=1, timeout=timeout)
    return by_ref[ready[0]] if ready else None
