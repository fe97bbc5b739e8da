"""What each of several actors in one process has of its own, as if it had a process of its own."""

import ctypes
import random
import sys
import weakref

from reactor import _core
from reactor.runtime import random_memory
from reactor.runtime.seeding import reseed

FORGET, FRESH = -1, -2


class _Module:
    """One generator: how to find it, exchange it where its memory is not known, and begin it as its import does."""

    def __init__(self, name, loaded, memory, read, write, begin):
        self.name, self.loaded, self.memory, self.read, self.write, self.begin = name, loaded, memory, read, write, begin
        self._places = ()  # not looked for yet

    def state(self):
        """What `put` takes: of its memory if that is known, which is quicker by far."""
        if self._places == ():
            self._places = self.memory()
        if self._places is None:
            return self.read()
        gauss = random._inst.gauss_next if self.name == "random" else None
        return gauss, [ctypes.string_at(at, size) for at, size in self._places]

    def put(self, state):
        if self._places is None:
            return self.write(state)
        gauss, parts = state
        for (at, _), part in zip(self._places, parts):
            ctypes.memmove(at, part, len(part))
        if self.name == "random":
            random._inst.gauss_next = gauss


def generators():
    """The global generators whose states are kept apart."""
    m = sys.modules
    return [
        _Module("random", lambda: True, random_memory.of_random, random.getstate, random.setstate, random.seed),
        _Module("numpy", lambda: hasattr(m.get("numpy"), "random") and "numpy.random.mtrand" in m, random_memory.of_numpy,
                lambda: m["numpy"].random.get_state(), lambda state: m["numpy"].random.set_state(state), lambda: m["numpy"].random.seed()),
        _Module("torch", lambda: hasattr(m.get("torch"), "default_generator"), random_memory.of_torch,
                lambda: m["torch"].get_rng_state(), lambda state: m["torch"].set_rng_state(state),
                lambda: m["torch"].set_rng_state(m["torch"].Generator().get_state())),
    ]


# Where cloudpickle has the classes that came by value: an actor's own, so that a class attribute is no other actor's.
_CLASSES = "_DYNAMIC_CLASS_TRACKER_BY_ID"


class ActorStates:
    """Keeps `random`, `numpy.random` and `torch`, and the classes that came by value, apart for the actors of a packed worker. The
    core exchanges what it can (reactor/_core/actor_states.h) and calls this for the rest."""

    def __init__(self):
        self._missing = generators()
        self._slow = []  # exchanged by their functions
        self._found = []  # all that are loaded
        self._known = {}  # actor -> names of those that it has a state of
        self._saved = {}  # (actor, name) -> state
        self._find(None)
        self._born = {module.name for module in self._found}
        import cloudpickle.cloudpickle as cloudpickle

        if isinstance(getattr(cloudpickle, _CLASSES, None), weakref.WeakValueDictionary):
            _core.exchange_variable(vars(cloudpickle), _CLASSES, weakref.WeakValueDictionary)

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
        self._known[actor] = set(self._born)
        self._begin(actor)

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
            places = module.memory()
            if places is None:
                self._slow.append(module)
                _core.always_exchange(True)
            else:
                _core.exchange_memory(places, random._inst if module.name == "random" else None)
            if current:
                self._known.setdefault(current, set()).add(module.name)
