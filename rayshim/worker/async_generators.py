"""Generators in async actors. A separate module, because importing asyncio takes as long as importing all of rayshim."""

import asyncio

from rayshim.session.futures import any_done

_CANCEL_SECONDS = 0.1  # interval at which a producer that waits for its consumer checks whether it was cancelled


async def stream(values, completion, physically=None):
    """Yields the values of a generator, async or plain, to the caller without blocking the event loop.

    Arguments: physically: in a run with a journal, awaits the coroutines whose outcome depends on the reader (rayshim.journal.loop).
    """
    outside = physically or _as_it_is
    if not hasattr(values, "__anext__"):
        values = _in_turns(values)
    try:
        await outside(_let_on(completion))
        async for value in values:
            if await outside(_taken(completion, completion.item(value))):
                raise asyncio.CancelledError
    finally:
        await values.aclose()


async def _as_it_is(coroutine):
    return await coroutine


async def _taken(completion, ticket):
    """Waits until the generator may yield one more value. Returns whether no reader wants it any more."""
    while ticket is not None and not ticket.done() and not completion.unwanted:
        await asyncio.wait([asyncio.wrap_future(any_done([ticket]))], timeout=_CANCEL_SECONDS)
    await _let_on(completion)
    return bool(completion.unwanted)


async def _let_on(completion):
    """Waits until the number of the actor's unread values allows one more."""
    while not completion.unwanted and (unread := completion.let_on()) is not None:
        if unread:
            await asyncio.wait([asyncio.wrap_future(any_done(unread))], timeout=_CANCEL_SECONDS)
        else:
            await asyncio.sleep(0.001)


async def _in_turns(values):
    for value in values:
        yield value
        await asyncio.sleep(0)
