"""`import ray` means rayshim: the same module objects under both names, real Ray installed or not."""

import os
import sys

from rayshim.session.version import RAY_VERSION

OURS, THEIRS = "rayshim", "ray"


def install():
    """From now on `import ray`, `import ray.util`, `from ray.util import ActorPool` ... give rayshim's own modules.

    This holds in this process and in those that it starts with `multiprocessing`, by spawn and forkserver, too. What it starts by
    another command (`subprocess`) is another program. Called in a driver, also after `init`, it holds in the workers, those that live
    included; one that may have imported real Ray by then is told of in a RuntimeWarning. Submodules are loaded when first asked for.
    Calling it again changes nothing. Raises ImportError if real Ray has been imported in this process: its objects and ours cannot be mixed.
    """
    there = sys.modules.get(THEIRS)
    if there is not None and there is not sys.modules.get(OURS):
        raise ImportError(
            f"rayshim cannot take the name 'ray': real Ray is already imported in this process "
            f"(from {getattr(there, '__file__', None)}). Call rayshim.alias.install() before the first `import ray`, or "
            "start the program with `python -m rayshim script.py`."
        )
    if not is_installed():
        sys.meta_path.insert(0, _Finder())
        sys.modules[OURS].__version__ = RAY_VERSION  # pyright: ignore[reportAttributeAccessIssue]
        if any(name in sys.modules for name in _STARTERS):
            _pass_on()
        _tell_workers()


def is_installed():
    """Whether `import ray` gives rayshim in this process."""
    return any(type(finder) is _Finder for finder in sys.meta_path)


def install_when_driver_does():
    """In the workers of a driver that has not called `install` at `init`: each asks, when it imports `ray`, whether it has since."""
    sys.meta_path.insert(0, _Asking())


class _Asking:
    """Finds `ray` as _Finder does if the driver has called `install`, else leaves it to the other finders and lets the driver know."""

    def find_spec(self, name, path=None, target=None):
        if name != THEIRS or is_installed():
            return None
        from rayshim.session import session

        if session.current is None:
            return None
        control = session.current.control
        if (_TOPIC, _INSTALLED) in control.ask("posted", _TOPIC):
            install()
            return _Finder().find_spec(name)
        from importlib.machinery import PathFinder

        if PathFinder.find_spec(name) is not None:
            control.tell("post", (_TOPIC, os.getpid()), True)
        return None


_TOPIC, _INSTALLED = (
    "alias",
    0,
)  # posted with the supervisor: (topic, 0) by the driver, (topic, pid) by workers that have real Ray


def _tell_workers():
    session = sys.modules.get(f"{OURS}.session.session")
    current = session and session.current
    if current is None or current.driver is None or current.inline:
        return
    current.control.tell("post", (_TOPIC, _INSTALLED), True)
    late = sorted(
        pid for _, pid in current.control.ask("posted", _TOPIC) if pid != _INSTALLED and os.path.exists(f"/proc/{pid}")
    )
    if late:
        import warnings

        warnings.warn(
            f"rayshim.alias.install() after init(): `import ray` has been run before in {'worker' if len(late) == 1 else 'workers'} "
            f"{', '.join(map(str, late))} (pid) and found real Ray there, which goes on to be `ray` in what runs there. Call "
            "rayshim.alias.install() before init(), or start the program with `python -m rayshim script.py`.",
            RuntimeWarning,
            stacklevel=3,
        )


class _Finder:
    """Finds `ray` and `ray.*`; the rest is left to the other finders."""

    def find_spec(self, name, path=None, target=None):
        if name in _STARTERS:
            _pass_on()
        if name != THEIRS and not name.startswith(THEIRS + "."):
            return None
        ours = OURS + name[len(THEIRS) :]
        if not _exists(ours):
            raise ModuleNotFoundError(_missing(name, ours), name=name)
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, _Loader(ours), origin=ours)  # pyright: ignore[reportArgumentType]


class _Loader:
    """Hands the import system the module that exists under our name."""

    def __init__(self, ours):
        self.ours = ours

    def create_module(self, spec):
        from importlib import import_module

        module = import_module(self.ours)
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.spec  # the import system has just put the alias's spec there


def _exists(ours):
    if ours in sys.modules:
        return True
    from importlib.util import find_spec

    try:
        return find_spec(ours) is not None
    except ModuleNotFoundError as error:
        if error.name and ours.startswith(error.name):
            return False
        raise  # ours is there, but something that it imports is not


def _missing(name, ours):
    from importlib import import_module
    from pkgutil import iter_modules

    parent = ours.rpartition(".")[0]
    while not _exists(parent):
        parent = parent.rpartition(".")[0]
    package = import_module(parent)
    inside = sorted(m.name for m in iter_modules(getattr(package, "__path__", ())) if m.name not in _NOT_RAYS)
    told = f"{THEIRS}{parent[len(OURS) :]}"
    return (
        f"No module named '{name}': rayshim stands in for Ray here and does not provide it. "
        f"It provides these modules of {told}: {', '.join(inside) if inside else 'none'}."
    )


_STARTERS = (
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.forkserver",
)  # each begins interpreters that are told what to run with -c
_IN_CHILD = (
    "import sys; sys.path.append({root!r}); from rayshim import alias; sys.path.remove({root!r}); alias.install(); "
)


def _pass_on():
    """From now on the interpreters that `multiprocessing` starts here have the alias before they import anything of the program."""
    from multiprocessing import util

    start = util.spawnv_passfds
    if getattr(start, "has_alias", False):
        return

    def spawnv_passfds(path, args, passfds):
        return start(path, [_with_alias(argument) for argument in args], passfds)

    spawnv_passfds.has_alias = True
    util.spawnv_passfds = spawnv_passfds


def _with_alias(argument):
    if not isinstance(argument, str) or not argument.startswith(
        tuple(f"from {name} import " for name in ("multiprocessing.spawn", _STARTERS[1]))
    ):
        return argument
    return (
        _IN_CHILD.format(root=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))) + argument
    )


_NOT_RAYS = (
    "tests",
    "__main__",
    "alias",
    "command_path",
    "cli",
    "api",
    "calls",
    "worker",
    "placement",
    "ordering",
    "plans",
    "journal",
    "errors",
    "session",
)
