"""Runs a program on a real Ray cluster, unchanged, if `init` gets the address of one.

Objects that the program has from rayshim by then become Ray's: the functions and classes that it has decorated, at their first use; the names in
rayshim's modules; what the program's modules have imported from these by name; the exceptions, which are caught under rayshim's names, too.
`shutdown` undoes all of it. In the cluster's workers a setup hook does the same, because the program's functions may refer to rayshim there.
"""

import atexit
import importlib
import logging
import os
import sys
import types

from reactor import codec

from rayshim.as_ray import alias
from rayshim.calls.actor_class import ActorClass
from rayshim.calls.function import RemoteFunction
from rayshim.errors.user_code import at, calling

active = False
_undo = []  # functions that take back what was done, the last one first

#: Functions that Ray does not have: their names, and the advice in the error.
_OWN = ("digest", "report", "graph")
_DECORATED = ("ActorClass", "RemoteFunction")  # they go on as `_take_decorated` has them
_FACES = (  # modules under Ray's own names; others that are loaded later are their real namesakes only under the alias
    "", "exceptions", "actor", "runtime_context", "runtime_env", "cloudpickle", "util", "util.actor_pool", "util.placement_group",
    "util.queue", "util.scheduling_strategies", "util.state", "util.state.common", "util.state.exception", "util.metrics", "util.serialization",
    "util.multiprocessing", "util.annotations", "experimental", "experimental.tqdm_ray",
)  # fmt: skip


def cluster_at(address, directory=None):
    """The address of the real Ray cluster that `address` means, or None: nobody answers there. "auto" is the one that `ray start` has started last on
    this machine, of this temporary directory. ConnectionError: real Ray is not installed."""
    if address == "auto":
        address = _started_here(directory)
        return address if address and real() is not None and _answers(address) else None
    if real() is None:
        raise ConnectionError(
            f"Failed to connect to Ray cluster at {address}: no session of rayshim's on this machine has that address, and real Ray, which could use "
            f"another machine's, is not installed ({at('init')}: `rayshim start --head` starts one here; pip install 'rayshim[ray]' for the other)"
        )
    return address if _answers(address) else None


def real():
    """The specification of real Ray's package, or None: it is not installed."""
    from importlib.machinery import PathFinder

    paths = [path for path in sys.path if not path.endswith(os.path.join("rayshim", "as_ray", "path"))]
    found = PathFinder.find_spec("ray", paths)
    return found if found is not None and found.submodule_search_locations else None


def _started_here(directory):
    """The address that `ray start` has noted, or None."""
    try:
        with open(
            os.path.join(directory or os.environ.get("RAY_TMPDIR") or "/tmp", "ray", "ray_current_cluster")
        ) as file:
            return file.read().strip()
    except OSError:
        return None


def _answers(address):
    import socket

    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port.partition("/")[0])), timeout=5).close()
    except (OSError, ValueError):
        return False
    return True


def refuse_own(given):
    """ValueError for arguments of `init` that only rayshim has. `given`: {name: value} of those that are not None."""
    from rayshim.api.arguments import OWN_OF_SESSION

    for name in OWN_OF_SESSION:
        if name in given:
            raise ValueError(
                f"init({name}=): only rayshim has that, and the address is that of a real Ray cluster. Leave one of the two out (at {calling()})"
            )


def begin(address, given):
    """Connects this program to the cluster, and gives what Ray's `init` gives. `given`: the arguments of `init` besides the address."""
    take_over()
    try:
        env = dict(given.get("runtime_env") or {})
        hook = env.get("worker_process_setup_hook")
        env["worker_process_setup_hook"] = _with_hook(hook) if hook else f"{__name__}.take_over"
        return sys.modules["ray"].init(address, **{**given, "runtime_env": env})
    except BaseException:
        give_back()
        raise


def _with_hook(hook):
    name = __name__

    def both():
        from rayshim.environments.checking import imported

        imported(f"{name}.take_over")()
        (imported(hook) if isinstance(hook, str) else hook)()

    return both


def end(**how):
    """`shutdown`: leaves the cluster; rayshim is itself again."""
    try:
        sys.modules["ray"].shutdown(**how)
    finally:
        give_back()


