"""What a remote function's options ask of the worker around the function itself."""

import functools
import os

from rayshim import session


def wrap(function, flags):
    """`function` with `flags` (see rayshim.function): GPUs taken for its time, its environment, retries on exceptions."""
    if flags.get("name"):
        function = _named(function, flags["name"])
    if flags.get("retry_exceptions"):
        function = _retrying(function, flags["retry_exceptions"], flags["retries"])
    if flags.get("env"):
        function = _with_environment(function, dict(flags["env"]))
    if flags.get("gpus"):
        function = _with_gpus(function, flags["gpus"])
    return function


def _named(function, name):
    @functools.wraps(function)
    def run(*args, **kwargs):
        return function(*args, **kwargs)

    run.__name__ = name
    return run


def _retrying(function, which, retries):
    kinds = Exception if which is True else tuple(which)
    limit = float("inf") if retries is None or retries < 0 else retries

    @functools.wraps(function)
    def run(*args, **kwargs):
        tries = 0
        while True:
            try:
                return function(*args, **kwargs)
            except kinds:
                if tries >= limit:
                    raise
                tries += 1

    return run


def _with_environment(function, variables):
    @functools.wraps(function)
    def run(*args, **kwargs):
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            return function(*args, **kwargs)
        finally:
            for name, value in before.items():
                os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)

    return run


def _with_gpus(function, amount):
    @functools.wraps(function)
    def run(*args, **kwargs):
        s = session.current
        before = s.gpus
        s.gpus = s.inline_gpus.take(amount) if s.inline else s.control.ask("gpus", amount)
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(str(gpu) for gpu, _ in s.gpus)
        try:
            return function(*args, **kwargs)
        finally:
            if s.inline:
                s.inline_gpus.give(s.gpus)
            else:
                s.control.tell("gpus_back", s.gpus)
            s.gpus = before

    return run
