"""Access to the nodes of `ray.dag` for `.bind(...)`. That package is in a higher layer, and is imported at the first use."""

load = None  # a function that returns the module rayshim.dag; the package `rayshim` sets it


def nodes():
    """The module rayshim.dag."""
    return load()
