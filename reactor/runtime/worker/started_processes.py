"""The processes that the actors of a packed worker start, so that they end with their actor.

Their parent is the worker, which continues when an actor leaves it. So Python's functions that start a process note its pid for the actor whose call runs
in the thread. Other processes end with the worker: those that a thread of the program, native code or `os.system` has started, and those that have
lost their parent. The workers of a pool are not noted either, because another actor may use the pool, which ends them when nobody does.
"""

import _posixsubprocess
import functools
import os
import sys

from reactor import _core
from reactor.runtime.processes import descendants

_STARTING = "fork", "forkpty", "posix_spawn", "posix_spawnp"  # functions of os
_POOLS = (  # modules of the functions that the processes of pools run
    "multiprocessing.pool",
    "torch.multiprocessing.pool",
    "concurrent.futures.process",
    "loky.process_executor",
    "joblib.externals.loky.process_executor",
)
_MANY = 64  # pids that are noted before it is looked which of the processes are there


class Started:
    """The processes that the actors of this worker have started. There is no lock: a thread that is stopped for another's turn would keep it. Each step
    on a dict or set is one operation of the interpreter."""

    def __init__(self):
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self):
        self._owners = {}  # pid -> number of the actor
        self._unwaited = set()  # pids of processes whose actor has left: nobody else waits for them
        self._many = _MANY

    def watch(self):
        """Notes what is started from now on."""
        for name in _STARTING:
            setattr(os, name, self._noting(getattr(os, name)))
        _posixsubprocess.fork_exec = self._noting(_posixsubprocess.fork_exec)
        subprocess = sys.modules.get("subprocess")  # it is imported later, or has taken the function already
        if hasattr(subprocess, "_fork_exec"):
            subprocess._fork_exec = _posixsubprocess.fork_exec  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]

    def take(self, actor):
        """Pids of the processes of an actor that leaves."""
        taken = {pid for pid, owner in list(self._owners.items()) if owner == actor}
        for pid in taken:
            self._owners.pop(pid, None)
        self._wait()
        taken = {pid for pid in taken - _helpers() if _is_child(pid)}
        self._unwaited |= taken
        return sorted(taken)

    def _noting(self, function):
        @functools.wraps(function)
        def starting(*arguments, **options):
            result = function(*arguments, **options)
            pid = result[0] if isinstance(result, tuple) else result
            if pid:  # not in the child
                self._note(pid, 0 if _for_pool() else _core.actor_of_thread())
            return result

        return starting

    def _note(self, pid, actor):
        self._unwaited.discard(pid)
        self._wait()
        self._owners.pop(pid, None)
        if actor:
            self._owners[pid] = actor
        if len(self._owners) > self._many:
            for noted in list(self._owners):
                if not _is_child(noted):
                    self._owners.pop(noted, None)
            self._many = max(_MANY, 2 * len(self._owners))

    def _wait(self):
        for pid in list(self._unwaited):
            try:
                ended = os.waitpid(pid, os.WNOHANG)[0]
            except ChildProcessError:  # the program has waited for it
                ended = pid
            if ended:
                self._unwaited.discard(pid)


def _for_pool():
    """Whether a process of `multiprocessing` is being started that works for a pool."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    frame = multiprocessing and sys._getframe()
    while frame:
        if frame.f_code is multiprocessing.BaseProcess.start.__code__:  # pyright: ignore[reportOptionalMemberAccess]
            return getattr(frame.f_locals["self"]._target, "__module__", None) in _POOLS
        frame = frame.f_back
    return False


def _is_child(pid):
    """Whether it is a child of this process that nobody has waited for. No other process can have the number of such a one."""
    process = descendants.look(pid)
    return process is not None and process.parent == os.getpid()


def _helpers():
    """Pids of the processes of `multiprocessing` of which there is one for the whole worker."""
    found = set()
    for module, instance, name in (
        ("multiprocessing.resource_tracker", "_resource_tracker", "_pid"),
        ("multiprocessing.forkserver", "_forkserver", "_forkserver_pid"),
    ):
        found.add(getattr(getattr(sys.modules.get(module), instance, None), name, None))
    return found
