"""Runs a program in this process like `python script.py` or `python -m module`."""

import os
import sys


class CannotStart(Exception):
    """The program cannot be started. `status`: the exit status of Python in this case."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


def run_script(path, args):
    """Runs the file `path` (or the `__main__.py` in that directory or zip archive) as the main program, with these arguments (a list of str). As for Python,
    "-" means the standard input, and "-c" the program text that is the first argument.

    Exceptions of the program pass through, SystemExit included, with a traceback that begins in the script.
    Raises CannotStart if the file does not exist.
    """
    if path == "-":
        return _run_text(sys.stdin.read(), "<stdin>", ["-", *args])
    if path == "-c":
        return _run_text(args[0] + "\n", "<string>", ["-c", *args[1:]])
    archive = _archive(path)
    if archive is not None:
        return _run_archive(archive, path, args)
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


def _archive(path):
    """The importer of the zip archive at `path`; None if that is no archive."""
    from zipimport import ZipImportError, zipimporter

    try:
        return zipimporter(path)
    except ZipImportError:
        return None


def _run_archive(archive, path, args):
    spec = archive.find_spec("__main__")
    if spec is None:
        raise CannotStart(f"can't find '__main__' module in '{path}'", 1)
    sys.argv[:] = [path, *args]
    _set_first_path(path)
    main = _new_main(__file__=archive.get_filename("__main__"), __cached__=None, __spec__=spec)
    main.__package__, main.__loader__ = "", archive
    _run(main, lambda: archive.get_code("__main__"))


def _run_text(text, file, argv):
    """Runs a program text. Tracebacks show its lines, although it is in no file."""
    import linecache

    sys.argv[:] = argv
    _set_first_path("")
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    main = _new_main()
    _run(main, lambda: compile(text, file, "exec", dont_inherit=True))


def run_module(name, args):
    """Runs the module `name` (or the `__main__` of the package `name`) as the main program, like `python -m`; otherwise like `run_script`."""
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
    """Makes a new module `__main__`, in which picklers find the program's functions and classes."""
    import builtins
    from types import ModuleType

    main = ModuleType("__main__")
    main.__dict__.update(attributes, __builtins__=builtins)
    sys.modules["__main__"] = main
    return main


def _run(main, get_code):
    from reactor.runtime.spawning import inspect_stack

    _start_zygote()
    inspect_stack.skip_module_search(_OUR_MAIN)
    try:
        exec(get_code(), main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _report_without_our_frames(error)
        raise


def _start_zygote():
    """Starts the process that will start the workers, so that it imports what the program imports at the same time."""
    from rayshim.placement import kinds
    from rayshim.resources import num_threads

    if kinds.is_serial(os.environ.get("RAYSHIM_PLACEMENT")) or any(name in os.environ for name in _NO_ZYGOTE):
        return
    from reactor.runtime.zygote import early_zygote

    early_zygote.start("rayshim.worker.hooks", num_threads.VARIABLES)


#: The file of the module that was `__main__` before the program.
_OUR_MAIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__main__.py")

#: Variables with which `init` attaches the program to a session that runs already, or keeps a journal.
_NO_ZYGOTE = ("RAY_ADDRESS", "RAYSHIM_RECORD", "RAYSHIM_REPLAY")


def _report_without_our_frames(error):
    """Prints an uncaught exception like Python, but without the frames of rayshim, and keeps the interpreter from printing it again.

    The exception still reaches the interpreter, which handles `-i`, the exit status, and death by SIGINT.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith((__file__, "<frozen importlib")):
        trace = trace.tb_next
    hook = sys.excepthook
    try:
        hook(type(error), error.with_traceback(trace), trace)
    except BaseException:
        return  # the program's own hook is broken: the interpreter will call it and report that
    sys.excepthook = _Reported(error, hook)


class _Reported:
    """The hook that the interpreter calls with an exception that has been printed: it prints nothing, and puts back the hook of before, which an
    interactive session after the program needs."""

    def __init__(self, error, hook):
        self._error, self._hook = error, hook

    def __call__(self, kind, error, trace):
        sys.excepthook = self._hook
        if error is not self._error:
            self._hook(kind, error, trace)