def take_over():
    """Has everything of rayshim in this process mean real Ray."""
    global active
    if active:
        return
    logger = logging.getLogger("ray")
    handlers, propagates = list(logger.handlers), logger.propagate
    _undo.append(lambda: (setattr(logger, "handlers", handlers), setattr(logger, "propagate", propagates)))
    faces = list(_faces())
    ray = _import_real()
    active = True
    _take_decorated(ray)
    pairs = list(_pairs(faces))
    for ours, theirs in pairs:
        if ours.__name__ == "rayshim.exceptions":
            _take_exceptions(ours, theirs)
    taken = {}
    for ours, theirs in pairs:
        _take_names(ours, theirs, taken)
    _take_imported(taken)
    api = sys.modules["rayshim.api"]
    for name in api.__all__:
        value = getattr(api, name)
        if isinstance(value, types.FunctionType) and name not in ("init", "shutdown"):
            _take_function(value, "" if name in _OWN else f"ray.{name}" if hasattr(ray, name) else "")


def give_back():
    """Undoes `take_over`."""
    global active
    while _undo:
        _undo.pop()()
    active = False


def _import_real():
    """Real Ray's package, under its own name. Its modules are kept when they have to give way again: they can be loaded only once."""
    there = sys.modules.get("ray")
    if there is not None and there is not sys.modules["rayshim"]:
        return there
    was_aliased = alias.is_installed()
    aliased = _modules_of_ray()
    finders = [finder for finder in sys.meta_path if type(finder).__module__ == alias.__name__]
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in finders]
    sys.path[:] = [path for path in sys.path if not path.endswith(os.path.join("rayshim", "as_ray", "path"))]
    again = bool(_real)
    sys.modules.update(_real)
    ray = importlib.import_module("ray")
    if again:
        atexit.register(ray.shutdown, _exiting_interpreter=True)

    def restore():
        atexit.unregister(ray.shutdown)
        _real.update(_modules_of_ray())
        sys.modules.update(aliased)
        sys.meta_path[:0] = finders

    if was_aliased:
        alias.show_own_names()  # Ray's own are real Ray's classes from here on
        _undo.append(alias.show_names)
        _undo.append(restore)
    return ray


_real = {}  # its modules, by name, while the alias has their names


def _modules_of_ray():
    """The modules that are there under Ray's name, taken away."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name == "ray" or name.startswith("ray.")}


def _faces():
    """(name, module of rayshim's)"""
    for name in _FACES:
        try:
            yield name, importlib.import_module(f"rayshim.{name}".rstrip("."))
        except ImportError:
            continue  # it needs a package that is not installed


def _pairs(faces):
    """(module of rayshim's, its real namesake)"""
    for name, ours in faces:
        try:
            yield ours, importlib.import_module(f"ray.{name}".rstrip("."))
        except ImportError:
            continue


def _set(holder, name, value):
    had = vars(holder).get(name, _undo)
    setattr(holder, name, value)
    _undo.append(lambda: setattr(holder, name, had) if had is not _undo else delattr(holder, name))


def _take_names(ours, theirs, taken):
    """`taken` gets what the names were and are: {id: (ours, theirs)}."""
    for name, value in list(vars(ours).items()):
        if name.startswith("_") or isinstance(value, types.ModuleType) or not hasattr(theirs, name):
            continue
        if isinstance(value, types.FunctionType) and value.__name__ in ("init", "shutdown", "alone"):
            continue
        their = getattr(theirs, name)
        if _is_ours(value):
            taken.setdefault(id(value), (value, their))
            if isinstance(value, types.FunctionType):
                _take_function(value, f"{theirs.__name__}.{name}")
            elif isinstance(value, type) and not issubclass(value, BaseException) and name not in _DECORATED:
                _take_class(value, their)
        _set(ours, name, their)
    for name, their in list(vars(theirs).items()):  # those that ours would import at their first use
        if not name.startswith("_") and name not in vars(ours) and not isinstance(their, types.ModuleType):
            _set(ours, name, their)


def _is_ours(value):
    """Whether it is a function (also one with a cache) or a class of rayshim's, and not what a module has imported, as typing.TypeVar."""
    if isinstance(value, type):
        return codec.module_of(value).startswith("rayshim")
    return callable(value) and (getattr(value, "__module__", None) or "").startswith("rayshim")


def _take_imported(taken):
    """Replaces the names that the program's modules have imported from here: they get Ray's, which `isinstance` and `except` need."""
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] in ("rayshim", "reactor", "ray") or not isinstance(module, types.ModuleType):
            continue
        for name, value in list(vars(module).items()):
            if id(value) in taken:  # which keeps ours, so no other object has its id
                _set(module, name, taken[id(value)][1])


