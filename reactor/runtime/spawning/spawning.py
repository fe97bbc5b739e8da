"""The start of the zygote, a new interpreter with the run's descriptors at their fixed numbers (descriptors.py), and of a worker with an
interpreter of its own."""

import contextlib
import fcntl
import os
import pickle
import sys

from reactor.runtime.spawning import descriptors
from reactor.runtime.spawning.descriptors import FIRST_FREE_FD

# The interpreter puts the current directory first on the path of such a program: nothing may be imported from there. This package's
# own root comes after the standard library. The blanks are room for what `ps` shows of a worker (title.h).
_PROGRAM = (
    "import sys; sys.path[:1] == [''] and sys.path.pop(0); import os; lib = os.path.dirname(os.__file__); "
    "sys.path.insert(max((i for i, p in enumerate(sys.path, 1) if p in (lib, lib + '/lib-dynload')), default=0), {root!r}); "
    "{main}" + " " * 160
)
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def command(early=False):
    """The command line of a zygote, a list of str. `early`: see reactor.runtime.zygote.early_zygote."""
    return program(f"from reactor.runtime.zygote.zygote import main; main({'early=True' if early else ''})")


def program(main):
    """The command line of an interpreter that runs the statements `main` of this package, a list of str."""
    # The driver's own flags (-O, -W, -X) stay the driver's, but for -s and -S; PYTHONOPTIMIZE and the like hold for the workers too.
    flags = ["-S"] * sys.flags.no_site + ["-s"] * sys.flags.no_user_site
    return [sys.executable, *flags, "-c", _PROGRAM.format(root=_ROOT, main=main)]


def spawn(argv, descriptors, environment):
    """Starts a zygote in a session of its own, and returns its pid. descriptors: pairs of a descriptor of this process and its number there; environment:
    its environment variables, {name: value}.

    Raises OSError with the reason.
    """
    copies = []
    try:
        for fd, _ in descriptors:
            copies.append(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD))
        actions = [(os.POSIX_SPAWN_DUP2, fd, to) for fd, (_, to) in zip(copies, descriptors)]
        return os.posix_spawn(argv[0], argv, environment, file_actions=actions, setsid=True)
    except OSError as error:
        raise type(error)(
            error.errno, f"init: the process that starts the workers could not be started: {error.strerror}", argv[0]
        ) from None
    finally:
        for fd in copies:
            os.close(fd)


def restart(variables, config, plugin, arguments):
    """Starts the interpreter again in this process, a forked worker that has no other descriptors than its own; does not return.

    variables: {name: value, None for none} of the environment that it is to have, beside this process's; config, plugin: those of the zygote; arguments: for
    `worker.go_on`, before these three.
    """
    given = os.memfd_create("worker", 0)  # inherited
    with open(given, "wb", closefd=False) as file:
        pickle.dump((variables, config, plugin.__name__, arguments, tuple(descriptors.of_workers)), file)
    os.lseek(given, 0, os.SEEK_SET)
    inherit(True)
    set_variables(variables)
    # A PYTHONPATH among the variables may have modules of the same names.
    command = program(
        f"sys.path[:] = {config['own_path']!r}; from reactor.runtime.worker.own_interpreter import main; main({given})"
    )
    os.execv(command[0], command)


def set_variables(variables):
    """Sets environment variables of this process; those without a value, None, are removed."""
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def inherit(whether):
    """Whether the program that this worker starts has the worker's descriptors."""
    for fd in descriptors.of_workers.all():
        os.set_inheritable(fd, whether)


def environment(variables):
    """The environment of a zygote: the program's, and `variables` where it has not set them."""
    return {**variables, **os.environ}


def path_with(path, variables):
    """`path`, that of the program, with the directories of the PYTHONPATH among `variables`: as Python places them, they come after that of the script."""
    named = variables.get("PYTHONPATH") or ""
    named = [os.path.abspath(directory) for directory in named.split(os.pathsep) if directory]
    return [*path[:1], *named, *(directory for directory in path[1:] if directory not in named)]


def current_directory():
    """The current directory; None if it has been removed (the workers then inherit it as it is)."""
    try:
        return os.getcwd()
    except OSError:
        return None


@contextlib.contextmanager
def existing_directory():
    """A context manager: where the current directory has been removed, imports run in another one. Without one, libraries of torch end the process,
    and Python 3.13.0 cannot import `socket`."""
    if current_directory() is not None:
        yield
        return
    here = os.open(os.curdir, os.O_RDONLY | os.O_DIRECTORY)
    os.chdir("/")
    try:
        yield
    finally:
        os.fchdir(here)
        os.close(here)


def path_without_the_programs():
    """`sys.path` without the directories of the program's own modules, and with the standard library first, for the imports of the runtime itself:
    the program may have modules with the same names."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    library = os.path.dirname(os.__file__)
    programs = {"", ".", current_directory()}
    if main:
        directory = os.path.dirname(os.path.realpath(main))
        # Under `python -m doctest` or `-m cProfile` the main module is a library's.
        if directory != os.path.realpath(library) and os.path.basename(directory) not in (
            "site-packages",
            "dist-packages",
        ):
            programs.add(directory)
    rest = [path for path in sys.path if path not in programs]
    own = [path for path in rest if path in (library, os.path.join(library, "lib-dynload"))]
    return [*own, *(path for path in rest if path not in own), _ROOT]
