"""The start of the zygote: a new interpreter with the run's descriptors at their fixed numbers (reactor.runtime.descriptors)."""

import fcntl
import os
import sys

from reactor.runtime.descriptors import FIRST_FREE_FD

# The interpreter puts the current directory first on the path of such a program: nothing may be imported from there. This package's
# own root comes after the standard library. The blanks are room for what `ps` shows of a worker (title.h).
_PROGRAM = (
    "import sys; sys.path[:1] == [''] and sys.path.pop(0); import os; lib = os.path.dirname(os.__file__); "
    "sys.path.insert(max((i for i, p in enumerate(sys.path, 1) if p in (lib, lib + '/lib-dynload')), default=0), {root!r}); "
    "from reactor.runtime.zygote import main; main({early})" + " " * 160
)
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def command(early=False):
    """The command line of a zygote, a list of str. `early`: see reactor.runtime.early_zygote."""
    # The driver's own flags (-O, -W, -X) stay the driver's, but for -s and -S; PYTHONOPTIMIZE and the like hold for the workers too.
    flags = ["-S"] * sys.flags.no_site + ["-s"] * sys.flags.no_user_site
    return [sys.executable, *flags, "-c", _PROGRAM.format(root=_ROOT, early="early=True" if early else "")]


def spawn(argv, descriptors, variables):
    """Starts a zygote in a session of its own, and returns its pid. descriptors: pairs of a descriptor of this process and its number there; variables:
    {name: value} of environment variables, where the program has not set them.

    Raises OSError with the reason.
    """
    copies = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD) for fd, _ in descriptors]
    try:
        actions = [(os.POSIX_SPAWN_DUP2, fd, to) for fd, (_, to) in zip(copies, descriptors)]
        return os.posix_spawn(argv[0], argv, environment(variables), file_actions=actions, setsid=True)
    except OSError as error:
        raise type(error)(
            error.errno, f"init: the process that starts the workers could not be started: {error.strerror}", argv[0]
        ) from None
    finally:
        for fd in copies:
            os.close(fd)


def environment(variables):
    """The environment of a zygote: the program's, and `variables` where it has not set them."""
    return {**variables, **os.environ}


def current_directory():
    """The current directory; None if it has been removed (the workers then inherit it as it is)."""
    try:
        return os.getcwd()
    except OSError:
        return None


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
