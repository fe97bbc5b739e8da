"""Runs a program as `python script.py` or `python -m module` would, in this process."""

import os
import sys


class CannotStart(Exception):
    """The program cannot be run; `status` is the exit status that Python itself gives then."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


def run_script(path, args):
    """Runs the file `path` (or the `__main__.py` in that directory) as the main program with these arguments (str's); "-" is the standard
    input, and "-c" the text that is the first of the arguments, as for Python.

    Returns None at its end. What it raises passes on, SystemExit included, with a traceback that begins in the script.
    Raises CannotStart if there is no such file.
    """
    if path == "-":
        return _run_text(sys.stdin.read(), "<stdin>", ["-", *args])
    if path == "-c":
        return _run_text(args[0] + "\n", "<string>", ["-c", *args[1:]])
    file = os.path.join(path, "__main__.py") if os.path.isdir(path) else path
    try:
        import io

        with io.open_code(os.path.abspath(file)) as source:
            text = source.read()
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        raise CannotStart(f"can't open file '{os.path.abspath(file)}': {reason}", 2) from None
    sys.argv[:] = [path, *args]
    _set_first_path(os.path.dirname(os.path.realpath(file)))
    main = _new_main(__file__=os.path.abspath(file), __cached__=None, __spec__=None)
    from importlib.machinery import SourceFileLoader

    main.__loader__ = SourceFileLoader("__main__", main.__file__)  # pyright: ignore[reportArgumentType]
    _run(main, lambda: compile(text, main.__file__, "exec", dont_inherit=True))  # pyright: ignore[reportArgumentType]


def _run_text(text, file, argv):
    """Runs a program that is in no file. Tracebacks show its lines all the same."""
    import linecache

    sys.argv[:] = argv
    _set_first_path("")
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    main = _new_main()
    _run(main, lambda: compile(text, file, "exec", dont_inherit=True))


def run_module(name, args):
    """Runs the module `name` (a package's `__main__`) as the main program, as `python -m`; else as `run_script`."""
    from importlib.util import find_spec

    sys.argv[:] = ["-m", *args]
    _set_first_path(os.getcwd())
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = find_spec(f"{name}.__main__")
            if spec is None:
                raise CannotStart(f"No module named {name}.__main__; '{name}' is a package and cannot be run", 1)
    except ModuleNotFoundError as error:
        raise CannotStart(str(error), 1) from None
    if spec is None or not hasattr(spec.loader, "get_code"):
        raise CannotStart(f"No module named {name}", 1)
    sys.argv[0] = spec.origin  # pyright: ignore[reportArgumentType, reportCallIssue]
    main = _new_main(__file__=spec.origin, __cached__=spec.cached, __spec__=spec)
    main.__package__, main.__loader__ = spec.parent, spec.loader
    _run(main, lambda: spec.loader.get_code(spec.name))  # pyright: ignore[reportAttributeAccessIssue]


def _set_first_path(directory):
    if not getattr(sys.flags, "safe_path", False):
        sys.path[:1] = [directory]


def _new_main(**attributes):
    """A fresh `__main__`: picklers look there for the program's functions and classes."""
    import builtins
    from types import ModuleType

    main = ModuleType("__main__")
    main.__dict__.update(attributes, __builtins__=builtins)
    sys.modules["__main__"] = main
    return main


def _run(main, get_code):
    try:
        exec(get_code(), main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _report_without_our_frames(error)
        raise


def _report_without_our_frames(error):
    """Prints as Python does for an uncaught exception, and makes the interpreter, which sees our frames, not print again.

    The exception still goes on to the interpreter, for whatever else it does at its end (`-i`, the exit status, dying of
    SIGINT).
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith((__file__, "<frozen importlib")):
        trace = trace.tb_next
    hook = sys.excepthook
    try:
        hook(type(error), error.with_traceback(trace), trace)
    except BaseException:
        return  # a broken hook of the program's: the interpreter will call it and say so
    sys.excepthook = _already_reported


def _already_reported(kind, error, trace):
    """Prints nothing."""
