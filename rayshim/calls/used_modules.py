"""Slow modules that the program's code for workers uses. The zygote imports them once, before it forks the workers of an actor or a task. So the workers
do not have to import them.

A worker needs them when it reads the class or the function, because names from an installed package are pickled by name. The first optimizer of torch
imports torch._dynamo, with some 800 modules, which takes most of a second of processor time.
"""

import functools
import sys
import types

from reactor import code

from rayshim.errors.user_code import is_programs
from rayshim.session import session

#: Packages that take long to import, and whose import neither opens a device, such as a GPU, nor starts threads which a fork would lose.
PACKAGES = {
    "ale_py",
    "cv2",
    "cvxpy",
    "gym",
    "gymnasium",
    "h5py",
    "imageio",
    "joblib",
    "lightgbm",
    "matplotlib",
    "minigrid",
    "networkx",
    "nltk",
    "numba",
    "numpy",
    "optuna",
    "pandas",
    "pettingzoo",
    "PIL",
    "sb3_contrib",
    "scipy",
    "seaborn",
    "shap",
    "skimage",
    "sklearn",
    "stable_baselines3",
    "statsmodels",
    "supersuit",
    "sympy",
    "torch",
    "torchvision",
    "xarray",
    "xgboost",
}
_OF_RAYS_LIBRARIES = ("RAY_", "TUNE_", "TRAIN_", "RLLIB_", "AWS_", "PL_DISABLE_FORK")
_MOST = 2000  # functions and classes that are looked at


def slow(what):
    """The modules that the function or class `what` uses, as `reactor.runtime.spawning.preloading` takes them: those of PACKAGES that it names, itself or in
    code of the program that it names, and torch._dynamo if that mentions torch.optim or one of its classes."""
    found = _Found()
    rest, seen = [what], set()
    while rest and len(seen) < _MOST:
        value = rest.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        try:
            rest += found.look_at(value)
        except Exception:  # noqa: S110
            pass  # an object of the program that does not let itself be looked at
    makes_optimizers = found.optimizers and found.optim is not None
    return (*found.modules.items(), "torch._dynamo") if makes_optimizers else tuple(found.modules.items())


def may_preload(env):
    """Whether the zygote may import modules for workers with this runtime environment: no import is to read a variable before the environment sets
    it. Those of Ray's own libraries, which Tune gives to each trial, concern no module of PACKAGES, and the zygote has those of the session."""
    of_zygote = session.current.settings.of_zygote.given
    return all(
        name.startswith(_OF_RAYS_LIBRARIES) or of_zygote.get(name) == value
        for name, value in (env.get("env_vars") or {}).items()
    )


def prepare(function, env):
    """Has the zygote import them for the workers of a function, which have this runtime environment."""
    s = session.current
    if s.control and may_preload(env) and (modules := slow(function)):
        s.control.tell("preload", modules)


class _Found:
    """The modules that were found: `modules`, {name: file}; `optimizers`, whether optimizers of torch are mentioned. `optim`: torch.optim, None if it is not loaded."""

    def __init__(self):
        self.modules = {}
        self.optimizers = False
        self.optim = sys.modules.get("torch.optim")

    def look_at(self, value):
        """Notes what `value` tells, and gives the values that it leads to. By its type: a proxy would load what it stands for, to tell its class."""
        kind = type(value)
        if issubclass(kind, (functools.partial, functools.partialmethod)):
            return [value.func]
        if issubclass(kind, (staticmethod, classmethod)):
            return [value.__func__]
        if issubclass(kind, property):
            return [value.fget]
        if issubclass(kind, types.ModuleType):
            self._module(value)
        elif issubclass(kind, type):
            if not is_programs(_file_of(value.__module__)):
                self._module_named(value.__module__)
                self.optimizers |= self.optim is not None and issubclass(value, self.optim.Optimizer)
            return [member for cls in value.__mro__ for member in tuple(vars(cls).values())]
        elif kind is types.FunctionType:
            if not is_programs(value.__code__.co_filename):
                self._module_named(value.__module__)
                return _given(value)
            names = set(code.names(value.__code__))
            self._names(names)
            return _used(value, names)
        return []

    def _names(self, names):
        """Names in code of the program, among them those of modules that it imports itself."""
        for name in names:
            self.optimizers |= name == "optim" or name.startswith("torch.optim")
            if name.partition(".")[0] in PACKAGES:
                self._module_named(name)

    def _module_named(self, name):
        module = sys.modules.get(name)
        if isinstance(module, types.ModuleType):
            self._module(module)

    def _module(self, module):
        name = module.__name__
        self.optimizers |= name.startswith("torch.optim")
        if name.partition(".")[0] in PACKAGES and name in sys.modules:
            self.modules[name] = getattr(module.__spec__, "origin", None) or ""


def _used(function, names):
    """The values that a function's code names."""
    globals_ = function.__globals__
    used = [globals_[name] for name in names if name in globals_]
    used += [
        vars(module)[name] for module in used if _is_module_of_program(module) for name in names if name in vars(module)
    ]
    return [*used, *_given(function)]


def _given(function):
    """The values that were given to a function when it was made."""
    return [*code.closure(function).values(), *(function.__defaults__ or ()), getattr(function, "__wrapped__", None)]


def _is_module_of_program(value):
    return issubclass(type(value), types.ModuleType) and is_programs(getattr(value, "__file__", None) or "")


def _file_of(module):
    return getattr(sys.modules.get(module), "__file__", None) or ""
