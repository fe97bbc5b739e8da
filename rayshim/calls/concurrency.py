"""Checks of the options for concurrent calls of an actor: threads (`max_concurrency`), an event loop, concurrency groups."""

from types import FunctionType

from reactor.code import names

from rayshim.errors.user_code import is_programs

_STARTERS = {"Thread", "ThreadPoolExecutor", "Timer", "start_new_thread"}


def check(cls_name, how, is_async):
    """Raises ValueError for options that contradict each other, and Ray's errors for a name or size of a
    concurrency group that is none; `how`: see rayshim.worker.concurrency.make. A concurrency group with a size below 1 is
    only logged here; as in Ray, it becomes an error when the actor is created."""
    limit = how.get("concurrency")
    for name, size in (how.get("groups") or {}).items():
        if not isinstance(name, str):
            raise AttributeError(
                f"{type(name).__name__!r} object has no attribute 'encode' ({cls_name}: the name of a concurrency group must be a string)"
            )
        if not isinstance(size, int):
            raise TypeError(f"an integer is required ({cls_name}: the concurrency group {name!r} has {size!r})")
        if size < 0:
            raise OverflowError(f"can't convert negative value to uint32_t ({cls_name}: {no_room(name, size)})")
        if size < 1:
            import logging

            logging.getLogger("rayshim").error("%s: %s", cls_name, no_room(name, size))
    if how.get("out_of_order") is False and (is_async or (limit is not None and limit > 1)):
        kind = "async actors" if is_async else "multi-threaded actors"
        raise ValueError(
            f"If you're using {kind}, Ray can't execute actor tasks in order. Set `allow_out_of_order_execution=True` to allow "
            f"out-of-order execution. ({cls_name}: its calls run at the same time. Or set max_concurrency=1 and use no `async def` methods)"
        )


def several_at_once(how, is_async):
    """Whether an actor runs several calls at the same time, or out of their order; `how`: see rayshim.worker.concurrency.make."""
    return bool(is_async or has_threads(how, is_async) or how.get("out_of_order"))


def has_threads(how, is_async):
    """Whether an actor runs calls in threads; `how`: see rayshim.worker.concurrency.make."""
    return not is_async and bool(how.get("groups") or (how.get("concurrency") or 1) > 1 or how.get("turns"))


def starts_threads(cls):
    """Whether the program's code of the class and of its bases names what starts threads."""
    return any(
        not _STARTERS.isdisjoint(names(function.__code__))
        for base in cls.__mro__
        for function in vars(base).values()
        if isinstance(function, FunctionType) and is_programs(function.__code__.co_filename)
    )


def no_room(group, size):
    return f"max_concurrency must be greater than 0, but the concurrency group {group!r} has {size}"
