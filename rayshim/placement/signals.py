"""Signals to a driver in which calls run (inline placement)."""

import dis
import signal
from types import BuiltinFunctionType, FunctionType, MethodType

_RAISE = dis.opmap["RAISE_VARARGS"]


def has_raised(error):
    """Hook of the core: whether a signal has raised the exception `error` in the call that was running, and not the call itself. It then leaves the
    call for the driver, where the program was interrupted: Ctrl-C gives KeyboardInterrupt, and SIGTERM ends the program."""
    step = error.__traceback__
    if step is None:
        return False
    handlers = {_code(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    while step.tb_next is not None and step.tb_frame.f_code not in handlers:
        step = step.tb_next
    code = step.tb_frame.f_code
    if code in handlers:
        return True
    # Python's own handler of SIGINT has no frame: the exception comes from between two instructions of the call.
    by_python = type(signal.getsignal(signal.SIGINT)) is BuiltinFunctionType
    return by_python and type(error) is KeyboardInterrupt and code.co_code[step.tb_lasti] != _RAISE


def _code(handler):
    """The code object of a handler of signals that is written in Python."""
    if isinstance(handler, MethodType):
        handler = handler.__func__
    elif not isinstance(handler, FunctionType):
        calls = (cls.__dict__["__call__"] for cls in type(handler).__mro__ if "__call__" in cls.__dict__)
        handler = next(calls, None)
    return getattr(handler, "__code__", None)