def _take_class(own, their):
    """A class that the program may have imported by name: what it makes is real Ray's."""

    def new(cls, *args, **kwargs):
        return their(*args, **kwargs) if cls is own else plain(cls, *args, **kwargs)

    inherited = own.__new__

    def plain(cls, *args, **kwargs):
        return inherited(cls) if inherited is object.__new__ else inherited(cls, *args, **kwargs)

    try:
        own.__new__ = new
    except TypeError:
        return  # the core's own
    _undo.append(lambda: setattr(own, "__new__", plain))  # Python does not get over the removal of `__new__`


def _take_function(function, path):
    """A function that the program may have imported by name: from now on it is real Ray's of that path; "": it is refused."""
    if function.__code__.co_freevars:
        return
    if path:
        module, _, name = path.rpartition(".")
        body = f"    from {module} import {name} as real\n    return real(*args, **kwargs)"
    else:
        message = f"{function.__name__}: only rayshim has that, and this program runs on a real Ray cluster"
        body = f"    raise RuntimeError({message!r})"
    namespace = {}
    exec(f"def {function.__name__}(*args, **kwargs):\n{body}", namespace)
    before = function.__code__, function.__defaults__, function.__kwdefaults__

    def restore():
        function.__code__, function.__defaults__, function.__kwdefaults__ = before

    function.__code__ = namespace[function.__name__].__code__
    function.__defaults__ = function.__kwdefaults__ = None
    _undo.append(restore)


def _take_exceptions(ours, theirs):
    """Ray's exceptions are caught by rayshim's of the same name: those get to be their bases."""
    pairs = [
        (value, getattr(theirs, name))
        for name, value in vars(ours).items()
        if isinstance(value, type)
        and issubclass(value, BaseException)
        and isinstance(getattr(theirs, name, None), type)
    ]
    for own, their in sorted(pairs, key=lambda pair: len(pair[1].__mro__)):
        if issubclass(their, own):
            continue
        before = their.__bases__
        plain = [base for base in before if base not in (Exception, BaseException)]
        try:
            their.__bases__ = (*plain, own)
        except TypeError:
            continue  # its bases lie in another order than ours: it is caught under Ray's own name
        _undo.append(lambda their=their, before=before: setattr(their, "__bases__", before))


def _take_decorated(ray):
    """Functions and classes that rayshim's `remote` has decorated become Ray's at their first use."""

    def as_rays(decorated, target):
        found = decorated.__dict__.get("_rays")
        if found is None:
            options = {name: value for name, value in decorated._options.items() if value is not None}
            remote = ray.remote(**options)(target) if options else ray.remote(target)
            found = decorated.__dict__["_rays"] = remote
            _undo.append(lambda: decorated.__dict__.pop("_rays", None))
        return found

    def function(self):
        return as_rays(self, self._function)

    def actor_class(self):
        for name in dir(self._cls):
            method = getattr(self._cls, name, None)
            options = getattr(method, "__ray_method_options__", None)
            if options:
                ray.method(**{key: value for key, value in options.items() if value is not None})(method)
        return as_rays(self, self._cls)

    def create(self, args, kwargs, options):
        changed = {name: value for name, value in options.items() if self._options.get(name) != value}
        rays_class = actor_class(self)
        return (rays_class.options(**changed) if changed else rays_class).remote(*args, **kwargs)

    def bind_class(self, args, kwargs, options):
        changed = {name: value for name, value in options.items() if self._options.get(name) != value}
        rays_class = actor_class(self)
        return (rays_class.options(**changed) if changed else rays_class).bind(*args, **kwargs)

    for name, method in (
        ("remote", lambda self, *args, **kwargs: function(self).remote(*args, **kwargs)),
        ("options", lambda self, **given: function(self).options(**given)),
        ("bind", lambda self, *args, **kwargs: function(self).bind(*args, **kwargs)),
    ):
        _set(RemoteFunction, name, method)
    _set(ActorClass, "_create", create)
    _set(ActorClass, "_bind", bind_class)
