"""The names of `ray._private` that frameworks import, over rayshim's own. Programs should take the public ones."""


def __getattr__(name):
    """Ray's own start imports most of its modules, so a program finds them without importing them. Those that rayshim does not have come
    from Ray's package, see rayshim.session.libraries."""
    from importlib import import_module

    from rayshim.session import alias

    if name.startswith("__") or not alias.is_installed():
        raise AttributeError(f"module 'rayshim._private' has no attribute '{name}'")
    try:
        return import_module(f"ray._private.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"module 'ray._private' has no attribute '{name}': {error}") from None
