"""A pool of actors with the interface of `multiprocessing.Pool`."""

from __future__ import annotations

import itertools
import math
import os
from typing import TYPE_CHECKING, Any, TypeVar

from rayshim import api
from rayshim.errors.logs import logger
from rayshim.errors.user_code import at, calling
from rayshim.util.debug import log_once
from rayshim.util.multiprocessing.results import (
    AsyncResult,
    IMapIterator,
    OrderedIMapIterator,
    PoolTaskError,
    UnorderedIMapIterator,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from typing_extensions import Self

    from rayshim.calls.refs import ObjectRef

T = TypeVar("T")
V = TypeVar("V")
RAY_ADDRESS_ENV = "RAY_ADDRESS"
_CONTEXT = "The 'context' argument is not supported using ray. Please refer to the documentation for how to control ray initialization."

__all__ = [
    "AsyncResult",
    "IMapIterator",
    "OrderedIMapIterator",
    "Pool",
    "PoolActor",
    "PoolTaskError",
    "UnorderedIMapIterator",
]


class PoolActor:
    """One process of a pool."""

    _own_process = (
        True  # also in packed placement, because the functions of a pool may end the process or change its environment
    )

    def __init__(self, initializer: Callable[..., Any] | None = None, initargs: Iterable[Any] | None = None) -> None:
        if initializer:
            initializer(*(initargs or ()))

    def ping(self) -> None:
        pass

    def run_batch(self, func: Callable[..., Any], batch: Iterable[tuple[Any, Any]]) -> list[Any]:
        results = []
        for args, kwargs in batch:
            try:
                results.append(func(*(args or ()), **(kwargs or {})))
            except Exception as error:
                results.append(PoolTaskError(error))
        return results


class Pool:
    """Runs functions in a fixed number of actors, like `multiprocessing.Pool`.

    Arguments:
        processes: number of actors; default: the CPUs of the session. If no session is running, one is started.
        initializer, initargs: a function that each actor calls first, and its arguments.
        maxtasksperchild: number of batches after which an actor is replaced by a new one.
        context: accepted, but without effect.
        ray_address: None or "local".
        ray_remote_args: options of the actors.

    Raises ValueError if `processes` is below 1 or above the number of CPUs.
    """

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] | None = None,
        maxtasksperchild: int | None = None,
        context: Any = None,
        ray_address: Any = None,
        ray_remote_args: dict[str, Any] | None = None,
    ) -> None:
        if context and log_once("context_argument_warning"):
            logger.warning(_CONTEXT)
        if not api.is_initialized():
            starts = (ray_address or os.environ.get(RAY_ADDRESS_ENV)) in (None, "local")
            api.init(address=ray_address, num_cpus=processes if starts else None)
        cpus = int(api.cluster_resources().get("CPU", 0))
        processes = cpus if processes is None else processes
        if processes <= 0:
            raise ValueError(f"Processes in the pool must be >0. ({at('Pool')}: processes={processes})")
        if cpus < processes:
            raise ValueError(
                f"Tried to start a pool with {processes} processes on an existing ray cluster, but there are only {cpus} "
                f"CPUs in the ray cluster. ({at('Pool')}: ask for fewer, or call init(num_cpus={processes}) first)"
            )
        self._closed = False
        self._limit = maxtasksperchild or -1
        self._ending = []  # refs that are done when an actor has ended
        self._last = 0  # index of the actor that was given work last
        options = {"num_cpus": 0, **(ray_remote_args or {})}
        self._new_actor = lambda: api.remote(PoolActor).options(**options).remote(initializer, initargs)
        self._actor_pool = [(self._new_actor(), 0) for _ in range(processes)]  # with the number of batches given to it
        api.get([actor.ping.remote() for actor, _ in self._actor_pool])

    @property
    def size(self) -> int:
        """The number of actors."""
        return len(self._actor_pool)

    def submit(self, index: int, func: Callable[..., Any], batch: list[tuple[Any, Any]]) -> ObjectRef[list[Any]]:
        """Sends the batch, a list of (args, kwargs), to an actor. Returns the ref of the list of results."""
        actor, calls = self._actor_pool[index]
        ref = actor.run_batch.remote(func, batch)
        calls += 1
        if calls > self._limit != -1:
            raise AssertionError(f"maxtasksperchild must be 1 or more, not {self._limit} (at {calling()})")
        if calls == self._limit:
            self._end(actor)
            actor, calls = self._new_actor(), 0
        self._actor_pool[index] = actor, calls
        return ref

    def _end(self, actor):
        self._ending.append(actor.__ray_terminate__.remote())

    # ---- calls

    def apply(
        self, func: Callable[..., T], args: Iterable[Any] | None = None, kwargs: Mapping[str, Any] | None = None
    ) -> T:
        """Runs `func(*args, **kwargs)` in one of the actors and returns its result."""
        return self.apply_async(func, args, kwargs).get()

    def apply_async(
        self,
        func: Callable[..., Any],
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        callback: Callable[..., Any] | None = None,
        error_callback: Callable[..., Any] | None = None,
    ) -> AsyncResult:
        """Like `apply`, but returns an AsyncResult at once. `callback` is called with the result, or `error_callback` with the exception, in a
        thread."""
        self._check_running()
        self._last = (self._last + 1) % self.size
        ref = self.submit(self._last, func, [(args, kwargs)])
        return AsyncResult([ref], callback, error_callback, single_result=True)

    def map(self, func: Callable[[V], T], iterable: Iterable[V], chunksize: int | None = None) -> list[T]:
        """The list of `func(item)` for each item. Items are sent in batches of `chunksize`."""
        return self.map_async(func, iterable, chunksize).get()

    def map_async(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Any],
        chunksize: int | None = None,
        callback: Callable[..., Any] | None = None,
        error_callback: Callable[..., Any] | None = None,
    ) -> AsyncResult:
        """Like `map`, but returns an AsyncResult at once. `callback` is called with the list, or `error_callback` with its first error."""
        calls = [((item,), {}) for item in iterable]
        return self._run(func, calls, chunksize, callback, error_callback)

    def starmap(
        self, func: Callable[..., T], iterable: Iterable[Iterable[Any]], chunksize: int | None = None
    ) -> list[T]:
        """Like `map`, but each item is the tuple of arguments of one call."""
        return self._run(func, [(args, {}) for args in iterable], chunksize).get()

    def starmap_async(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Iterable[Any]],
        callback: Callable[..., Any] | None = None,
        error_callback: Callable[..., Any] | None = None,
    ) -> AsyncResult:
        """Like `starmap`, but returns an AsyncResult at once."""
        return self._run(func, [(args, {}) for args in iterable], None, callback, error_callback)

    def imap(self, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int = 1) -> OrderedIMapIterator:
        """An iterator over the results, in order. Taking a result sends the next batch."""
        self._check_running()
        return OrderedIMapIterator(self, func, iterable, chunksize=chunksize)

    def imap_unordered(
        self, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int = 1
    ) -> UnorderedIMapIterator:
        """Like `imap`, in the order in which results become ready."""
        self._check_running()
        return UnorderedIMapIterator(self, func, iterable, chunksize=chunksize)

    def _run(self, func, calls, chunksize, callback=None, error_callback=None):
        self._check_running()
        size = self.chunksize_for(len(calls)) if chunksize is None else chunksize
        rest, refs = iter(calls), []
        while len(refs) * size < len(calls):
            chunk = list(itertools.islice(rest, max(0, math.ceil(size))))
            if not chunk:
                raise AssertionError(f"chunksize must be a whole number, 1 or more, not {size} (map() at {calling()})")
            refs.append(self.submit(len(refs) % self.size, func, chunk))
        return AsyncResult(refs, callback, error_callback)

    def chunksize_for(self, n: int) -> int:
        """The size of batches for `n` items: four batches per actor."""
        return -(-n // (self.size * 4))

    def _check_running(self):
        if self._closed:
            raise ValueError(f"Pool not running (at {calling()}: it was closed before; make another Pool)")

    # ---- end

    def __enter__(self) -> Self:
        self._check_running()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.terminate()

    def close(self) -> None:
        """Accepts no more work; each actor ends after its remaining work."""
        if not self._closed:
            self._closed = True
            for actor, _ in self._actor_pool:
                self._end(actor)

    def terminate(self) -> None:
        """Ends the actors at once, even if they are working."""
        self.close()
        for actor, _ in self._actor_pool:
            api.kill(actor)

    def join(self) -> None:
        """Waits until the actors of a closed pool have ended. Raises ValueError if the pool is not closed."""
        if not self._closed:
            raise ValueError(f"Pool is still running ({at('join')}: call close() or terminate() first)")
        if self._ending:
            api.wait(self._ending, num_returns=len(self._ending))
