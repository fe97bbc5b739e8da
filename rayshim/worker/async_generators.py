"""Generators in async actors. A separate module, because importing asyncio takes as long as importing all of rayshim."""

import asyncio
import time

from reactor import _core

from rayshim.calls.generators import StreamingGeneratorStats
from rayshim.session.futures import any_done
from rayshim.worker.failures import wrong_results

_CANCEL_SECONDS = _core.GATE_SECONDS


async def stream(values, completion, physically=None):
    """Yields the values of a generator, async or plain, to the caller without blocking the event loop.

    Arguments: physically: in a run with a journal, awaits the coroutines whose outcome depends on the reader (rayshim.journal.loop).
    """
    outside = physically or _as_it_is
    if not hasattr(values, "asend"):
        if not hasattr(values, "__next__") and not hasattr(values, "__anext__"):
            raise wrong_results(0, -1, values)
        values = _in_turns(values)
    try:
        await outside(_let_on(completion))
        reply = None
        while True:
            try:
                value = await values.asend(reply)
            except StopAsyncIteration:
                return
            before = time.perf_counter()
            ticket = completion.item(value)
            reply = StreamingGeneratorStats(time.perf_counter() - before)
            if await outside(_taken(completion, ticket)):
                completion.stop_noting()
                raise asyncio.CancelledError
    finally:
        await values.aclose()


async def _as_it_is(coroutine):
    return await coroutine


async def _taken(completion, ticket):
    """Waits until the generator may yield one more value. Returns whether no reader wants it any more."""
    while ticket is not None and not ticket.done() and not completion.cancelled:
        await asyncio.wait([asyncio.wrap_future(any_done([ticket]))], timeout=_CANCEL_SECONDS)
    await _let_on(completion)
    return bool(completion.cancelled)


async def _let_on(completion):
    """Waits until the number of the actor's unread values allows one more."""
    while not completion.cancelled and (unread := completion.let_on()) is not None:
        if unread:
            await asyncio.wait([asyncio.wrap_future(any_done(unread))], timeout=_CANCEL_SECONDS)
        else:
            await asyncio.sleep(0.001)


async def _in_turns(values):
    if hasattr(values, "__anext__"):  # an iterator without `asend`
        async for value in values:
            yield value
        return
    reply, send = None, getattr(values, "send", None)
    while True:
        try:
            value = next(values) if reply is None or send is None else send(reply)
        except StopIteration:
            return
        reply = yield value
        await asyncio.sleep(0)
