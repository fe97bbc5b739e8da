"""Separate state for several actors in one process: random state, classes sent by value, environment variables and working directory, and numbers
of threads."""

import os
import random
import sys
import weakref
from collections.abc import Callable
from typing import NamedTuple

from reactor import _core
from reactor.runtime.processes import library_threads
from reactor.runtime.seeding import random_memory
from reactor.runtime.seeding.seeding import (
    GENERATORS,
    choose_by,
    entropy_of,
    forget,
    is_being_imported,
    is_loaded,
    reseed,
)


class _Module(NamedTuple):
    """One random generator, or the surroundings: how to find it, how to exchange its state if its address is unknown, and how to begin a state with
    32 bytes."""

    name: str
    loaded: Callable
    memory: Callable
    read: Callable
    write: Callable
    begin: Callable


def _generators():
    """The global random generators whose states are separate for each actor."""
    m = sys.modules

    def of_sympy():
        return [m["sympy.core.random"].rng, m["sympy.core.random"]._assumptions_rng]

    return [
        _Module(
            "random",
            lambda: True,
            lambda: random_memory.of_random(random._inst),
            random.getstate,
            random.setstate,
            random.seed,
        ),
        _Module(
            "numpy.random",
            lambda: is_loaded("numpy.random"),
            random_memory.of_numpy,
            lambda: m["numpy"].random.get_state(),
            lambda state: m["numpy"].random.set_state(state),
            GENERATORS["numpy.random"],
        ),
        _Module(
            "torch",
            lambda: is_loaded("torch") and "default_generator" in vars(m["torch"]),
            random_memory.of_torch,
            lambda: m["torch"].get_rng_state(),
            lambda state: m["torch"].set_rng_state(state),
            GENERATORS["torch"],
        ),
        _Module(
            "sympy.core.random",
            lambda: is_loaded("sympy.core.random") and "_assumptions_rng" in vars(m["sympy.core.random"]),
            lambda: random_memory.of_both(*of_sympy()),
            lambda: [generator.getstate() for generator in of_sympy()],
            lambda states: [generator.setstate(state) for generator, state in zip(of_sympy(), states)],
            GENERATORS["sympy.core.random"],
        ),
    ]


# cloudpickle's table of classes sent by value. Each actor has its own, so that actors do not share class attributes.
_CLASSES = "_DYNAMIC_CLASS_TRACKER_BY_ID"


class ActorStates:
    """Separate states of `random`, `numpy.random`, `torch`, and of classes sent by value, for the actors of one process. The core exchanges the states
    whose addresses are known (reactor/native/worker/actor_states.h), and calls this class for the others. `current`: the running actor, 0: none.

    A generator that was imported after an actor began is seeded for that actor as at its beginning, when the actor has its next turn."""

    def __init__(self, current=0):
        import numpy.random  # noqa: F401  else imported when it is first used

        self._missing = _generators()
        self._slow = []  # exchanged by their functions
        self._found = []  # all that are loaded
        self._known = {}  # actor -> names of those that it has a state of
        self._saved = {}  # (actor, name) -> state
        self._entropy = {}  # actor -> bytes that its generators are seeded with; the driver's come from the operating system
        self._threads = None  # addresses of the functions that set the numbers of threads that are kept apart
        self._find(current)
        choose_by(lambda: self._entropy.get(_core.entered_state()))
        from cloudpickle import cloudpickle

        if isinstance(getattr(cloudpickle, _CLASSES, None), weakref.WeakValueDictionary):
            _core.exchange_variable(vars(cloudpickle), _CLASSES, weakref.WeakValueDictionary)  # pyright: ignore[reportArgumentType]

    def keep_surroundings(self):
        """From now on, each actor has its own environment variables and working directory. Only for packed placement: in inline placement they are the
        driver's, too."""
        from reactor.runtime.worker.surroundings import Surroundings

        own = Surroundings()
        self._missing.append(
            _Module("surroundings", lambda: own.changed, lambda: None, own.read, own.write, lambda _: own.begin())
        )

    def keep_threads(self):
        """From now on, each actor has its own numbers of threads for numeric libraries, and its own value of the environment variable. Only for inline
        placement: in packed placement a method may run in another thread each time, and some libraries store the number per thread."""
        self._threads = set()
        _core.exchange_environment(os.environ._data, os.environ.encodekey(library_threads.OPENMP))  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue]
        self._find_libraries()

    def _find_libraries(self):
        for library in library_threads.libraries():
            get, put = library.addresses
            # What a stronger variable says is the same for all.
            if put not in self._threads and not any(
                os.environ.get(name) for name in library.variables if name != library_threads.OPENMP
            ):
                self._threads.add(put)
                _core.exchange_threads(get, put, min(library.most, library.default()), library.of_thread)

    def switched(self, outer, inner):
        """Hook of the core: actor `inner` runs after `outer` (0: none). With FORGET, actor `outer` has ended. With FRESH, actor `outer` runs and has no
        state yet for a generator that was imported since."""
        if inner == _core.FORGET:
            for name in self._known.pop(outer, ()):
                self._saved.pop((outer, name), None)
            if (entropy := self._entropy.pop(outer, None)) is not None:
                forget(entropy)
            return
        if inner == _core.FRESH:
            return self._begin(outer)
        self._find(outer)
        for module in self._slow:
            if outer:
                self._saved[outer, module.name] = module.read()
            if (inner, module.name) in self._saved:
                module.write(self._saved[inner, module.name])
            elif (
                inner in self._known
            ):  # only this one: the states of those that are exchanged as memory are still the outer actor's
                module.begin(self._entropy_of(inner))

    def seed(self, actor, seed, tag):
        """Begins the states of an actor, or of a task, that runs and is named `tag`; see reactor.runtime.seeding."""
        self._entropy[actor] = reseed(seed, tag)
        self._known[actor] = {
            module.name for module in self._found if module.name == "random" or module.name in GENERATORS
        }
        self._begin(actor)

    def read(self, current):
        """The current states of all generators, for `write`, while actor `current` runs."""
        self._find(current)
        return current, self._entropy.get(current), [(module, module.read()) for module in self._found]

    def write(self, states):
        """Gives the running actor the states of `read` again; those of generators that were imported meanwhile begin."""
        current, entropy, found = states
        self._find(current)
        self._entropy[current] = entropy
        for module, state in found:
            module.write(state)
        self._known[current] = {module.name for module, _ in found}
        self._begin(current)

    def _begin(self, actor):
        known = self._known.setdefault(actor, set())
        for module in self._found:
            if module.name not in known:
                module.begin(self._entropy_of(actor))
                known.add(module.name)

    def _entropy_of(self, actor):
        return self._entropy.get(actor) or entropy_of(None, "")

    def _find(self, current):
        """Searches for generators that were imported since the last search, by the actor `current` or before the first actor."""
        for module in [module for module in self._missing if module.loaded()]:
            self._missing.remove(module)
            self._found.append(module)
            places = module.memory() if os.environ.get("REACTOR_RANDOM_STATES") != "functions" else None
            if places is None:
                self._slow.append(module)
            else:
                _core.exchange_memory(places, vars(random._inst) if module.name == "random" else None)
            if current:
                self._known.setdefault(current, set()).add(module.name)
        if self._threads is not None:
            self._find_libraries()
        # An import that ends may be seen by nothing else.
        _core.always_exchange(bool(self._slow) or any(is_being_imported(module.name) for module in self._missing))
