"""Internals of Ray that its libraries import."""

from importlib import import_module


def __getattr__(name):
    """Ray's own start imports most of these modules: a program finds them without importing them."""
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return import_module(f"ray._private.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"module 'ray._private' has no attribute '{name}': {error}") from None
