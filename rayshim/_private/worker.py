"""`ray._private.worker`: the functions of the top level, and `global_worker`, what this process is in the session."""

import os
import sys
from types import new_class
from typing import Generic, TypeVar

from rayshim.api import (
    cancel,
    get,
    get_actor,
    get_gpu_ids,
    init,
    is_initialized,
    kill,
    put,
    remote,
    shutdown,
    values,
    wait,
)
from rayshim.calls.refs import ObjectRef
from rayshim.errors.logs import logger
from rayshim.session import session
from rayshim.worker.context import (  # noqa: F401
    LOCAL_MODE,
    RESTORE_WORKER_MODE,
    SCRIPT_MODE,
    SPILL_WORKER_MODE,
    WORKER_MODE,
    Worker,
    global_worker,
)

R = TypeVar("R")
blocking_get_inside_async_warned = False  # True: an async actor gets no warning that `get` blocks its event loop
values.blocking_is_known = lambda: blocking_get_inside_async_warned
_post_init_hooks = []  # functions without arguments, called at the end of `init`


class RemoteFunctionNoArgs(Generic[R]):
    """For annotations: a remote function without parameters whose result is an R."""


# RemoteFunction0[R, T0], RemoteFunction1[R, T0, T1] and so on, for annotations: a remote function with parameters of these types.
_parameters = [TypeVar(f"T{n}") for n in range(10)]
for _n in range(10):
    _of = Generic.__class_getitem__((R, *_parameters[: _n + 1]))  # pyright: ignore[reportAttributeAccessIssue]
    globals()[f"RemoteFunction{_n}"] = new_class(
        f"RemoteFunction{_n}", (_of,), exec_body=lambda names: names.update(__module__=__name__)
    )


class RemoteDecorator:
    """For annotations: what `ray.remote(num_cpus=2)` gives, which makes a remote function or an actor class."""


def __getattr__(name):
    if name not in ("BaseContext", "RayContext"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rayshim.api import ray_context  # dataclasses are slow to import

    return getattr(ray_context, name)


def _mode():
    return global_worker.mode


def _has_begun():
    global _global_node
    _global_node = Worker.node
    if global_worker.mode == SCRIPT_MODE:
        for hook in _post_init_hooks:
            hook()


def _ends():
    global _global_node
    _global_node = None


# Of a session that this process has started, as in Ray.
_global_node = Worker.node if session.current is not None else None
session.after_begin.append(_has_begun)
session.before_end.append(_ends)


def get_dashboard_url():
    """The address of the dashboard, "host:port", "" without one. RaySystemError without a session."""
    override = os.environ.get("RAY_OVERRIDE_DASHBOARD_URL")
    if override is not None:
        return override.partition("://")[2] or override
    global_worker.check_connected()
    return session.current.settings.dashboard


def print_worker_logs(data, print_file, ignore_prefix=False):
    """Prints the lines of a dict such as {"pid": 7, "actor_name": "A", "lines": [...]}, each with its origin, as workers' lines are shown."""
    who = data.get("actor_name") or data.get("task_name")
    origin = "" if ignore_prefix else f"({f'{who} ' if who else ''}pid={data.get('pid')}) "
    for line in data["lines"]:
        print(f"{origin}{line}", file=print_file, flush=True)


def print_to_stdstream(data, ignore_prefix=False):
    """The same on standard output, or on standard error where `data["is_err"]`."""
    print_worker_logs(data, sys.stderr if data["is_err"] else sys.stdout, ignore_prefix)


__all__ = [
    "ObjectRef",
    "Worker",
    "cancel",
    "get",
    "get_actor",
    "get_gpu_ids",
    "global_worker",
    "init",
    "is_initialized",
    "kill",
    "logger",
    "print_to_stdstream",
    "print_worker_logs",
    "put",
    "remote",
    "shutdown",
    "wait",
]
