"""Queue: a first-in-first-out queue for tasks and actors. An actor holds its items."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Iterable
from typing import Any

from rayshim import api
from rayshim.errors.user_code import at, calling
from rayshim.session import session


class Empty(queue.Empty):
    """The queue has no item, or too few items, to get."""


class Full(queue.Full):
    """The queue has no room for the items to put."""


class Queue:
    """A queue that all processes can use. It can be passed to tasks and actors like a handle.

    Arguments:
        maxsize: most items in the queue; 0: no limit.
        actor_options: options of the actor that holds the items, such as {"num_cpus": 1}.

    If several producers or consumers wait, the order in which they continue is not defined. In inline placement no other code runs while a
    call waits; there, a call that would wait for ever raises RuntimeError.
    """

    def __init__(self, maxsize: int = 0, actor_options: dict[str, Any] | None = None) -> None:
        kind = _QueueActor if session.ensure().placement.runs_in_parallel else _SerialQueueActor
        self.maxsize = maxsize
        self.actor: Any = api.remote(kind).options(**(actor_options or {})).remote(maxsize)

    def __len__(self) -> int:
        return self.size()

    def size(self) -> int:
        """The number of items in the queue."""
        return _get(self.actor.qsize.remote())

    def qsize(self) -> int:
        return self.size()

    def empty(self) -> bool:
        return _get(self.actor.empty.remote())

    def full(self) -> bool:
        return _get(self.actor.full.remote())

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Adds an item. If the queue is full, waits up to `timeout` seconds (None: no limit; `block=False`: no wait), and then raises Full.
        Raises ValueError for a negative timeout."""
        with _Refusals():
            _get(self._put(item, block, timeout))

    async def put_async(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Like `put`, for coroutines."""
        with _Refusals():
            await self._put(item, block, timeout)

    def _put(self, item, block, timeout):
        if not block:
            return self.actor.put_nowait.remote(item)
        _check(timeout)
        return self.actor.put.remote(item, timeout)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Removes the oldest item and returns it. If the queue is empty, waits like `put`, and then raises Empty."""
        with _Refusals():
            return _get(self._take(block, timeout))

    async def get_async(self, block: bool = True, timeout: float | None = None) -> Any:
        """Like `get`, for coroutines."""
        with _Refusals():
            return await self._take(block, timeout)

    def _take(self, block, timeout):
        if not block:
            return self.actor.get_nowait.remote()
        _check(timeout)
        return self.actor.get.remote(timeout)

    def put_nowait(self, item: Any) -> None:
        """`put(item, block=False)`."""
        self.put(item, block=False)

    def put_nowait_batch(self, items: Iterable[Any]) -> None:
        """Adds all of the items in their order, or raises Full and adds none."""
        if not isinstance(items, Iterable):
            raise TypeError(f"Argument 'items' must be an Iterable ({at('Queue.put_nowait_batch')}: got {type(items)})")
        _get(self.actor.put_nowait_batch.remote(list(items)))

    def get_nowait(self) -> Any:
        """`get(block=False)`."""
        return self.get(block=False)

    def get_nowait_batch(self, num_items: int) -> list[Any]:
        """Removes the oldest `num_items` items and returns them in a list, or raises Empty and removes none."""
        if not isinstance(num_items, int):
            raise TypeError(
                f"Argument 'num_items' must be an int ({at('Queue.get_nowait_batch')}: got {type(num_items)})"
            )
        if num_items < 0:
            raise ValueError(f"'num_items' must be nonnegative ({at('Queue.get_nowait_batch')}: {num_items})")
        return _get(self.actor.get_nowait_batch.remote(num_items))

    def shutdown(self, force: bool = False, grace_period_s: int = 5) -> None:
        """Ends the queue's actor: with `force=True` at once, otherwise after its pending calls, but at the latest after `grace_period_s` seconds."""
        if self.actor is None:
            return
        if force or not api.wait([self.actor.__ray_terminate__.remote()], timeout=grace_period_s)[0]:
            api.kill(self.actor, no_restart=True)
        self.actor = None


class _Refusals:
    """Within: Full and Empty in place of what the queue's actor raises without a wait. They are no RayTaskError, as on Ray."""

    def __enter__(self):
        pass

    def __exit__(self, kind, error, traceback):
        if isinstance(error, asyncio.QueueFull):
            raise Full(_FULL) from None
        if isinstance(error, asyncio.QueueEmpty):
            raise Empty(_EMPTY) from None


_FULL = "the queue is full: take an item out first, wait longer, or give it a larger maxsize"
_EMPTY = "the queue is empty: put an item first, or wait longer"


def _get(ref):
    return api.get(ref)


def _check(timeout):
    if timeout is not None and timeout < 0:
        raise ValueError(f"'timeout' must be a non-negative number (Queue at {calling()}: timeout={timeout})")


class _Held:
    """The methods of the queue's actor that do not wait."""

    def __init__(self, maxsize):
        self.maxsize = maxsize
        self.queue = asyncio.Queue(maxsize)

    def qsize(self):
        return self.queue.qsize()

    def empty(self):
        return self.queue.empty()

    def full(self):
        return self.queue.full()

    def put_nowait(self, item):
        self.queue.put_nowait(item)

    def get_nowait(self):
        return self.queue.get_nowait()

    def put_nowait_batch(self, items):
        if self.maxsize > 0 and len(items) + self.qsize() > self.maxsize:
            raise Full(
                f"Cannot add {len(items)} items to queue of size {self.qsize()} and maxsize {self.maxsize}. None was added: give fewer, take some out first, or give the queue a larger maxsize"
            )
        for item in items:
            self.queue.put_nowait(item)

    def get_nowait_batch(self, num_items):
        if num_items > self.qsize():
            raise Empty(
                f"Cannot get {num_items} items from queue of size {self.qsize()}. None was taken: ask for fewer, or put some first"
            )
        return [self.queue.get_nowait() for _ in range(num_items)]


class _QueueActor(_Held):
    async def put(self, item, timeout=None):
        try:
            await asyncio.wait_for(self.queue.put(item), timeout)
        except asyncio.TimeoutError:
            raise Full(_FULL) from None

    async def get(self, timeout=None):
        try:
            return await asyncio.wait_for(self.queue.get(), timeout)
        except asyncio.TimeoutError:
            raise Empty(_EMPTY) from None


class _SerialQueueActor(_Held):
    """Inline placement: no other code runs while a call waits, so a wait ends at once with a timeout."""

    def put(self, item, timeout=None):
        if timeout is None and self.full():
            raise RuntimeError(
                f"Queue.put: the queue is full, with {self.maxsize} items, and in inline placement nobody can take one out while this "
                "call waits. Give a timeout, a larger maxsize, or use the isolated placement"
            )
        if self.full():
            raise Full(_FULL)
        self.put_nowait(item)

    def get(self, timeout=None):
        if timeout is None and self.empty():
            raise RuntimeError(
                "Queue.get: the queue is empty, and in inline placement nobody can put an item into it while this call waits. "
                "Give a timeout, put first, or use the isolated placement"
            )
        if self.empty():
            raise Empty(_EMPTY)
        return self.get_nowait()
