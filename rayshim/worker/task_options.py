"""Applies the options of a remote function in its worker: GPUs, environment, retries, and others."""

import functools
from contextlib import contextmanager, nullcontext

from reactor import _core

from rayshim.calls.signature import is_plain_generator
from rayshim.environments import applying
from rayshim.environments.keys import thawed
from rayshim.resources import accelerators, gpus, num_threads
from rayshim.session import session
from rayshim.worker.retries import again, is_run_again


def wrap(function, flags):
    """`function` with the options `flags` (see rayshim.calls.function) applied: GPUs, environment and number of threads while it runs, retries on
    exceptions, end of the worker after `max_calls`.

    A generator function stays one; its options apply until it ends.
    """
    if flags.get("name"):
        named = within(function, nullcontext)
        named.__name__ = flags["name"]
        named._unnamed_ = function  # pyright: ignore[reportAttributeAccessIssue]
        function = named
    if flags.get("retry_exceptions"):
        function = _retrying(function, flags["retry_exceptions"])
    if flags.get("env"):
        function = within(function, lambda: applying.Surroundings(thawed(flags["env"])))
    if flags.get("threads"):
        function = within(function, functools.partial(num_threads.task, flags["threads"]))
    if flags.get("devices"):
        function = within(function, functools.partial(_devices, dict(flags["devices"]), flags.get("part")))
    if flags.get("group"):
        function = within(function, functools.partial(_group, flags["group"]))
    if flags.get("max_calls"):
        function = within(function, functools.partial(_counted, [0], flags["max_calls"]))
    return function


def within(function, scope):
    """`function`, with each call inside `with scope()`."""
    if is_plain_generator(function):

        @functools.wraps(function)
        def run(*args, **kwargs):  # pyright: ignore[reportRedeclaration]
            with scope():
                yield from function(*args, **kwargs)

    else:

        @functools.wraps(function)
        def run(*args, **kwargs):
            with scope():
                return function(*args, **kwargs)

    if hasattr(function, "__self__"):  # errors of the method show its instance
        run.__self__ = function.__self__  # pyright: ignore[reportAttributeAccessIssue]
    return run


@contextmanager
def _counted(calls, limit):
    calls[0] += 1
    if calls[0] >= limit:
        _core.leave_after_task()
    yield


def _retrying(function, which):
    """`function` with retries on exceptions. They count together with the retries after a worker's death."""
    kinds = Exception if which is True else tuple(which)
    if is_plain_generator(function):
        return _retrying_generator(function, kinds)

    @functools.wraps(function)
    def run(*args, **kwargs):
        while True:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                if not is_run_again(error, kinds, function):
                    raise

    return run


def _retrying_generator(function, kinds):
    @functools.wraps(function)
    def run(*args, **kwargs):
        yield from again(function, args, kwargs, kinds)

    return run


@contextmanager
def _devices(amounts, within):
    s = session.current
    before = s.gpus, s.shares
    with s.placement.devices(amounts, within) as taken:
        own_gpus = taken.pop("GPU", None)
        s.gpus, s.shares = s.gpus if own_gpus is None else own_gpus, taken
        shown = nullcontext() if own_gpus is None else gpus.shown(gpus.names(own_gpus, s.visible_gpus))
        try:
            with shown, accelerators.shown(taken, s.visible_accelerators):
                yield
        finally:
            s.gpus, s.shares = before


@contextmanager
def _group(group):
    s = session.current
    s.placement.enter_group(group[0])
    before, s.group = s.group, (_core.running_uid(), group)
    if group[1]:  # calls made by the task are in the group, too: exports from outside the group do not apply
        for exported in list(s.exported):
            exported.forget()
    try:
        yield
    finally:
        s.group = before
