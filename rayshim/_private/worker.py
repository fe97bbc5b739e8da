"""`ray._private.worker`: the functions of the top level, and `global_worker`, what this process is in the session."""

import os
import sys
from typing import Generic, TypeVar

from rayshim.api import cancel, get, get_actor, get_gpu_ids, init, is_initialized, kill, put, remote, shutdown, wait
from rayshim.calls.refs import ObjectRef
from rayshim.errors.logs import logger
from rayshim.session import session
from rayshim.session.ids import ActorID, TaskID, WorkerID
from rayshim.worker.context import RuntimeContext

R = TypeVar("R")
SCRIPT_MODE, WORKER_MODE, LOCAL_MODE, SPILL_WORKER_MODE, RESTORE_WORKER_MODE = range(5)
blocking_get_inside_async_warned = False  # of Ray's warning; rayshim does not warn


class RemoteFunctionNoArgs(Generic[R]):
    """For annotations: a remote function without parameters whose result is an R."""


class _Client:
    """`global_worker.gcs_client`."""

    @property
    def address(self):
        return RuntimeContext().gcs_address


class _CoreWorker:
    """`global_worker.core_worker`."""

    def current_actor_is_asyncio(self):
        """Whether the caller is an async actor."""
        concurrency = sys.modules.get("rayshim.worker.concurrency")
        return bool(concurrency and concurrency.has_loop())

    def get_actor_id(self):
        """The ActorID, the nil one outside of actors."""
        return ActorID.from_hex(RuntimeContext().get_actor_id() or "")

    def get_worker_id(self):
        """The WorkerID."""
        return WorkerID.from_hex(RuntimeContext().get_worker_id())


class _Node:
    """`global_worker.node`: the session as Ray's files would have it."""

    @property
    def session_name(self):
        return RuntimeContext().get_session_name()

    @property
    def node_ip_address(self):
        return "127.0.0.1"

    def get_session_dir_path(self):
        """Where Ray would keep the session's files; rayshim writes none, and the directory need not be there."""
        return os.path.join(RuntimeContext().get_temp_dir(), self.session_name)

    def get_logs_dir_path(self):
        """The same of its logs."""
        return os.path.join(self.get_session_dir_path(), "logs")


class Worker:
    """What this process is in the session."""

    core_worker, gcs_client, node = _CoreWorker(), _Client(), _Node()

    @property
    def connected(self):
        return session.current is not None

    def check_connected(self):
        """RaySystemError without a session."""
        if session.current is None:
            from rayshim.errors.exceptions import RaySystemError

            raise RaySystemError("Ray has not been started yet. You can start Ray with 'ray.init()'.")

    @property
    def mode(self):
        """SCRIPT_MODE in the driver, WORKER_MODE in a worker, None without a session."""
        s = session.current
        return None if s is None else SCRIPT_MODE if s.driver is not None else WORKER_MODE

    @property
    def current_job_id(self):
        return RuntimeContext().job_id

    @property
    def current_node_id(self):
        return RuntimeContext().node_id

    @property
    def current_task_id(self):
        return TaskID.from_hex(RuntimeContext().get_task_id() or "")

    @property
    def actor_id(self):
        return self.core_worker.get_actor_id()

    @property
    def worker_id(self):
        return self.core_worker.get_worker_id().binary()

    @property
    def namespace(self):
        return RuntimeContext().namespace

    @property
    def runtime_env(self):
        return RuntimeContext().get_runtime_env_string()


global_worker = Worker()


def __getattr__(name):
    if name == "_global_node":  # of a session that this process has started, as in Ray
        return _Node() if session.current is not None and session.current.driver is not None else None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
