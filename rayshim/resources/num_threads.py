"""The number of threads that numeric libraries use in a call. As in Ray, it is `OMP_NUM_THREADS`; if the program has not set this variable, it is
the number of CPUs that the task or actor requests, rounded down, at least 1."""

import os
from contextlib import contextmanager

from reactor.runtime import threads

from rayshim.session import session

#: The variables of the zygote, so that it loads the libraries in the way in which most workers use them.
VARIABLES = {threads.OPENMP: "1"}


def is_set_by_user():
    """Whether the program has set the variable before `init`."""
    return threads.OPENMP in os.environ


def of(resources):
    """The number of threads of a task or actor with these resources, {name: amount}."""
    return max(int(resources.get("CPU", 0)), 1)


def chosen(resources, env):
    """The same, or 0 where the program has chosen it: in the driver's environment or in the runtime environment `env`."""
    said = session.current.settings["threads_set_by_user"] or threads.OPENMP in (env.get("env_vars") or {})
    return 0 if said else of(resources)


def begin_worker(settings, count, enter):
    """In a worker after its birth: calls `enter()`, which gives it its runtime environment, and gives it `count` threads if nothing
    there has said how many."""
    loaded_with = threads.variables()
    if not settings["threads_set_by_user"]:
        os.environ.pop(threads.OPENMP, None)
    try:
        enter()
    finally:
        os.environ.setdefault(threads.OPENMP, str(count))
        if threads.variables() != loaded_with:
            threads.follow()


def begin_inline(settings, count):
    """Inline placement: an actor, or the tasks together, whose state has its turn, gets `count` threads as its worker would."""
    if not settings["threads_set_by_user"]:
        os.environ[threads.OPENMP] = str(count)
    threads.follow()


@contextmanager
def task(count):
    """For the time of a task that has more than the one thread of others."""
    before = os.environ.get(threads.OPENMP)
    _set(str(count))
    try:
        yield
    finally:
        _set(before)


def _set(value):
    if value is None:
        os.environ.pop(threads.OPENMP, None)
    else:
        os.environ[threads.OPENMP] = value
    threads.follow()
