"""Access to the nodes of `ray.dag` for `.bind(...)`, and to `exit_actor`. Both are in higher layers, which set the functions here. The package
`rayshim.dag` is imported at the first use."""

from typing import Any

load: Any = None  # a function that returns the module rayshim.dag; the package `rayshim` sets it
exit_actor: Any = None  # the function; rayshim.worker.exit sets it


def nodes():
    """The module rayshim.dag."""
    return load()
