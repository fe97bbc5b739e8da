"""Warns a program that uses both Ray and rayshim by mistake: `import rayshim as ray` and `from ray.util import ActorPool`."""

import sys

from rayshim.errors.user_code import is_programs


def tell(logger):
    """Warns of the first name in the program's modules that comes from Ray itself, if there is one.

    Ray's functions would start a Ray of their own, and refuse this session's refs. A module that has both, `import ray` and `import rayshim`,
    knows that they are two."""
    real, ours = sys.modules.get("ray"), sys.modules["rayshim"]
    if real is None or real is ours:
        return
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        file = names.get("__file__")
        if not isinstance(file, str) or names.get("rayshim") is ours or not is_programs(file):
            continue
        for name, value in list(names.items()):
            where = _module_of(value)
            if isinstance(where, str) and where.partition(".")[0] == "ray":
                logger.warning(
                    "In %s, %r is Ray itself (%s), but this session is rayshim's: Ray's functions start a Ray of their own, and know none of the "
                    "refs and actors of this session. Import it from rayshim, as in `from rayshim.util import ActorPool`, or leave all imports as "
                    "they are for Ray and run the program with `python -m rayshim script.py`.",
                    *(file, name, where),
                )
                return


def _module_of(value):
    kind = type(value)
    if kind is type(sys):
        return value.__dict__.get("__name__")
    return getattr(value, "__module__", None) if isinstance(value, type) or kind is type(tell) else None
