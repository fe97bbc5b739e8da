"""Makes `import ray` give rayshim: the same module objects under both names, whether real Ray is installed or not."""

from __future__ import annotations

import os
import sys
from copy import copy
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

from reactor import codec
from reactor.runtime.spawning.preloading import SLOW_LIBRARIES
from reactor.runtime.zygote import early_zygote

from rayshim.as_ray import libraries
from rayshim.as_ray.libraries import OVER
from rayshim.session import session
from rayshim.session.version import RAY_VERSION

if TYPE_CHECKING:
    from types import ModuleType

OURS, THEIRS = "rayshim", "ray"


def install() -> None:
    """Makes `import ray`, `import ray.util`, `from ray.util import ActorPool` and so on import rayshim from now on.

    This applies to this process, to processes that it starts with `multiprocessing` (also by spawn and forkserver), and to the workers of its
    session, also if `init` was called before. A RuntimeWarning names each worker that may have imported real Ray already. Programs that are
    started by a command (`subprocess`) import real Ray, except under `python -m rayshim` (rayshim.as_ray.commands).

    Submodules are loaded at their first use. A second call changes nothing. Raises ImportError if this process has imported real Ray, because
    objects of Ray and of rayshim cannot be mixed.
    """
    there = sys.modules.get(THEIRS)
    if there is not None and there is not sys.modules.get(OURS):
        raise ImportError(
            f"rayshim cannot take the name 'ray': real Ray is already imported in this process "
            f"(from {getattr(there, '__file__', None)}). Call rayshim.alias.install() before the first `import ray`, or "
            "start the program with `python -m rayshim script.py`."
        )
    if not is_installed():
        show_names()
        sys.meta_path.insert(0, _Finder())
        sys.meta_path.append(_Through())
        ray = sys.modules[OURS]
        ray.__version__ = RAY_VERSION  # pyright: ignore[reportAttributeAccessIssue]
        ray.__spec__ = copy(
            ray.__spec__
        )  # programs look for "<module 'ray'" in `str(ray)`, which takes the name from here
        ray.__spec__.name = THEIRS  # pyright: ignore[reportOptionalMemberAccess]
        if any(name in sys.modules for name in _STARTERS):
            _pass_on()
        _tell_workers()


def is_installed() -> bool:
    """Whether `import ray` gives rayshim in this process."""
    return any(type(finder) is _Finder for finder in sys.meta_path)


def submodule(package: str, name: str) -> ModuleType:
    """The module `name` of the package, for example "rayshim._private", for a program that uses it as an attribute and has not imported it. (Ray
    imports most of its modules when it is imported.) If `ray` means this package, modules of Ray's libraries are found, too.

    Raises AttributeError if there is none.
    """
    from importlib import import_module

    theirs = f"{THEIRS}{package.removeprefix(OVER).removeprefix(OURS)}.{name}"
    aliased = is_installed() or sys.modules.get(THEIRS) is sys.modules[OURS]
    why = f"rayshim does not provide {theirs}"
    if not name.startswith("__") and (package != OURS or aliased and name not in _NOT_RAYS):
        full = theirs if aliased else f"{package}.{name}"
        try:
            return import_module(full)
        except ModuleNotFoundError as error:
            if error.name != full:
                why = error
    if not aliased and package == OURS:
        why = libraries.why_missing(name) or why
    raise AttributeError(f"module {package!r} has no attribute {name!r}: {why}") from None


def install_when_driver_does():
    """For workers of a driver that had not called `install` before `init`: a worker that imports `ray` asks whether the driver has called it since."""
    sys.meta_path.insert(0, _Asking())


class _Asking:
    """Finds `ray` like _Finder if the driver has called `install`. Otherwise leaves it to the other finders, and notes that this worker has real Ray."""

    def find_spec(self, name, path=None, target=None):
        if name != THEIRS or is_installed():
            return None
        if session.current is None:
            return None
        placement = session.current.placement
        if (_TOPIC, _INSTALLED) in placement.posted(_TOPIC):
            install()
            return _Finder().find_spec(name)
        if PathFinder.find_spec(name) is not None:
            placement.post((_TOPIC, os.getpid()), True)
        return None


_TOPIC, _INSTALLED = (
    "alias",
    0,
)  # posted with the supervisor: (topic, 0) by the driver, (topic, pid) by workers that have real Ray


