"""The results of a Pool's calls: AsyncResult and iterators."""

from __future__ import annotations

import collections.abc
import itertools
import threading
import time
from multiprocessing import TimeoutError
from typing import TYPE_CHECKING, Any

from rayshim import api
from rayshim.errors.exceptions import RayError
from rayshim.errors.user_code import at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rayshim.calls.refs import ObjectRef
    from rayshim.util.multiprocessing.pool import Pool


class PoolTaskError(Exception):
    """Takes the place of the result of a function that raised; `underlying` is its exception."""

    __module__ = "rayshim.util.multiprocessing.pool"

    def __init__(self, underlying: Any) -> None:
        self.underlying = underlying


class AsyncResult:
    """The future results of one call of the pool. `refs`: refs of its batches, in order."""

    __module__ = "rayshim.util.multiprocessing.pool"

    def __init__(
        self,
        refs: list[Any],
        callback: Callable[..., Any] | None = None,
        error_callback: Callable[..., Any] | None = None,
        single_result: bool = False,
    ) -> None:
        self._refs = refs
        self._single_result = single_result
        self._thread = None
        if callback is not None or error_callback is not None:
            self._thread = threading.Thread(
                target=self._call_back, args=(callback, error_callback), name="pool-callback", daemon=True
            )
            self._thread.start()

    def _call_back(self, callback, error_callback):
        failed, pending = False, list(self._refs)
        while pending:
            ready, pending = api.wait(pending)
            error = next((result for result in batch_of(ready[0]) if isinstance(result, Exception)), None)
            if error is not None and not failed:
                failed = True
                if error_callback is not None:
                    error_callback(error)
        if not failed and callback is not None:
            results = self._results()
            callback(results[0] if self._single_result else results)

    def _results(self):
        return [result for ref in self._refs for result in batch_of(ref)]

    def wait(self, timeout: float | None = None) -> None:
        """Waits until the results are ready and the callbacks have returned, at most `timeout` seconds."""
        if self._thread is None:
            _wait(self._refs, timeout)
        else:
            self._thread.join(timeout)

    def get(self, timeout: float | None = None) -> Any:
        """The result, or list of results. Raises the first error among them, or TimeoutError after `timeout` seconds."""
        self.wait(timeout)
        if not self.ready():
            raise TimeoutError
        results = self._results()
        for result in results:
            if isinstance(result, Exception):
                raise result.underlying if isinstance(result, PoolTaskError) else result
        return results[0] if self._single_result else results

    def ready(self) -> bool:
        """Whether the results are ready and the callbacks have returned."""
        if self._thread is not None:
            return not self._thread.is_alive()
        return _wait(self._refs, 0)

    def successful(self) -> bool:
        """Whether no function raised an exception. Raises ValueError if the results are not ready."""
        if not self.ready():
            raise ValueError(f"{self!r} not ready ({at('successful')}: call wait() or get() first)")
        return not any(isinstance(result, Exception) for result in self._results())


def _wait(refs, timeout):
    """Whether all of `refs` are done, after at most `timeout` seconds. A negative timeout is none, as for a thread's `join`."""
    if isinstance(timeout, int | float):
        timeout = max(0, timeout)
    return not refs or not api.wait(refs, num_returns=len(refs), timeout=timeout)[1]


def batch_of(ref: ObjectRef[list[Any]]) -> list[Any]:
    """The list of results of a batch. If its actor died, this error is the only result."""
    try:
        return api.get(ref)
    except RayError as error:
        return [error]


class IMapIterator:
    """An iterator over results. As many batches run as the pool has actors; each batch that is done starts the next one.

    As in Ray, if a function raised an exception, its result is a PoolTaskError.
    """

    __module__ = "rayshim.util.multiprocessing.pool"

    def __init__(
        self, pool: Pool, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int | None = None
    ) -> None:
        self._pool, self._func, self._rest = pool, func, iter(iterable)
        if isinstance(iterable, collections.abc.Iterator):
            self._chunksize = chunksize or 1
        else:
            items = len(iterable)  # pyright: ignore[reportArgumentType]
            self._chunksize = chunksize or pool.chunksize_for(items)
            _batches = items // chunksize  # pyright: ignore[reportOperatorIssue]  # as Ray: refuses None and 0
        self._submitted = 0
        self._exhausted = False
        self._under_way: dict[Any, int] = {}  # the ref of a batch -> its number
        self._ready = collections.deque()
        for _ in range(pool.size):
            self._submit_next()

    def _submit_next(self):
        if self._exhausted:
            return
        chunk = [((item,), {}) for item in itertools.islice(self._rest, self._chunksize)]
        self._exhausted = len(chunk) < self._chunksize
        if chunk:
            ref = self._pool.submit(self._submitted % self._pool.size, self._func, chunk)
            self._under_way[ref] = self._submitted
            self._submitted += 1

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self, timeout: float | None = None) -> Any:
        """The next result. Raises TimeoutError if it is not ready within `timeout` seconds, StopIteration after the last."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self._ready:
            if not self._under_way:
                raise StopIteration
            ready, _ = api.wait(list(self._under_way), timeout=timeout)
            if not ready:
                raise TimeoutError
            self._take(self._under_way.pop(ready[0]), batch_of(ready[0]))
            self._submit_next()
            if end is not None:
                timeout = max(0, end - time.monotonic())
        return self._ready.popleft()

    def _take(self, number, results):
        """A batch is done."""
        raise NotImplementedError


class OrderedIMapIterator(IMapIterator):
    """Results in the order of their arguments."""

    __module__ = "rayshim.util.multiprocessing.pool"

    def __init__(
        self, pool: Pool, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int | None = None
    ) -> None:
        self._next, self._early = 0, {}  # the number of the batch whose turn it is; later batches that are done
        super().__init__(pool, func, iterable, chunksize)

    def _take(self, number, results):
        self._early[number] = results
        while self._next in self._early:
            self._ready.extend(self._early.pop(self._next))
            self._next += 1


class UnorderedIMapIterator(IMapIterator):
    """Results in the order in which they become ready."""

    __module__ = "rayshim.util.multiprocessing.pool"

    def _take(self, number, results):
        self._ready.extend(results)
