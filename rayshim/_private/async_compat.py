"""`ray._private.async_compat`: which functions are coroutines."""

import functools
import inspect

from rayshim.session.switches import is_on


def try_install_uvloop():
    """Makes uvloop the event loop of this process, if it is installed and RAY_USE_UVLOOP does not say otherwise."""
    if not is_on("RAY_USE_UVLOOP", "1"):
        return
    try:
        import uvloop
    except ImportError:
        return
    uvloop.install()


def is_async_func(func):
    """Whether it is a coroutine function or an async generator, under its decorators too."""
    return inspect.iscoroutinefunction(func) or inspect.isasyncgenfunction(func)


def has_async_methods(cls):
    """Whether a class has such a method."""
    return any(is_async_func(method) for _, method in inspect.getmembers(cls, inspect.isfunction))


def sync_to_async(func):
    """`func` as a coroutine function; one that is async already is given back."""
    if is_async_func(func):
        return func

    @functools.wraps(func)
    async def wrapper(*args, **kwargs):
        return func(*args, **kwargs)

    return wrapper
