"""The processes of one run: who they are, what processor time and memory they used (Linux, /proc).

A runtime's processes may leave their parent (Ray's do when the driver dies) and may overwrite their
environment (process titles do), so a process belongs to the run when any of these says so: it carries the
run's marker in its environment, it is in the session of the run's root, its parent belongs, or it once did.
"""

import ctypes
import os
import signal
import threading
import time
from dataclasses import dataclass

MARKER = "RAYSHIM_BENCHMARK_RUN"

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass
class _Process:
    pid: int
    parent: int
    start: int  # ticks since boot, which tells a reused pid from the old one
    own: int = 0  # ticks, user and system
    reaped: int = 0  # ticks of the children that it waited for, theirs included
    alive: bool = True


def _stat(pid):
    with open(f"/proc/{pid}/stat", "rb") as file:
        # The name is in brackets and may itself hold spaces and brackets.
        return file.read().rpartition(b")")[2].split()


def _has_marker(pid, marker):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return marker in file.read().split(b"\0")
    except OSError:
        return False


def adopt_orphans():
    """Become the parent of all descendants whose own parent ends.

    Then they stay as zombies, with their final times, until a ProcessTree here has seen them.
    """
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def proportional_set_size(pid):
    """Bytes of `pid`'s memory, each shared page divided by the number of processes that map it; 0 if gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class ProcessTree:
    """All processes of the run with `root` as its first process and session leader, dead ones included."""

    def __init__(self, root, marker):
        self._root = root
        self._marker = f"{MARKER}={marker}".encode()
        self._members = {}
        self._strangers = set()
        self._departed = 0  # ticks of members whose pid was given to another process since

    def scan(self):
        """Look again who is there; returns the living members' pids."""
        present = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        self._strangers &= present
        # Roughly in order of age, so that a parent is met before its children.
        for pid in sorted(present - self._strangers):
            try:
                running = self._look_at(pid)
            except (OSError, IndexError):
                running = False
            if not running:
                present.discard(pid)
        for pid, process in self._members.items():
            process.alive = pid in present
        return [pid for pid, process in self._members.items() if process.alive]

    def _look_at(self, pid):
        """Note a process's times if it is a member; returns whether it runs, which a zombie does not."""
        fields = _stat(pid)
        parent, session, start = int(fields[1]), int(fields[3]), int(fields[19])
        known = self._members.get(pid)
        if known is not None and known.start != start:
            self._departed += known.own + known.reaped
            del self._members[pid]
            known = None
        if known is None:
            belongs = (
                pid == self._root
                or session == self._root
                or (parent in self._members and self._members[parent].alive)
                or _has_marker(pid, self._marker)
            )
            if not belongs:
                self._strangers.add(pid)
                return True
            known = self._members[pid] = _Process(pid, parent, start)
        known.parent = parent
        # User and system time are each rounded down, by half a tick on average.
        known.own = int(fields[11]) + int(fields[12]) + 1
        known.reaped = int(fields[13]) + int(fields[14])
        running = fields[0] not in (b"Z", b"X")
        if not running and parent == os.getpid() and pid != self._root:
            os.waitpid(pid, os.WNOHANG)
        return running

    def memory(self, without=()):
        """Proportional set size in bytes of all living members but `without`."""
        return sum(proportional_set_size(pid) for pid in self.scan() if pid not in without)

    def settle_root(self, seconds):
        """Tell what the kernel charged for the root and the children that it waited for, once it is gone."""
        root = self._members.get(self._root)
        if root is not None:
            root.reaped = max(root.reaped, round(seconds * _TICKS_PER_SECOND) - root.own)

    def cpu_seconds(self):
        """Processor time of all members so far.

        A dead child's time is known twice, from the last scan that saw it and, if its parent waited for it,
        in the parent's account; either may lack something, so the larger counts. What is missed is the time
        after the last scan of a process that nobody waited for.
        """
        children = {pid: [] for pid in self._members}
        tops = []
        for process in self._members.values():
            children.get(process.parent, tops).append(process)

        def total(process):
            living = dead = 0
            for child in children[process.pid]:
                if child.alive:
                    living += total(child)
                else:
                    dead += total(child)
            return process.own + living + max(process.reaped, dead)

        return (self._departed + sum(map(total, tops))) / _TICKS_PER_SECOND

    def end(self, patience):
        """Give the members `patience` seconds to go by themselves, then kill them. Returns how many were killed."""
        deadline = time.monotonic() + patience
        while (left := self.scan()) and time.monotonic() < deadline:
            time.sleep(0.05)
        killed = len(left)
        while left:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)
            left = self.scan()
        return killed


class Periodic:
    """A context manager that calls its `tick` every `period` seconds, in a thread of its own."""

    def __init__(self, period):
        self._period = period
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        self._thread.join()

    def _run(self):
        while not self._stop.wait(self._period):
            self.tick()  # pyright: ignore[reportAttributeAccessIssue]


class Sampler(Periodic):
    """Watches a tree from a thread of its own: processor time often, memory rarely.

    Reading the memory of a tree makes the kernel walk its page tables, tens of milliseconds for Ray's, which
    disturbs what is measured; so after each reading the sampler rests long, unless `look` asks for one.
    A context manager; nobody else may scan the tree inside.
    """

    CPU_PERIOD = 0.1
    MEMORY_PERIOD = 0.25
    MEMORY_SHARE = 0.02

    def __init__(self, tree):
        super().__init__(self.CPU_PERIOD)
        self.tree = tree
        self.peak_memory = 0
        self._memory_due = 0.0

    def look(self):
        """Read the memory at the next sample: something has just been built."""
        self._memory_due = 0.0

    def tick(self):
        start = time.monotonic()
        if start < self._memory_due:
            self.tree.scan()
            return
        self.peak_memory = max(self.peak_memory, self.tree.memory())
        spent = time.monotonic() - start
        self._memory_due = start + max(self.MEMORY_PERIOD, spent / self.MEMORY_SHARE)
