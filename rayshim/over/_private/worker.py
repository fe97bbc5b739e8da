"""This process's part in the session as Ray's libraries ask for it: `ray._private.worker`."""

import os

from rayshim import LOCAL_MODE, SCRIPT_MODE, WORKER_MODE  # noqa: F401
from rayshim.session import folder, session

blocking_get_inside_async_warned = False
_post_init_hooks = []  # functions without arguments, called when this process begins a session


def _mode():
    """SCRIPT_MODE in a driver, WORKER_MODE in a worker, None without a session."""
    s = session.current
    if s is None:
        return None
    return SCRIPT_MODE if s.driver is not None else WORKER_MODE


class _Worker:
    """`global_worker`: facts of this process."""

    @property
    def mode(self):
        return _mode()

    @property
    def connected(self):
        return session.current is not None

    @property
    def actor_id(self):
        """The ActorID of the actor that asks; nil outside of actors."""
        from rayshim.session.ids import ActorID
        from rayshim.worker.context import RuntimeContext

        found = RuntimeContext().get_actor_id() if self.connected else None
        return ActorID.from_hex(found) if found else ActorID.nil()

    def check_connected(self):
        if not self.connected:
            from rayshim.errors.exceptions import RaySystemError

            raise RaySystemError("Ray has not been started yet. You can start Ray with 'ray.init()'.")


global_worker = _Worker()


class _Node:
    """The folders that a Ray node keeps for a session. They lie in a temporary folder of the driver, which ends with the session."""

    def get_session_dir_path(self):
        return folder.path()

    def get_logs_dir_path(self):
        path = os.path.join(folder.path(), "logs")
        os.makedirs(path, exist_ok=True)
        return path


def __getattr__(name):
    if name == "_global_node":
        return _node if session.current is not None else None
    raise AttributeError(f"module 'ray._private.worker' has no attribute '{name}': rayshim does not provide it")


_node = _Node()


def _run_hooks():
    for hook in _post_init_hooks:
        hook()


session.after_begin.append(_run_hooks)
