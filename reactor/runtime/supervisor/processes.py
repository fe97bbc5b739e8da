"""The processes of a run as the supervisor knows them: actors, workers, how a worker is forked, what it leaves running."""

import os
import signal
from time import monotonic
from typing import Any

from reactor.runtime.processes import descendants
from reactor.runtime.worker import worker


class Actor:
    """The supervisor's record of an actor. `facts` is the creator's dict: class_name, name, namespace, demand, info, ...;
    `max_restarts` in it says how often it is restarted after the death of its process (-1: always)."""

    def __init__(self, offset, facts):
        self.offset = offset
        self.facts = facts
        self.worker = None
        self.place = self.host = None  # in its worker, if that is a packed one; that one's number
        self.demand: Any = None
        self.gpus = []
        self.killed = None  # why, if by request
        self.released = None  # key of the reservation in which it was to run, if that is gone
        self.waiters = []  # offsets of objects to answer when it is dead
        self.dead = False
        self.death: Any = None  # the facts about it, when it is dead
        self.pid = 0  # of its last process
        self.restarts = 0  # number of its restarts


class Worker:
    def __init__(self, slot, pid, actor, setting, pipes, scope):
        self.slot, self.pid, self.actor = slot, pid, actor
        self.actors: Any = None  # of a packed worker: place -> Actor
        self.setting = setting  # number of what it was born with
        self.pipes = pipes  # descriptors of its stdout and stderr that have not ended
        self.scope = scope  # of the driver for which it runs, None where there is one alone (reactor.runtime.supervisor.joined_drivers)
        self.released = None  # key of the reservation with which it was ended
        self.memory: Any = None  # the facts, if it was ended because memory ran out
        self.lost_task = 0  # the uid of the task that it then ran
        self.orphaned: Any = None  # the reason that its task gets, if it was ended because the submitter has ended

    @property
    def is_packed(self):
        return self.actors is not None

    @property
    def runs_tasks(self):
        return self.actor is None and not self.is_packed


def fork(slot, facts, gpus, setting, birth, config, plugin):
    """Forks a worker; see `worker.main` for the arguments. (pid, [descriptors from which its stdout and stderr are read]). OSError if the machine
    has no room for it, or a limit is reached."""
    pipes = []
    parent = os.getpid()
    try:
        for _ in range(2):
            pipes.append(os.pipe2(os.O_CLOEXEC))
        pid = os.fork()
    except OSError:
        for pair in pipes:
            for fd in pair:
                os.close(fd)
        raise
    if pid == 0:
        worker.main(parent, slot, facts, gpus, setting, birth, [write for _, write in pipes], config, plugin)
    try:
        os.setpgid(pid, pid)  # whoever of the two is first
    except OSError:
        pass  # it was the child, which may have ended
    for read, write in pipes:
        os.close(write)
        os.set_blocking(read, False)
    return pid, [read for read, _ in pipes]


class Groups:
    """Process groups of dead workers in which something still runs."""

    def __init__(self):
        self._ends = {}  # group -> when it is killed

    def __bool__(self):
        return bool(self._ends)

    def terminate(self, group):
        """A worker has ended and its process id is not free yet: what it has started is asked to end."""
        _signal(group, signal.SIGTERM)

    def watch(self, group):
        """Its id is free: what is left of its group is killed a little later."""
        if _signal(group, 0):
            self._ends[group] = monotonic() + descendants.GRACE_SECONDS

    def kill(self):
        """Kills those whose time is up."""
        for group, when in list(self._ends.items()):
            if monotonic() > when:
                del self._ends[group]
                if not os.path.exists(
                    f"/proc/{group}"
                ):  # else the group has ended, and the number is another process's
                    _signal(group, signal.SIGKILL)


class Trees:
    """Processes that actors have started which have left their packed worker, with their descendants in its process group."""

    def __init__(self):
        self._ends = []  # (when they are killed, the group, {pid: ProcessStat})

    def __bool__(self):
        return bool(self._ends)

    def terminate(self, roots, group):
        """The children `roots` of worker `group`, and what has come from them, are asked to end."""
        tree = _tree([pid for pid in roots if (process := descendants.look(pid)) and process.parent == group], group)
        for pid in tree:
            descendants.send(pid, signal.SIGTERM)
        if tree:
            self._ends.append((monotonic() + descendants.GRACE_SECONDS, group, tree))

    def kill(self):
        """Kills those whose time is up, and what has come from them meanwhile."""
        while self._ends and monotonic() > self._ends[0][0]:
            _, group, tree = self._ends.pop(0)
            same = [
                pid for pid, process in tree.items() if (now := descendants.look(pid)) and now.start == process.start
            ]
            for pid in _tree(same, group):
                descendants.send(pid, signal.SIGKILL)


def _tree(roots, group):
    """{pid: ProcessStat} of the living processes among `roots` and their descendants that are in the process group."""
    if not roots:
        return {}
    found = {pid: descendants.look(pid) for pid in [*roots, *descendants.of(*roots)]}
    return {pid: process for pid, process in found.items() if process and process.lives and process.group == group}


def _signal(group, number):
    """Sends a signal to a process group; whether there is one."""
    try:
        os.killpg(group, number)
        return True
    except (ProcessLookupError, PermissionError):
        return False
