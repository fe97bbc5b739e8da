"""What an async actor makes of a generator. Apart from rayshim.generators because asyncio takes as long to import as all of rayshim."""

import asyncio

from rayshim.awaiting import any_done

_CANCEL_SECONDS = 0.1  # a producer that waits for its consumer looks so often whether it was cancelled


async def stream(values, completion, stepped=None):
    """Gives the values of a generator, async or plain, without blocking the event loop; stepped: makes of an async
    generator one whose steps are counted (rayshim.steps)."""
    asynchronous = hasattr(values, "__anext__")
    if not asynchronous:
        values = _in_turns(values)
    if stepped:
        values = stepped(values)
    try:
        await _let_on(completion)
        async for value in values:
            ticket = completion.item(value)
            while ticket is not None and not ticket.done() and not completion.unwanted:
                await asyncio.wait([asyncio.wrap_future(any_done([ticket]))], timeout=_CANCEL_SECONDS)
            await _let_on(completion)
            if completion.unwanted:
                raise asyncio.CancelledError
    finally:
        await values.aclose()


async def _let_on(completion):
    """Waits until the actor's values that nobody has read yet are few enough for one more."""
    while not completion.unwanted and (unread := completion.let_on()) is not None:
        if unread:
            await asyncio.wait([asyncio.wrap_future(any_done(unread))], timeout=_CANCEL_SECONDS)
        else:
            await asyncio.sleep(0.001)


async def _in_turns(values):
    for value in values:
        yield value
        await asyncio.sleep(0)
