"""What each of several actors in one process has of its own, as if it had a process of its own."""

import os
import random
import sys
import weakref
from collections.abc import Callable
from typing import NamedTuple

from reactor import _core
from reactor.runtime import random_memory, threads
from reactor.runtime.seeding import reseed

FORGET, FRESH = -1, -2


class _Module(NamedTuple):
    """One generator: how to find it, exchange it where its memory is not known, and begin it as its import does."""

    name: str
    loaded: Callable
    memory: Callable
    read: Callable
    write: Callable
    begin: Callable


def _generators():
    """The global generators whose states are kept apart."""
    m = sys.modules
    return [
        _Module("random", lambda: True, random_memory.of_random, random.getstate, random.setstate, random.seed),
        _Module(
            "numpy",
            lambda: _is_there("numpy.random"),
            random_memory.of_numpy,
            lambda: m["numpy"].random.get_state(),
            lambda state: m["numpy"].random.set_state(state),
            lambda: m["numpy"].random.seed(),
        ),
        _Module(
            "torch",
            lambda: _is_there("torch") and "default_generator" in vars(m["torch"]),
            random_memory.of_torch,
            lambda: m["torch"].get_rng_state(),
            lambda state: m["torch"].set_rng_state(state),
            lambda: m["torch"].default_generator.seed(),
        ),
    ]


def _is_there(name):
    """Whether a module is imported, to its end. This is asked in a thread that may have been stopped amid an import: nothing may be
    imported by the question, as some modules do that are asked for an attribute (importlib then loses what the thread waits for)."""
    return name in sys.modules and not _being_imported(name)


def _being_imported(name):
    return getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False)


# Where cloudpickle has the classes that came by value: an actor's own, so that a class attribute is no other actor's.
_CLASSES = "_DYNAMIC_CLASS_TRACKER_BY_ID"


class ActorStates:
    """Keeps `random`, `numpy.random` and `torch`, and the classes that came by value, apart for the actors of one process. The
    core exchanges what it can (reactor/_core/actor_states.h) and calls this for the rest. `current`: who has its turn; actors
    made later are then born with all that it has imported. 0: nobody."""

    def __init__(self, current=0):
        import numpy.random  # noqa: F401  else imported when it is first used

        self._missing = _generators()
        self._slow = []  # exchanged by their functions
        self._found = []  # all that are loaded
        self._known = {}  # actor -> names of those that it has a state of
        self._saved = {}  # (actor, name) -> state
        self._threads = None  # addresses of the functions that set the numbers of threads that are kept apart
        self._find(current)
        self._born = None if current else {module.name for module in self._found}
        from cloudpickle import cloudpickle

        if isinstance(getattr(cloudpickle, _CLASSES, None), weakref.WeakValueDictionary):
            _core.exchange_variable(vars(cloudpickle), _CLASSES, weakref.WeakValueDictionary)  # pyright: ignore[reportArgumentType]

    def keep_threads(self):
        """From now on each actor has its own numbers of threads, and its own value of the variable that says them. (In inline placement:
        elsewhere a method may run in another thread each time, of which some libraries keep the number.)"""
        self._threads = set()
        _core.exchange_environment(os.environ._data, os.environ.encodekey(threads.OPENMP))  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue]
        self._find_libraries()

    def _find_libraries(self):
        for library in threads.libraries():
            get, put = library.addresses
            # What a stronger variable says is the same for all.
            if put not in self._threads and not any(
                os.environ.get(name) for name in library.variables if name != threads.OPENMP
            ):
                self._threads.add(put)
                _core.exchange_threads(get, put, min(library.most, library.default()))

    def switched(self, outer, inner):
        """The core's hook. Actor `inner` has its turn after `outer` (0: nobody), or `outer` is gone (FORGET), or has its turn and no
        state yet of something that was imported meanwhile (FRESH)."""
        if inner == FORGET:
            for name in self._known.pop(outer, ()):
                self._saved.pop((outer, name), None)
            return
        if inner == FRESH:
            return self._begin(outer)
        self._find(outer)
        for module in self._slow:
            if outer:
                self._saved[outer, module.name] = module.read()
            if (inner, module.name) in self._saved:
                module.write(self._saved[inner, module.name])
            elif inner in self._known:
                self._known[inner].discard(module.name)
                self._begin(inner)

    def seed(self, actor, seed, tag):
        """The actor, whose turn it is, begins: what this process was born with is seeded as in a process of the actor's own, what was
        imported later begins as it does at its import."""
        reseed(seed, tag)
        self._known[actor] = {module.name for module in self._found} if self._born is None else set(self._born)
        self._begin(actor)

    def read(self, current):
        """What `write` takes: the states of all generators as they are now, while `current` has its turn."""
        self._find(current)
        return [(module, module.read()) for module in self._found]

    def write(self, states):
        for module, state in states:
            module.write(state)

    def _begin(self, actor):
        known = self._known.setdefault(actor, set())
        for module in self._found:
            if module.name not in known:
                module.begin()
                known.add(module.name)

    def _find(self, current):
        """What was imported since the last look was imported by the actor `current`, or before all."""
        for module in [module for module in self._missing if module.loaded()]:
            self._missing.remove(module)
            self._found.append(module)
            places = module.memory() if os.environ.get("REACTOR_RANDOM_STATES") != "functions" else None
            if places is None:
                self._slow.append(module)
            else:
                _core.exchange_memory(places, random._inst if module.name == "random" else None)
            if current:
                self._known.setdefault(current, set()).add(module.name)
        if self._threads is not None:
            self._find_libraries()
        # An import that ends may be seen by nothing else.
        _core.always_exchange(bool(self._slow) or any(_being_imported(module.name) for module in self._missing))
