"""A zygote that starts with the program, before a run does. It imports the modules that the program imports, at the same time on another core.
So the run does not have to wait for these imports.

It has one connection to the driver, which sends the names of modules, and at last the descriptors of the run. A worker must be the same as if the
zygote had started with the run. If attributes that a process inherits from its parent have changed meanwhile, the run starts a new zygote. If the
environment or the path has changed, the zygote restarts in the same process. Otherwise the modules are the same, because they were imported in
the same order from the same places.
"""

import atexit
import contextlib
import fcntl
import os
import pickle
import signal
import socket

from reactor.runtime.messages import own_socket
from reactor.runtime.spawning import imported_with, spawning
from reactor.runtime.spawning.descriptors import FIRST_FREE_FD, LINE_FD

_started = None  # the one that waits for this process's run
_STATUS = ("Umask:", "Uid:", "Gid:", "Groups:", "SigBlk:", "SigIgn:", "Cap", "NoNewPrivs:", "Seccomp:", "Cpus_allowed:")
_MESSAGE_LIMIT = 1 << 17  # bytes; one message of the connection


class _EarlyZygote:
    def __init__(self, plugin, variables):
        self.inherited, self.owner = _inherited(), os.getpid()
        self.connection, theirs = own_socket.pair(socket.SOCK_SEQPACKET)
        with theirs:
            self.pid = spawning.spawn(
                spawning.command(early=True), [(theirs.fileno(), LINE_FD)], spawning.environment(variables)
            )
        self.connection.send(pickle.dumps((plugin, spawning.path_without_the_programs())))


def start(plugin, variables):
    """Starts an early zygote, for the run that this process will start with this plugin and these variables (see Driver). Without effect if it cannot be started."""
    global _started
    if _started is None:
        with contextlib.suppress(OSError):  # then the run starts one, or says why it cannot
            _started = _EarlyZygote(plugin, variables)


def is_waiting():
    """Whether an early zygote runs that no run has taken."""
    return _started is not None


def let_import(module):
    """The program begins to import a module, given as `preload` takes it: the zygote imports it, too."""
    early = _started
    if early is not None:
        with contextlib.suppress(OSError):  # it lags behind, or has died: it imports the rest when the run starts
            early.connection.check()
            early.connection.send(pickle.dumps(module), socket.MSG_DONTWAIT)


def take(descriptors, variables, environment):
    """Gives it the run's descriptors: pairs as `spawning.spawn` takes them; variables, environment: those of Driver. Returns its pid, or None: there is none
    that can be this run's."""
    global _started
    early = _started
    if early is None:
        return None
    if early.inherited != _inherited() or spawning.current_directory() is None:
        end()
        return None
    message = pickle.dumps(
        {
            "descriptors": [to for _, to in descriptors] + [0, 1, 2],
            "path": spawning.path_without_the_programs(),
            "environment": spawning.environment(variables),
            "variables": environment,
            "command": spawning.command(),
        }
    )
    try:
        early.connection.check()
        if len(message) > _MESSAGE_LIMIT or os.waitid(os.P_PID, early.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            raise OSError
        socket.send_fds(early.connection, [message], [fd for fd, _ in descriptors] + [0, 1, 2])
    except OSError:  # it has died
        end()
        return None
    _started = None
    early.connection.close()
    return early.pid


def end():
    """Ends it, if there is one."""
    global _started
    early, _started = _started, None
    if early is None or early.owner != os.getpid():
        return
    early.connection.close()
    with contextlib.suppress(OSError):  # the program has waited for it
        os.kill(early.pid, signal.SIGKILL)
        os.waitpid(early.pid, 0)


def _leave_to_parent():
    """In a child that the program has forked."""
    global _started
    if _started is not None:
        _started.connection.close()
        _started = None


atexit.register(end)
os.register_at_fork(after_in_child=_leave_to_parent)


def _inherited():
    """Attributes that a process inherits from its parent, except environment, directory and descriptors, which the zygote is given again."""
    with open("/proc/self/status") as status, open("/proc/self/limits") as limits:
        lines = [line for line in status if line.startswith(_STATUS)]
        return lines, limits.read(), os.getpriority(os.PRIO_PROCESS, 0)


def wait():
    """In the zygote: imports what it is told until it is given the run's descriptors, which are at their numbers then."""
    from reactor import _core

    _core.die_with_parent(signal.SIGTERM)
    connection = socket.socket(fileno=fcntl.fcntl(LINE_FD, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3, FIRST_FREE_FD):
        if fd != null:
            os.dup2(null, fd)  # no import may open a file that gets one of these numbers
    first = connection.recv(_MESSAGE_LIMIT)
    if not first:
        os._exit(0)  # the driver has died
    plugin, path = pickle.loads(first)
    given = _import_until_taken(connection, plugin, path)
    variables = given["variables"]
    same = given["path"][: len(path) - 1] == path[:-1] and given["environment"] == dict(os.environ)
    if not same or imported_with.others(variables):
        os.execve(given["command"][0], given["command"], {**given["environment"], **variables})
    os.environ.update(variables)


def _import_until_taken(connection, plugin, path):
    import importlib
    import sys

    from reactor import codec
    from reactor.runtime.spawning.preloading import preload

    sys.path[:] = path
    codec.install()
    codec.pickler_class()
    importlib.import_module(plugin).prepare()
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, _MESSAGE_LIMIT, 16)
        if not data:
            os._exit(0)  # the program has ended without a run
        given = pickle.loads(data)
        if isinstance(given, dict):
            break
        preload([given])
    # Where the driver had no standard descriptors when it began, some have come with their numbers.
    come = [fd if fd >= FIRST_FREE_FD else fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD) for fd in descriptors]
    for fd in range(3, FIRST_FREE_FD):
        with contextlib.suppress(OSError):
            os.close(fd)
    for fd, to in zip(come, given["descriptors"]):
        os.dup2(fd, to)
        os.close(fd)
    connection.close()
    return given
