"""`init(clock="logical")`: the clocks of the module `time` show the program the time of timed order, the same in each run.

To read a clock is an operation of the strand that does it. It takes effect for Python code of the program and of installed packages. The standard library and the
runtime see the machine's clocks, and so does code in C, such as `datetime.now()`.
"""

import functools
import sys
import time
from typing import Any

from reactor import _core

from rayshim.errors.user_code import is_users

NAMES = ("time", "monotonic", "perf_counter")  # in seconds; and each of them with "_ns"
_undo = []
_sees = {}  # code -> whether it sees the logical clocks


def _is_programs(frame):
    code = frame.f_code
    sees = _sees.get(code)
    if sees is None:
        sees = _sees[code] = _are_programs(frame.f_globals, code.co_filename)
    return sees


def _are_programs(names, file):
    """Whether code with these globals, in this file (path, or None), is the program's or an installed package's."""
    package = str(names.get("__name__", "")).partition(".")[0]
    return package not in sys.stdlib_module_names and (file is None or is_users(str(file)))


def _clock(real, began, unit):
    """The function in place of `real`. `began`: what it shows at the begin of the run, in ns; `unit`: ns, None for whole ones."""

    @functools.wraps(real)
    def clock():
        now = _core.timed_clock() if _undo and _is_programs(sys._getframe(1)) else None
        if now is None:
            return real()
        return began + now if unit is None else (began + now) / unit

    return clock


def begin(began):
    """In each process of the run. `began`: ns of (`time.time`, `time.monotonic`) at the begin of the measured run."""
    if _undo:
        return
    for name in NAMES:
        for full, unit in ((name, 1e9), (f"{name}_ns", None)):
            real = getattr(time, full)
            _replace(real, _clock(real, began[name != "time"], unit), full)


def _replace(real, clock, name):
    """`clock` in place of `real` in `time`, and where modules of the program have imported it from there."""
    places: list[tuple[dict[str, Any], str]] = [(time.__dict__, name)]
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if not isinstance(names, dict) or module is time or not _are_programs(names, names.get("__file__")):
            continue
        places += [(names, its_name) for its_name, value in list(names.items()) if value is real]
    for names, its_name in places:
        names[its_name] = clock
        _undo.append((names, its_name, real))


def end():
    """The clocks are those of the machine again."""
    while _undo:
        names, name, real = _undo.pop()
        names[name] = real
    _sees.clear()
