"""Generators that a program makes without a seed, such as `numpy.random.default_rng()`, `random.Random()` or gymnasium's at `reset()`: in a run with a seed
they begin with numbers that depend on the actor or task, on the module that makes them, and on how many it has made, and not on the operating system."""

import hashlib
import os
import random
import sys

_VARIABLE = "REACTOR_SEED_UNSEEDED"  # 0: they begin with numbers of the operating system, also in a run with a seed


class Unseeded:
    """Arguments: entropy_here, a function that gives the bytes by which the running actor or task is seeded; None or b"" if it is not."""

    def __init__(self, entropy_here):
        self._entropy_here = entropy_here
        self._made = {}  # (entropy, name of a module) -> number of generators
        self._undo = []

    def begin(self, with_numpy):
        """From now on; again when numpy.random is loaded."""
        if os.environ.get(_VARIABLE) == "0":
            return
        if not self._undo:
            seed, entropy = random.Random.seed, self._entropy

            def seeded(self, a=None, version=2):
                return seed(self, (entropy(256) if a is None else None) or a, version)

            seeded.__name__, seeded.__qualname__, seeded.__doc__ = seed.__name__, seed.__qualname__, seed.__doc__
            random.Random.seed = seeded
            self._undo.append(lambda: setattr(random.Random, "seed", seed))
        numpy = sys.modules.get("numpy.random.bit_generator")
        if with_numpy and numpy is not None and len(self._undo) == 1:
            randbits = numpy.randbits
            vars(numpy)["randbits"] = lambda count: self._entropy(count) or randbits(count)
            self._undo.append(lambda: setattr(numpy, "randbits", randbits))

    def end(self):
        while self._undo:
            self._undo.pop()()
        self._made.clear()

    def forget(self, entropy):
        """An actor or a task has ended."""
        for key in [key for key in self._made if key[0] == entropy]:
            del self._made[key]

    def _entropy(self, bits):
        """The first number of this many bits for the next generator that is made here, not 0; None: it is to be the operating system's."""
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_globals is vars(random):  # random.Random.__init__
            frame = frame.f_back
        maker = frame.f_globals.get("__name__", "")
        # The standard library needs names that no other process has, such as those of temporary files.
        entropy = None if maker.partition(".")[0] in sys.stdlib_module_names else self._entropy_here()
        if not entropy:
            return None
        made = self._made[entropy, maker] = self._made.get((entropy, maker), 0) + 1
        data = hashlib.shake_256(entropy + f"/{maker}/{made}".encode()).digest(-(-bits // 8))
        return int.from_bytes(data, "little") >> (-bits % 8) or 1
