"""Places in the user's code, for error messages."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

from reactor import _core, codec

#: Directories of rayshim and reactor, rayshim's first; in a source tree the core is elsewhere.
OURS = (
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
    *(os.path.dirname(os.path.abspath(module.__file__)) + os.sep for module in (_core, codec)),  # pyright: ignore[reportArgumentType, reportCallIssue]
)


#: The folders in them whose code is not the user's. Other code there counts as the user's: the tests of a source tree, and
#: `fragments`, which is a program on Ray's API.
PARTS = (
    *(
        "_private",
        "api",
        "as_ray",
        "calls",
        "cli",
        "cloudpickle",
        "dag",
        "environments",
        "errors",
        "experimental",
        "internal",
        "jobs",
        "journal",
        "ordering",
    ),
    *("over", "placement", "recording", "resources", "runtime_env", "scripts", "session", "timing", "util", "worker"),
    *("draw", "execution", "lf", "model", "runtime", "schedule"),
)
_LIBRARY = os.path.dirname(os.__file__) + os.sep
_FOLDERS = tuple(ours + part + os.sep for ours in OURS for part in PARTS)


def is_users(file):
    """Whether the code in `file` (str, a path) is the user's, and not part of rayshim or reactor."""
    return not file.startswith(OURS) or not (file.startswith(_FOLDERS) or os.path.dirname(file) + os.sep in OURS)


@functools.cache
def is_programs(file):
    """Whether the code in `file` (str, a path) is the program's own: the user's, and neither that of an installed package nor Python's library."""
    path = os.path.abspath(file)
    installed = not {"site-packages", "dist-packages"}.isdisjoint(path.split(os.sep)) or path.startswith(_LIBRARY)
    return not installed and not file.startswith("<frozen ") and is_users(path)


def at(function: Any) -> Any:
    """For an error: the name of the called function and the place of the call, as "wait() at file.py:line"."""
    return f"{function}() at {calling()}"


def calling() -> Any:
    """For an error: the place in the user's code that has called rayshim, as "file.py:line", or "?" if no frame is the user's."""
    frame = sys._getframe(1)
    while frame is not None and (not is_users(frame.f_code.co_filename) or _is_made_for_us(frame)):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "?"


def module_of(named):
    """The module of a function or class; for the main script the name of its file without ".py", as in Ray's descriptors of functions."""
    module = getattr(named, "__module__", None) or "?"
    if module != "__main__":
        return module
    code = getattr(named, "__code__", None)
    file = code.co_filename if code else getattr(sys.modules["__main__"], "__file__", "")
    name, extension = os.path.splitext(os.path.basename(file))
    return name if extension == ".py" else module


def is_internal(cls):
    """Whether a class is an internal of one of Ray's libraries, such as the actors that Ray Data makes for its own use."""
    first, *parts = (getattr(cls, "__module__", None) or "").split(".")
    return first == "ray" and not {"_internal", "_private"}.isdisjoint(parts)


def _is_made_for_us(frame):
    """Whether the frame runs a function that Python generated for a class of rayshim, such as the constructor of a dataclass. It is in no file."""
    return frame.f_code.co_filename == "<string>" and frame.f_globals.get("__name__", "").startswith("rayshim.")


def qualified(function):
    """The name of a function or class in errors: `module.f`, `module.A.method`, `module.A.__init__` for a class."""
    name = f"{getattr(function, '__module__', None)}.{getattr(function, '__qualname__', type(function).__qualname__)}"
    return f"{name}.__init__" if isinstance(function, type) else name
