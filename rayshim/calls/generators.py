"""Generator tasks: what their callers get, and what the worker makes of a generator."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from reactor import _core

from rayshim.errors.sites import at, calling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rayshim.calls.refs import ObjectRef

T_co = TypeVar("T_co", covariant=True)

PENDING, CLOSING, ITEM, END, FAILED = _core.StreamState


class ObjectRefGenerator(Generic[T_co]):
    """The values of a generator task or method as ObjectRefs, each as soon as it is there. Iterate it with `for` or `async for`.

    An exception in the generator is the last ref: those before it are good, getting it raises. So is the error of a task that was
    cancelled or whose worker died.
    """

    def __init__(self, completion: ObjectRef[Any], link: _core.Ref) -> None:
        self._generator_ref = completion
        self._link = link  # ref of the object that leads to the next value
        self._failure_given = False

    def __iter__(self) -> ObjectRefGenerator[T_co]:
        return self

    def __next__(self) -> ObjectRef[T_co]:
        """The next value's ref; waits until the value is there. StopIteration after the last."""
        found = _core.next_item(self._link, self._generator_ref, None)
        if found is None:
            return self._last(StopIteration)
        ref, self._link = found
        return ref

    def __aiter__(self) -> ObjectRefGenerator[T_co]:
        return self

    async def __anext__(self) -> ObjectRef[T_co]:
        """As `next`, without blocking the event loop. StopAsyncIteration after the last."""
        import asyncio

        from rayshim.session.futures import any_done

        while missing := self._missing():
            await asyncio.wrap_future(any_done(missing))
        found = _core.next_item(self._link, self._generator_ref, 0)
        if found is None:
            return self._last(StopAsyncIteration)
        ref, self._link = found
        return ref

    def _last(self, stop):
        if self._failure_given or self._state() == END:
            raise stop
        self._failure_given = True
        return self._generator_ref

    def _state(self):
        return _core.item_state(self._link, self._generator_ref)

    def _missing(self):
        """The refs of which one must be done before `next` has something to give; none when it has."""
        state = self._state()
        if state == PENDING:
            return [self._link, self._generator_ref]
        return [self._generator_ref] if state == CLOSING else []

    def completed(self) -> ObjectRef[Any]:
        """A ref that is done when the generator is; getting it raises if the task failed other than by the generator's exception."""
        return self._generator_ref

    def next_ready(self) -> bool:
        """Whether `next` would give a ref at once. False at the end."""
        state = self._state()
        return state == ITEM or (state == FAILED and not self._failure_given)

    def is_finished(self) -> bool:
        """Whether `next` would raise StopIteration at once."""
        state = self._state()
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

    def __getstate__(self):
        raise TypeError(
            "You cannot return or pass a generator to other task. Serializing a ObjectRefGenerator is not allowed. "
            f"(at {calling()}: pass the refs that it gives, or have the other task call the generator function)"
        )


def _unsupported(name):
    return NotImplementedError(
        f"`gen.{name}` is not supported. (at {calling()}: refs are taken with next() or a loop; ray.cancel ends the task)"
    )


class DynamicObjectRefGenerator:
    """The value of a call with num_returns="dynamic": the refs of all that its generator gave. Iterating takes them out."""

    def __init__(self, refs: Iterable[ObjectRef[Any]]) -> None:
        self._refs = deque(refs)

    def __iter__(self) -> Iterator[ObjectRef[Any]]:
        while self._refs:
            yield self._refs.popleft()

    def __len__(self) -> int:
        return len(self._refs)


def num_returns_code(num_returns, is_generator):
    """The core's number of results for an option `num_returns`; None is "streaming" for a generator and 1 for the rest."""
    if num_returns is None:
        num_returns = "streaming" if is_generator else 1
    return {"streaming": _core.STREAM, "dynamic": _core.DYNAMIC}.get(num_returns, num_returns)  # pyright: ignore[reportArgumentType, reportCallIssue]


def window(options):
    """(how many values may be unread before the producer waits, 0 for any number; values in one yield) of some options."""
    most = options.get("_generator_backpressure_num_objects")
    return 0 if most is None or most < 0 else most, options.get("_num_objects_per_yield") or 1


def wait(waitables, num_returns, timeout):
    """`ray.wait` of a list that has generators among its refs: one is ready when `next` would not wait."""
    for w in waitables:
        if not isinstance(w, (ObjectRefGenerator, _core.Ref)):
            raise TypeError(
                f"wait() expected a list of ray.ObjectRef or ray.ObjectRefGenerator, got list containing {type(w)} ({at('wait')})"
            )
    if len({id(w) if isinstance(w, ObjectRefGenerator) else w.uid for w in waitables}) < len(waitables):
        raise ValueError(
            f"Wait requires a list of unique ray_waitables. ({at('wait')}: one is there more than once; leave it out)"
        )
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
        return waitable._missing()
    return [] if waitable.done() else [waitable]
