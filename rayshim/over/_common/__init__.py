"""Modules that the core and the libraries of Ray share; they come from Ray's package."""

from importlib import import_module


def __getattr__(name):
    """Ray's own start imports most of these modules: a program finds them without importing them."""
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return import_module(f"ray._common.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"module 'ray._common' has no attribute '{name}': {error}") from None