def _tell_workers():
    current = session.current
    if current is None or current.driver is None:
        return
    current.placement.post((_TOPIC, _INSTALLED), True)
    late = sorted(
        pid for _, pid in current.placement.posted(_TOPIC) if pid != _INSTALLED and os.path.exists(f"/proc/{pid}")
    )
    if late:
        import warnings

        warnings.warn(
            f"rayshim.alias.install() was called after init(): the {'worker' if len(late) == 1 else 'workers'} "
            f"{', '.join(map(str, late))} (pid) had already imported real Ray, and code that runs there keeps using it. Call "
            "rayshim.alias.install() before init(), or start the program with `python -m rayshim script.py`.",
            RuntimeWarning,
            stacklevel=3,
        )


class _Finder:
    """Finds `ray` and `ray.*`, and leaves other names to the other finders."""

    def find_spec(self, name, path=None, target=None):
        if name in _STARTERS:
            _pass_on()
        if (
            name in SLOW_LIBRARIES
            and early_zygote.is_waiting()
            and is_being_imported()
            and (spec := PathFinder.find_spec(name)) is not None
        ):
            early_zygote.let_import((name, spec.origin or ""))
        if name.startswith(OURS + ".") and _is_theirs(name.rpartition(".")[0]):
            return _Through().find_spec(name)  # not by the path of its package: it would be a second copy of the module
        if _is_face(name):
            spec = _found(name, path)
            if spec is not None and spec.loader is not None:
                spec.loader = _Naming(spec.loader)  # pyright: ignore[reportAttributeAccessIssue]
            return spec
        if name != THEIRS and not name.startswith(THEIRS + "."):
            return None
        inner = name[len(THEIRS) :]
        from importlib.machinery import ModuleSpec

        found = libraries.spec(inner[1:]) if libraries.preferred(inner[1:]) else None
        if found is not None:
            return found
        for ours in (OURS + inner, OVER + inner):
            if not f"{ours}.".startswith(_TESTS) and _exists(ours):
                return ModuleSpec(name, _Loader(ours), origin=ours)  # pyright: ignore[reportArgumentType]
        found = libraries.spec(inner[1:])
        if found is None and not libraries.installed(inner[1:]):
            raise ModuleNotFoundError(_missing(name, OURS + inner), name=name)
        return found


def is_being_imported():
    """For a finder: whether the module that it is asked for is being imported, and not just looked for."""
    frame = sys._getframe(2)  # of _find_spec, which calls the finders
    return frame.f_back is not None and frame.f_back.f_code.co_name == "_find_and_load_unlocked"


class _Naming:
    """Loads by `loader` a module that programs import as Ray's, and names its classes as Ray does."""

    def __init__(self, loader):
        self.loader = loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        _name_classes(module)


_renamed = []  # the classes that show Ray's names


def show_names():
    """Gives the classes of all loaded modules Ray's names, see `_name_classes`."""
    for module in [module for name, module in list(sys.modules.items()) if _is_face(name)]:
        _name_classes(module)


def show_own_names():
    """Takes back `show_names`."""
    while _renamed:
        cls = _renamed.pop()
        cls.__module__ = codec.named.pop(id(cls))


def _is_face(name):
    """Whether the module is one that programs import as Ray's, and not taken from Ray's package instead."""
    first, _, inner = name.partition(".")
    return first == OURS and inner.partition(".")[0] not in (*_NOT_RAYS, "over") and not libraries.preferred(inner)


def _name_classes(module):
    """Gives the classes that programs import from this module the names that they have on Ray: `type(error).__module__`, tracebacks and pickles show
    them. What is sent to other processes keeps the name in rayshim, because a session may have drivers without the alias."""
    ours = module.__name__
    if not _is_face(ours):
        return  # a module of the installed package under a second name
    theirs = THEIRS + ours[len(OURS) :]
    for name, cls in list(vars(module).items()):
        if isinstance(cls, type) and cls.__module__ == ours and cls.__qualname__ == name:
            codec.named[id(cls)] = ours
            _renamed.append(cls)
            cls.__module__ = theirs
            if theirs != THEIRS:  # which the program may be importing right now
                sys.modules.setdefault(theirs, module)  # pickle and cloudpickle look there


