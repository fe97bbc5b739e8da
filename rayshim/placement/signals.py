"""Signals to a driver in which calls run (inline placement)."""

import dis
import signal
import sys
from types import BuiltinFunctionType, FunctionType, MethodType

_RAISE = dis.opmap["RAISE_VARARGS"]


def has_raised(error):
    """Hook of the core: whether a signal has raised the exception `error`, or one that it was raised for, in the call that was running. The call
    that was interrupted raises it again where it was made, up to the driver's own code: Ctrl-C gives KeyboardInterrupt, and SIGTERM ends the program."""
    handlers = {_code(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    found, chain = [], [error]
    while chain:
        one = chain.pop()
        if one is not None and one not in found:
            found.append(one)
            chain += [one.__cause__, one.__context__]
    return any(_is_of_signal(one, handlers) for one in found)


def _is_of_signal(error, handlers):
    step = error.__traceback__
    if step is None:
        return False
    while step.tb_next is not None and step.tb_frame.f_code not in handlers:
        step = step.tb_next
    code = step.tb_frame.f_code
    if code in handlers:
        return True
    # Python's own handler of SIGINT has no frame: the exception comes from between two instructions of the call. `asyncio.run` raises it itself.
    by_python = type(signal.getsignal(signal.SIGINT)) is BuiltinFunctionType and type(error) is KeyboardInterrupt
    runners = sys.modules.get("asyncio.runners")
    return by_python and (
        code.co_code[step.tb_lasti] != _RAISE or runners is not None and code.co_filename == runners.__file__
    )


def _code(handler):
    """The code object of a handler of signals that is written in Python."""
    if isinstance(handler, MethodType):
        handler = handler.__func__
    elif not isinstance(handler, FunctionType):
        calls = (cls.__dict__["__call__"] for cls in type(handler).__mro__ if "__call__" in cls.__dict__)
        handler = next(calls, None)
    return getattr(handler, "__code__", None)
