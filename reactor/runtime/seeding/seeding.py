"""Seeds the random state of workers. Otherwise all forked workers would draw the same numbers, which would be a silent error.

A generator that is imported later than its actor or task has begun is seeded at the end of its import, with the same bytes: its numbers do not depend on
who imported it before.
"""

import hashlib
import os
import random
import sys

from reactor.runtime.seeding.unseeded import Unseeded


def _seed_numpy(entropy):
    words = [int.from_bytes(entropy[i : i + 4], "little") for i in range(0, 32, 4)]
    sys.modules["numpy.random"].seed(words)


def _seed_torch(entropy):
    sys.modules["torch"].manual_seed(int.from_bytes(entropy[:8], "little"))


def _seed_sympy(entropy):
    for name in ("rng", "_assumptions_rng"):
        getattr(sys.modules["sympy.core.random"], name).seed(entropy)


#: {module that has a global generator: function that seeds it with 32 bytes}. They are imported by the program, or not at all.
GENERATORS = {"numpy.random": _seed_numpy, "torch": _seed_torch, "sympy.core.random": _seed_sympy}


def entropy_of(seed, tag):
    """The 32 bytes with which the generators of the actor or task named `tag` (str) are seeded. If `seed` is None, they come from the operating
    system, otherwise they depend only on `seed` and `tag`."""
    return os.urandom(32) if seed is None else hashlib.sha256(f"{seed}/{tag}".encode()).digest()


def reseed(seed, tag):
    """Seeds `random` and all GENERATORS that are loaded for the worker, actor or task named `tag`, see `entropy_of`; with a `seed` also those that
    are imported later. Returns the bytes used."""
    entropy = entropy_of(seed, tag)
    random.seed(entropy)
    for name, seed_it in GENERATORS.items():
        if is_loaded(name):
            _seed(seed_it, entropy)
    if seed is not None:
        _imports.watch(entropy)
    return entropy


def seed_imports(seed, tag):
    """A process whose random state is the program's own: only generators that are imported from now on are seeded as for `tag`."""
    _imports.watch(entropy_of(seed, tag))


def choose_by(entropy_here):
    """A process of several actors: a generator that is imported here is seeded with `entropy_here()`, or not at all if that is None."""
    _imports.entropy_here, _imports.of_one = entropy_here, False


def forget(entropy):
    """The actor or task that was seeded with these bytes in a process of several has ended."""
    _unseeded.forget(entropy)


def stop():
    """Imports in this process seed nothing from now on, and generators without a seed begin with numbers of the operating system."""
    _imports.stop()
    _unseeded.end()


def is_loaded(name):
    """Whether a module is completely imported. This runs in a thread that may have been stopped inside an import, so the check itself must not import
    anything. (Some modules import others when an attribute is read; importlib then loses track of the thread's import.)"""
    return name in sys.modules and not is_being_imported(name)


def is_being_imported(name):
    return getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False)


def _seed(seed_it, entropy):
    try:
        seed_it(entropy)
    except (AttributeError, KeyError):
        pass  # a module of the program's own with that name


class _Imports:
    """A finder that seeds each of GENERATORS at the end of its first import in this process. It finds nothing itself."""

    def __init__(self):
        self._waiting = set()  # of GENERATORS, those that this process has not imported
        self._entropy = b""
        self._process = 0
        self.entropy_here = lambda: self._entropy
        self.of_one = True  # whether the process runs one actor or task at a time

    def watch(self, entropy):
        if self.of_one and entropy != self._entropy:
            _unseeded.forget(self._entropy)
        self._entropy, self._process = entropy, os.getpid()
        _unseeded.begin(is_loaded("numpy.random"))
        self._waiting = {name for name in GENERATORS if not is_loaded(name)}
        if self._waiting and self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def stop(self):
        self._waiting = set()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name, path=None, target=None):
        if name not in self._waiting:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self._loaded)
                return spec
        return None

    def _loaded(self, name):
        watched = name in self._waiting
        self._waiting.discard(name)
        if not self._waiting:
            self.stop()
        entropy = self.entropy_of_process() if watched else None
        if entropy is not None:
            _seed(GENERATORS[name], entropy)
        if name == "numpy.random":
            _unseeded.begin(True)

    def entropy_of_process(self):
        """`entropy_here()`; None in a forked child of the program, which has another state than its parent: there all is seeded from the operating
        system, as `random` is."""
        return self.entropy_here() if os.getpid() == self._process else None


class _Loader:
    """The loader of one import: `loader`, and `loaded(name of the module)` after it. The module itself gets `loader`."""

    def __init__(self, loader, loaded):
        self._loader, self._loaded = loader, loaded

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._loaded(module.__spec__.name)


_imports = _Imports()
_unseeded = Unseeded(_imports.entropy_of_process)
