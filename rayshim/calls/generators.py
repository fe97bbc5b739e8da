"""The caller's side of generator tasks and methods: ObjectRefGenerator and `wait` with generators."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from reactor import _core

from rayshim.calls.stream_state import CANCELLED, END, FAILED, ITEM, PENDING, missing
from rayshim.errors.user_code import at, calling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rayshim.calls.refs import ObjectRef

T_co = TypeVar("T_co", covariant=True)


class ObjectRefGenerator(Generic[T_co]):
    """The result of a generator task or method: an iterator over ObjectRefs, one for each yielded value, as soon as it is yielded.

    Use it with `for` or `async for`. If the generator raises, is cancelled, or its worker dies, the last ref holds the error, and
    `get` of it raises; the refs before it are valid.
    """

    __module__ = "rayshim"

    def __init__(self, completion: ObjectRef[Any], link: _core.Ref) -> None:
        self._generator_ref = completion
        self._link = link  # ref of the object that leads to the next value
        self._failure_given = False
        self._ahead = None  # PrefetchedRefs: the refs that _get_next_ref_n has given and that are not taken yet

    def __hash__(self) -> int:
        return hash(self._generator_ref)  # the same in each run

    def __iter__(self) -> ObjectRefGenerator[T_co]:
        return self

    def __next__(self) -> ObjectRef[T_co]:
        """The ref of the next value; waits until the value is yielded. StopIteration after the last one."""
        return self._take(_core.next_item(self._link, self._generator_ref, None), StopIteration)

    def __aiter__(self) -> ObjectRefGenerator[T_co]:
        return self

    async def __anext__(self) -> ObjectRef[T_co]:
        """Like `next`, without blocking the event loop. StopAsyncIteration after the last one."""
        await self._arrival()
        return self._take(_core.next_item(self._link, self._generator_ref, 0), StopAsyncIteration)

    async def _arrival(self):
        """Waits until `next` can return."""
        import asyncio

        from rayshim.session.futures import any_done

        if _core.timed():  # always an operation, in each run
            await asyncio.wrap_future(any_done([self._link]))
            return
        while missing := self._missing():
            await asyncio.wrap_future(any_done(missing))

    def _take(self, found, stop):
        ahead = self._ahead.take() if self._ahead else None
        if self._ahead and not self._ahead.refs:
            self._ahead = None
        if found is None:
            if self._failure_given or self._state() == END:
                raise stop
            self._failure_given = True
            return ahead or self._generator_ref
        ref, self._link = found
        return ahead or ref

    def _state(self):
        return _core.item_state(self._link, self._generator_ref)

    def _settled(self):
        """The state; of a call that was cancelled, when it has ended: it can still return, and then there is no error."""
        if _core.timed_here() and not _core.timed_wait_any([self._link], 0):
            return PENDING
        if self._state() == CANCELLED or (_core.timed_here() and self._state() != ITEM):
            _core.wait([self._generator_ref], 1, None)
        return self._state()

    def _missing(self):
        """The refs of which one must be done before `next` can return; empty if it can return now."""
        return missing(self._link, self._generator_ref)

    def _next_sync(self, timeout_s=None):
        """As `next`, waiting at most `timeout_s` seconds (None: until it is there); then a nil ref."""
        if timeout_s is not None and timeout_s < 0:
            raise negative_timeout(timeout_s, f"at {calling()}")
        while missing := self._missing():
            if timeout_s is not None and not _core.wait(missing, 1, timeout_s)[0]:
                return _nil()
            if timeout_s is None:
                _core.wait(missing, 1, None)
        return next(self)

    async def _next_async(self, timeout_s=None):
        """As `_next_sync`, without blocking the event loop; raises StopAsyncIteration after the last one."""
        import asyncio

        try:
            await asyncio.wait_for(self._arrival(), timeout_s)
        except asyncio.TimeoutError:
            return _nil()
        return self._take(_core.next_item(self._link, self._generator_ref, 0), StopAsyncIteration)

    def _stream_exhausted(self):
        """Whether all values were taken, so that only the end is to come."""
        return self._state() not in (PENDING, ITEM)

    def _get_next_ref_n(self, num_refs):
        """The refs (list) of the next `num_refs` values, which need not be there yet and are not taken. Refs beyond the last value fail."""
        if num_refs <= 0:
            raise ValueError("num_refs must be positive")
        from rayshim.calls.ahead import PrefetchedRefs

        self._ahead = self._ahead or PrefetchedRefs(self._link, self._generator_ref)
        return self._ahead.first(num_refs)

    def _consume_next_ref_n(self, num_refs):
        """Takes the next `num_refs` values, or those up to the end. Raises ValueError, and takes none, if they are not all there."""
        refs = self._get_next_ref_n(num_refs)
        if not refs[-1].done():
            raise ValueError(
                f"the generator has {sum(ref.done() for ref in refs)} of {num_refs} values: wait for the ref of the last one first"
            )
        for _ in range(num_refs):
            if next(self, None) is None:
                return

    def completed(self) -> ObjectRef[Any]:
        """A ref that is done when the generator has ended. `get` of it raises if the task failed for another reason than an exception in the generator."""
        return self._generator_ref

    def next_ready(self) -> bool:
        """Whether `next` would return a ref at once. False at the end."""
        state = self._settled()
        return state == ITEM or (state == FAILED and not self._failure_given)

    def is_finished(self) -> bool:
        """Whether `next` would raise StopIteration at once."""
        state = self._settled()
        return state == END or (state == FAILED and self._failure_given)

    def send(self, value: object) -> NoReturn:
        raise _unsupported("send")

    def throw(self, value: object) -> NoReturn:
        raise _unsupported("throw")

    def close(self) -> NoReturn:
        raise _unsupported("close")

    async def asend(self, value: object) -> NoReturn:
        raise _unsupported("asend")

    async def athrow(self, value: object) -> NoReturn:
        raise _unsupported("athrow")

    async def aclose(self) -> NoReturn:
        raise _unsupported("aclose")

    def __getstate__(self) -> Any:
        raise TypeError(
            "You cannot return or pass a generator to other task. Serializing a ObjectRefGenerator is not allowed. "
            f"(at {calling()}: pass the refs that it gives, or have the other task call the generator function)"
        )


def _nil():
    from rayshim.calls.refs import ObjectRef

    return ObjectRef.nil()


def _unsupported(name):
    return NotImplementedError(
        f"`gen.{name}` is not supported. (at {calling()}: take refs with next() or a for loop; ray.cancel ends the task)"
    )


class StreamingGeneratorStats:
    """The value of `yield` in a streaming generator: the time that storing the value took.

    Attributes:
        object_creation_dur_s: float, seconds.
    """

    __module__ = "rayshim._raylet"
    __slots__ = ("object_creation_dur_s",)

    def __init__(self, object_creation_dur_s):
        self.object_creation_dur_s = object_creation_dur_s

    def __repr__(self):
        return f"StreamingGeneratorStats(object_creation_dur_s={self.object_creation_dur_s})"


class DynamicObjectRefGenerator:
    """The value of a call with num_returns="dynamic": the refs of all values that its generator yielded. Iterating removes them."""

    __module__ = "rayshim"

    def __init__(self, refs: Iterable[ObjectRef[Any]]) -> None:
        self._refs = deque(refs)

    def __iter__(self) -> Iterator[ObjectRef[Any]]:
        while self._refs:
            yield self._refs.popleft()

    def __len__(self) -> int:
        return len(self._refs)


def negative_timeout(timeout, where):
    """The error for it. `where`: the place of the call, for the message."""
    return ValueError(f"The 'timeout' argument must be nonnegative. Received {timeout} ({where})")


def num_returns_code(num_returns, is_generator):
    """The core's number of results for an option `num_returns`. None means "streaming" for a generator and 1 otherwise."""
    if num_returns is None:
        num_returns = "streaming" if is_generator else 1
    return {"streaming": _core.STREAM, "dynamic": _core.DYNAMIC}.get(num_returns, num_returns)  # pyright: ignore[reportArgumentType, reportCallIssue]


