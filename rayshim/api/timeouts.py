"""Checks the argument `timeout` of `get` and `wait`."""

from rayshim.calls.generators import negative_timeout
from rayshim.errors.user_code import calling

_MOST = 9.2e15  # seconds; Ray counts milliseconds in 63 bits


def seconds(timeout, call, least=None):
    """`timeout` as a float. `call`: name of the function, for errors. As in Ray, raises TypeError if it is not a number, ValueError if it is NaN or
    below `least`, OverflowError if it is too large. Without `least`, text raises ValueError, or OverflowError if it is digits."""
    where = lambda: f"{call}(timeout={timeout!r}) at {calling()}"  # noqa: E731
    if isinstance(timeout, (str, bytes)):
        # Without `least`, Ray multiplies it by 1000 and reads the digits.
        refused = TypeError if least is not None else OverflowError if timeout.isdigit() else ValueError
        raise refused(f"{where()}: the timeout must be a number of seconds or None, not {type(timeout).__name__}")
    try:
        found = float(timeout)
    except OverflowError:
        raise OverflowError(f"{where()}: the timeout is too large. Give None to wait without limit") from None
    except Exception:
        raise TypeError(
            f"{where()}: the timeout must be a number of seconds or None, not {type(timeout).__name__}"
        ) from None
    if found != found:  # noqa: PLR0124
        raise ValueError(f"{where()}: the timeout is not a number of seconds. Give None to wait without limit")
    if least is not None and found < least:
        raise negative_timeout(timeout, where())
    if abs(found) > _MOST:
        raise OverflowError(f"{where()}: the timeout is too large. Give None to wait without limit")
    return found
