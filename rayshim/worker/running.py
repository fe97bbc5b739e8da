"""The call that runs here, and its function."""

from contextvars import ContextVar

from reactor import _core

from rayshim.errors.user_code import is_users

# (number of the constructor's call, its tag_hash), in the loop in which an async actor is made, and in the tasks that it starts there; in the thread in which an actor with
# threads is made, in timed order.
constructing: ContextVar[tuple[int, int]] = ContextVar("constructing", default=(0, 0))


def running_function():
    """The function or method of the running call; object.__init__ while an actor is constructed; None where no call runs."""
    call = handed_on()
    if call:
        return call.function
    if constructing.get()[0]:
        return object.__init__
    if not uid():
        return None
    return _core.running_callable() or object.__init__


def uid():
    """The number of the call that this thread or coroutine runs; 0 for none, as in a thread that the program's own code has started."""
    call = handed_on()
    return call.uid if call else constructing.get()[0] or (_core.running_uid() if _core.runs_here() else 0)


def tag_hash():
    """As `uid`, but the same in each run: `tag_hash` of the call's first result."""
    call = handed_on()
    return call.tag_hash if call else constructing.get()[1] or (_core.running_tag_hash() if _core.runs_here() else 0)


def plain(function):
    """The user's function, without what its options put around it."""
    while hasattr(function, "_unnamed_") or hasattr(function, "__wrapped__") and not is_users(file_of(function)):
        function = function._unnamed_ if hasattr(function, "_unnamed_") else function.__wrapped__
    return function


def file_of(function):
    code = getattr(function, "__code__", None)
    return code.co_filename if code else ""


def name_of(function):
    return getattr(function, "__name__", type(function).__name__)


def handed_on():
    """The _Call that runs in this thread or coroutine of a threaded or async actor; otherwise None."""
    from rayshim.worker.threads import running

    return running.get(None)
