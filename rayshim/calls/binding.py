"""What `.bind(...)` of actors, their methods and functions makes: nodes of `ray.dag`, which lies above and is loaded at the first of them."""

load = None  # a function that gives the module rayshim.dag; the package `rayshim` sets it


def nodes():
    """The module rayshim.dag."""
    return load()