class _Through:
    """Finds `rayshim.rllib` where the program says `from ray import rllib`: `ray` is the module `rayshim`, which has no such part of its own,
    but `ray.rllib` there is. The last finder, for what no other has found."""

    def find_spec(self, name, path=None, target=None):
        for ours in (OVER, OURS):
            if name.startswith(ours + ".") and libraries.spec(name[len(ours) + 1 :]):
                from importlib.machinery import ModuleSpec

                return ModuleSpec(name, _Loader(THEIRS + name[len(ours) :]), origin=name)  # pyright: ignore[reportArgumentType]
        return None


class _Loader:
    """Gives the import system the module of the same name in rayshim."""

    def __init__(self, ours):
        self.ours = ours

    def create_module(self, spec):
        from importlib import import_module

        module = import_module(self.ours)
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.spec  # the import system has just set the spec of the alias
        # What a package has imported of its own: were it imported again under the alias, the import system would put the module in the place
        # of a function of that name, as of ray.util.placement_group.
        inside = self.ours + "."
        if not inside.startswith(OURS):
            return
        for name in [name for name in sys.modules if name.startswith(inside)]:
            if name.split(".")[1] not in _NOT_RAYS:
                sys.modules.setdefault(THEIRS + name[len(OURS) :], sys.modules[name])


def _exists(ours):
    if ours in sys.modules:
        return not _is_theirs(ours)
    from importlib import import_module

    parent = ours.rpartition(".")[0]
    if parent and not _exists(parent):
        return False
    path = getattr(import_module(parent), "__path__", None) if parent else None
    if parent and path is None:
        return False
    return _found(ours, path) is not None


def _found(name, path):
    """The spec that the other finders find."""
    finders = [finder for finder in sys.meta_path if not isinstance(finder, (_Finder, _Asking, _Through))]
    return next((spec for finder in finders if (spec := finder.find_spec(name, path))), None)


def _is_theirs(ours):
    """Whether the loaded module of this name in rayshim is one of the installed package's, see _Through."""
    return getattr(sys.modules.get(ours), "__name__", "").startswith(THEIRS + ".")


def _missing(name, ours):
    from importlib import import_module
    from pkgutil import iter_modules

    parent = ours.rpartition(".")[0]
    while f"{parent}.".startswith(_TESTS) or not _exists(parent):
        parent = parent.rpartition(".")[0]
    package = import_module(parent)
    inside = sorted(m.name for m in iter_modules(getattr(package, "__path__", ())) if m.name not in _NOT_RAYS)
    shown_name = f"{THEIRS}{parent[len(OURS) :]}"
    return (
        f"No module named '{name}': rayshim stands in for Ray here and does not provide it. "
        f"It provides these modules of {shown_name}: {', '.join(inside) if inside else 'none'}."
    )


_STARTERS = (
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.forkserver",
)  # each starts interpreters with a program text, -c
_IN_CHILD = (
    "import sys; sys.path.append({root!r}); from rayshim import alias; sys.path.remove({root!r}); alias.install(); "
)


def _pass_on():
    """Makes the interpreters that `multiprocessing` starts install the alias before they import anything of the program."""
    from multiprocessing import util

    start = util.spawnv_passfds
    if getattr(start, "has_alias", False):
        return

    def spawnv_passfds(path, args, passfds):
        return start(path, [_with_alias(argument) for argument in args], passfds)

    spawnv_passfds.has_alias = True
    util.spawnv_passfds = spawnv_passfds


def _with_alias(argument):
    # From Python 3.14 on, the server's text begins with `import sys; `.
    if not isinstance(argument, str) or not argument.removeprefix("import sys; ").startswith(
        tuple(f"from {name} import " for name in ("multiprocessing.spawn", _STARTERS[1]))
    ):
        return argument
    return (
        _IN_CHILD.format(root=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))) + argument
    )


_TESTS = f"{OURS}.tests."  # Ray's package has no module of this name; its repository has
_NOT_RAYS = (
    "tests",
    "__main__",
    "alias",
    "as_ray",
    "command_path",
    "cli",
    "api",
    "calls",
    "worker",
    "placement",
    "environments",
    "resources",
    "ordering",
    "recording",
    "journal",
    "timing",
    "errors",
    "session",
    "jobs",
    "fragments",
)
