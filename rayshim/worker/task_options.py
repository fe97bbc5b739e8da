"""What a remote function's options ask of the worker around the function itself."""

import functools
from contextlib import contextmanager, nullcontext

from reactor import _core

from rayshim.errors.deaths import refusal
from rayshim.placement import bundles, num_threads
from rayshim.session import gpus, session
from rayshim.session.environment import thawed
from rayshim.worker import environment
from rayshim.worker.retries import again


def wrap(function, flags):
    """`function` with `flags` (see rayshim.calls.function): GPUs taken for its time, its environment, retries on exceptions, its worker's
    end after so many calls.

    A generator function stays one; what is around it lasts until it ends.
    """
    if flags.get("name"):
        named = within(function, nullcontext)
        named.__name__ = flags["name"]
        named._unnamed_ = function  # pyright: ignore[reportAttributeAccessIssue]
        function = named
    if flags.get("retry_exceptions"):
        function = _retrying(function, flags["retry_exceptions"])
    if flags.get("env"):
        function = within(function, lambda: environment.Surroundings(thawed(flags["env"])))
    if flags.get("threads"):
        function = within(function, functools.partial(num_threads.task, flags["threads"]))
    if flags.get("gpus"):
        function = within(function, functools.partial(_gpus, flags["gpus"]))
    if flags.get("group"):
        function = within(function, functools.partial(_group, flags["group"]))
    if flags.get("max_calls"):
        function = within(function, functools.partial(_counted, [0], flags["max_calls"]))
    return function


def within(function, scope):
    """`function` with each call inside of `with scope()`."""
    if _is_generator(function):

        @functools.wraps(function)
        def run(*args, **kwargs):  # pyright: ignore[reportRedeclaration]
            with scope():
                yield from function(*args, **kwargs)

    else:

        @functools.wraps(function)
        def run(*args, **kwargs):
            with scope():
                return function(*args, **kwargs)

    return run


def _is_generator(function):
    return bool(function.__code__.co_flags & 0x20) if hasattr(function, "__code__") else False  # CO_GENERATOR


@contextmanager
def _counted(calls, limit):
    calls[0] += 1
    if calls[0] >= limit:
        _core.leave_after_task()
    yield


def _retrying(function, which):
    """The tries are those that the worker's death uses up too."""
    kinds = Exception if which is True else tuple(which)
    if _is_generator(function):
        return _retrying_generator(function, kinds)

    @functools.wraps(function)
    def run(*args, **kwargs):
        while True:
            try:
                return function(*args, **kwargs)
            except kinds:
                if not _core.take_retry():
                    raise

    return run


def _retrying_generator(function, kinds):
    @functools.wraps(function)
    def run(*args, **kwargs):
        yield from again(function, args, kwargs, kinds, _core.take_retry)

    return run


@contextmanager
def _gpus(amount):
    s = session.current
    before = s.gpus
    s.gpus = s.inline_gpus.take(amount) if s.inline else s.control.ask("gpus", amount)
    try:
        with gpus.shown(gpus.names(s.gpus, s.gpus_told)):
            yield
    finally:
        if s.inline:
            s.inline_gpus.give(s.gpus)
        else:
            s.control.tell("gpus_back", s.gpus)
        s.gpus = before


@contextmanager
def _group(group):
    s = session.current
    if s.inline and bundles.released(s, group[0]):
        raise refusal(group[0], of_actor=False)
    before, s.group = s.group, (_core.running()[0], group)
    if group[1]:  # what it starts is in the group: what was exported without it does not count
        for exported in list(s.exported):
            exported.forget()
    try:
        yield
    finally:
        s.group = before
