"""Retries of calls after an exception: the options `retry_exceptions` and `max_task_retries`."""

import inspect
import sys
import time

from reactor import _core

from rayshim.errors.exceptions import UserCodeException
from rayshim.worker.pauses import delay


def retried(which):
    """The exception classes that are retried, from `retry_exceptions=which`."""
    return () if not which else Exception if which is True else tuple(which)


def is_run_again(error, kinds, function, take_retry=_core.take_retry, cancelled=_core.is_cancelled, generator=False):
    """Whether the caller is to run the call of `function` again, at once: like `is_retried`, after the pause. False, too, if that is left to the
    supervisor: then the task ends here with its error, and its resources are free meanwhile."""
    if not is_retried(error, kinds, function, take_retry):
        return False
    seconds = delay()
    if not seconds:
        return True
    if _core.run_later(generator):
        return False
    time.sleep(seconds)
    return not cancelled()


def is_retried(error, kinds, function, take_retry=_core.take_retry):
    """Whether the call of `function` that has raised `error` is run again, if `kinds` (see `retried`) are. That is reported on stderr, where the
    error would be lost otherwise."""
    if not _is_among(error, kinds):
        return False
    left = take_retry()
    if left:
        from rayshim.worker.failures import task_error

        failure = task_error(error, function, False)
        print(f"{will_be_retried(failure.function_name, left)} Error: User exception:\n{failure}", file=sys.stderr)
    return left > 0


def _is_among(error, kinds):
    if kinds is not Exception and isinstance(error, UserCodeException):
        error = error.__cause__  # as on Ray: a list names the errors of the user's code
    return isinstance(error, kinds)


def will_be_retried(name, left, after=""):
    """Ray's sentence about a call that is run again. `left`: the retries that it had; `after`: "oom", if they are those after the memory ran out."""
    number = "infinite" if left == _core.FOREVER else left
    why, kind = (f" due to {after}", f"{after} ") if after else ("", "")
    return f"Task {name} failed{why}. There are {number} {kind}retries remaining, so the task will be retried."


def is_or_wraps(kind, method):
    """Whether `method`, or the method below its decorators that say what they wrap, is of a kind such as `inspect.isgeneratorfunction`."""
    return kind(method) or kind(inspect.unwrap(method))


def _takes_value(values):
    """Whether a `yield` can be given a value now. It cannot where it is a `yield from` over something without `send`, as a range."""
    while (inner := getattr(values, "gi_yieldfrom", None)) is not None:
        values = inner
    return hasattr(values, "send")


def again(function, args, kwargs, retry, take_retry=_core.take_retry, cancelled=_core.is_cancelled):
    """The values of a generator function. After an exception of the classes `retry`, calls the function again if `take_retry()`, and continues after
    the last value that was yielded."""
    given = 0
    while True:
        values, place, reply = function(*args, **kwargs), 0, None
        try:
            while True:
                try:
                    value = values.send(reply) if reply is not None and _takes_value(values) else next(values)
                except StopIteration:
                    return
                reply = None
                if place == given:
                    given += 1
                    reply = yield value
                place += 1
        except Exception as error:
            if not is_run_again(error, retry, function, take_retry, cancelled, generator=True):
                raise


async def again_async(function, args, kwargs, retry, take_retry):
    """Like `again`, for an async generator function."""
    import asyncio

    given = 0
    while True:
        try:
            place = 0
            async for value in function(*args, **kwargs):
                if place == given:
                    given += 1
                    yield value
                place += 1
            return
        except Exception as error:
            if not is_retried(error, retry, function, take_retry):
                raise
            await asyncio.sleep(delay())
