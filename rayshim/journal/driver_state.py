"""The random states of the driver, as JSON. They are the program's own, which `init(seed=)` does not touch; a journal has them, so that its replay begins with
the same ones."""

import random
import sys

from reactor.runtime.seeding import seeding


def read():
    """{module: state} of the global generators that are loaded in this process."""
    states: dict = {"random": random.getstate()}
    if seeding.is_loaded("numpy.random"):
        kind, words, *more = sys.modules["numpy.random"].get_state()
        states["numpy.random"] = [kind, words.tolist(), *more]
    if seeding.is_loaded("torch"):
        states["torch"] = bytes(sys.modules["torch"].get_rng_state().tolist()).hex()
    return states


def write(states):
    """Gives the loaded generators the states that `read` gave, as they come from JSON."""
    version, words, gauss = states["random"]
    random.setstate((version, tuple(words), gauss))
    if "numpy.random" in states and seeding.is_loaded("numpy.random"):
        sys.modules["numpy.random"].set_state(tuple(states["numpy.random"]))
    if "torch" in states and seeding.is_loaded("torch"):
        torch = sys.modules["torch"]
        torch.set_rng_state(torch.tensor(list(bytes.fromhex(states["torch"])), dtype=torch.uint8))
