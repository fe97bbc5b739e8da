"""The caller of the runtime context: the driver, a task, an actor, or nobody, without a session."""

import itertools
import os
import threading

from reactor import _core

from rayshim.errors.exceptions import RaySystemError
from rayshim.errors.logs import logger
from rayshim.errors.user_code import calling
from rayshim.session import session
from rayshim.session.ids import TaskID, job_id
from rayshim.worker import running


def works():
    """Whether the caller is a task or an actor, not the driver."""
    s = session.current
    if s is None:
        return False
    return s.driver is None or running.handed_on() is not None or bool(_core.running_uid())


def available(what, error: type[Exception] = RuntimeError):
    """The session. This error without one, for an id."""
    if session.current is None:
        raise error(f"{what} is not available because Ray has not been initialized. (at {calling()}: call init())")
    return session.current


def started():
    """The session. RaySystemError without one, for other facts."""
    if session.current is None:
        raise RaySystemError(f"Ray has not been started yet. You can start Ray with 'ray.init()'. (at {calling()})")
    return session.current


def _mode():
    return None if session.current is None else 0


def in_worker(what):
    if not works():
        raise AssertionError(
            f"This method is only available when the process is a                 worker. Current mode: {_mode()} ({what} at {calling()}: called in the driver)"
        )


def warn_in_driver(what):
    """Says in the log, as Ray does, that the driver asks for a fact of a task."""
    if not works():
        logger.warning(
            "This method is only available when the process is a worker. Current mode: %s (%s at %s)",
            _mode(),
            what,
            calling(),
        )


def id_of_thread():
    """The TaskID that stands for a thread or coroutine of a worker in which no call runs: no call's and no other thread's, and the same in the whole thread."""
    found = getattr(_of_thread, "task_id", None)
    if found is None:
        from hashlib import sha256

        text = f"{session.current.settings.node}/{os.getpid()}/{next(_threads)}"
        found = _of_thread.task_id = TaskID(sha256(text.encode()).digest()[:20] + job_id().binary())
    return found


_of_thread = threading.local()
_threads = itertools.count()
