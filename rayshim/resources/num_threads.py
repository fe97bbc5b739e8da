"""The number of threads that numeric libraries use in a call. As in Ray, it is `OMP_NUM_THREADS`; if the program has not set this variable, it is
the number of CPUs that the task or actor requests, rounded down, at least 1."""

import os
from contextlib import contextmanager

from reactor.runtime.processes import library_threads

from rayshim.session import session

#: The variables of the zygote, so that it loads the libraries in the way in which most workers use them.
VARIABLES = {library_threads.OPENMP: "1"}


def is_set_by_user():
    """Whether the program has set the variable before `init`."""
    return library_threads.OPENMP in os.environ


def of(resources):
    """The number of threads of a task or actor with these resources, {name: amount}."""
    return max(int(resources.get("CPU", 0)), 1)


def chosen(resources, env, role=None):
    """The same, or 0 where another number is chosen: in the driver's environment, in the runtime environment `env`, or by the Role."""
    if role is not None and role.threads:
        return 0
    said = session.current.settings.threads_set_by_user or library_threads.OPENMP in (env.get("env_vars") or {})
    return 0 if said else of(resources)


def begin_worker(settings, count, enter, by_role=None):
    """In a worker after its birth: calls `enter()`, which gives it its runtime environment, and gives it `by_role` threads, or, without that, `count` if
    nothing there has said how many."""
    loaded_with = library_threads.variables()
    if not settings.threads_set_by_user:
        os.environ.pop(library_threads.OPENMP, None)
    try:
        enter()
    finally:
        if by_role:
            given = library_threads.VARIABLES & os.environ.keys() | {library_threads.OPENMP}
            os.environ.update(dict.fromkeys(given, str(by_role)))
        os.environ.setdefault(library_threads.OPENMP, str(count))
        if library_threads.variables() != loaded_with:
            library_threads.follow()


def begin_inline(settings, count):
    """Inline placement: an actor, or the tasks together, whose state has its turn, gets `count` threads as its worker would."""
    if not settings.threads_set_by_user:
        os.environ[library_threads.OPENMP] = str(count)
    library_threads.follow()


@contextmanager
def task(count):
    """For the time of a task that has more than the one thread of others."""
    before = os.environ.get(library_threads.OPENMP)
    _set(str(count))
    try:
        yield
    finally:
        _set(before)


def _set(value):
    if value is None:
        os.environ.pop(library_threads.OPENMP, None)
    else:
        os.environ[library_threads.OPENMP] = value
    library_threads.follow()
