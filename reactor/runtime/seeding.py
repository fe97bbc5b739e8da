"""Seeds the random state of workers. Otherwise all forked workers would draw the same numbers, which would be a silent error."""

import os
import sys


def reseed(seed, tag):
    """Seeds `random`, and numpy's and torch's global generators where they are loaded, for the worker named `tag` (str).

    If `seed` is None, the state comes from the operating system. Otherwise it depends only on `seed` and `tag`.
    """
    import random

    if seed is None:
        entropy = os.urandom(32)
    else:
        import hashlib

        entropy = hashlib.sha256(f"{seed}/{tag}".encode()).digest()

    random.seed(entropy)
    for name in ("rng", "_assumptions_rng"):
        of_sympy = getattr(sys.modules.get("sympy.core.random"), name, None)
        if of_sympy is not None:
            of_sympy.seed(entropy)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed([int.from_bytes(entropy[i : i + 4], "little") for i in range(0, 32, 4)])
    torch = sys.modules.get("torch")
    if hasattr(torch, "manual_seed"):
        torch.manual_seed(int.from_bytes(entropy[:8], "little"))