def window(options):
    """From the options of a call: (how many values may be unread before the producer waits, 0 for no limit; values in one yield)."""
    most = options.get("_generator_backpressure_num_objects")
    return 0 if most is None or most < 0 else most, options.get("_num_objects_per_yield") or 1


def check_waitables(waitables):
    """TypeError for what `ray.wait` does not take, ValueError for a ref or generator that is in the list twice. (Refs of an earlier session can
    have the numbers of others, so they are not compared.)"""
    for w in waitables:
        if not isinstance(w, (ObjectRefGenerator, _core.Ref)):
            raise TypeError(
                f"wait() expected a list of ray.ObjectRef or ray.ObjectRefGenerator, got list containing {type(w)} ({at('wait')})"
            ) from None
    known = [w if isinstance(w, ObjectRefGenerator) else w.uid for w in waitables if not getattr(w, "stale", False)]
    if len(set(known)) < len(known):
        raise ValueError(
            f"Wait requires a list of unique ray_waitables. ({at('wait')}: a ref is in the list more than once; remove it)"
        ) from None


def wait(waitables, num_returns, timeout):
    """`ray.wait` of a list that contains generators, after `check_waitables`. A generator is ready when `next` would not wait, or it was cancelled."""
    if _core.timed_here():
        heads = [w._link if isinstance(w, ObjectRefGenerator) else w for w in waitables]
        done = set(_core.wait(heads, num_returns, timeout)[0])
        found = [w for w, head in zip(waitables, heads) if head in done]
        return found, [w for w, head in zip(waitables, heads) if head not in done]
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        missing = [_missing(w) for w in waitables]
        ready = [w for w, lacks in zip(waitables, missing) if not lacks]
        left = None if deadline is None else max(deadline - time.monotonic(), 0)
        if len(ready) >= num_returns or left == 0:
            break
        _core.wait([ref for lacks in missing for ref in lacks], 1, left)
    chosen = {id(w) for w in ready[:num_returns]}
    return ready[:num_returns], [w for w in waitables if id(w) not in chosen]


def _missing(waitable):
    if isinstance(waitable, ObjectRefGenerator):
        return [] if waitable._state() == CANCELLED else waitable._missing()
    return [] if waitable.done() else [waitable]
