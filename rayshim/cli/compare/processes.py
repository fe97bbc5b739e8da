"""Finds the processes of one run, and their processor time and memory (Linux, /proc).

A runtime's processes may leave their parent (Ray's do when the driver dies) and may overwrite their environment (by setting a process
title). So a process belongs to the run if one of these is true: its environment has the marker of the run, it is in the session of the
run's first process, its parent belongs to the run, or it belonged to the run before.
"""

import ctypes
import os
import signal
import threading
import time
from dataclasses import dataclass

from reactor.runtime.processes import process_stat

MARKER = "RAYSHIM_BENCHMARK_RUN"

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass
class _Process:
    pid: int
    parent: int
    start: int  # ticks since boot; distinguishes a process from an earlier one with the same pid
    own: int = 0  # ticks, user and system
    reaped: int = 0  # ticks of the children that it waited for, including their children
    alive: bool = True


def _has_marker(pid, marker):
    try:
        return marker in process_stat.words(pid, "environ")
    except OSError:
        return False


def adopt_orphans():
    """Makes this process the parent of all descendants whose own parent ends.

    So they stay as zombies, with their final times, until a ProcessTree of this process has seen them.
    """
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def proportional_set_size(pid):
    """Bytes of `pid`'s memory, each shared page divided by the number of processes that map it; 0 if the process has ended."""
    try:
        return process_stat.memory(pid, "Pss:")
    except OSError:
        return 0


class ProcessTree:
    """All processes of the run whose first process and session leader is `root`, including ended ones."""

    def __init__(self, root, marker):
        self._root = root
        self._marker = f"{MARKER}={marker}"
        self._members = {}
        self._strangers = set()
        self._departed = 0  # ticks of ended members whose pid now belongs to another process

    def scan(self):
        """Searches for the processes again; returns the pids of the living members."""
        present = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        self._strangers &= present
        # Roughly in order of age, so that a parent comes before its children.
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
        """Updates the times of a process if it is a member. Returns whether it runs; a zombie does not."""
        stat = process_stat.of_process(pid)
        known = self._members.get(pid)
        if known is not None and known.start != stat.start:
            self._departed += known.own + known.reaped
            del self._members[pid]
            known = None
        if known is None:
            belongs = (
                pid == self._root
                or stat.session == self._root
                or (stat.parent in self._members and self._members[stat.parent].alive)
                or _has_marker(pid, self._marker)
            )
            if not belongs:
                self._strangers.add(pid)
                return True
            known = self._members[pid] = _Process(pid, stat.parent, stat.start)
        known.parent = stat.parent
        # User and system time are each rounded down, by half a tick on average.
        known.own = stat.own_ticks + 1
        known.reaped = stat.reaped_ticks
        if not stat.lives and stat.parent == os.getpid() and pid != self._root:
            os.waitpid(pid, os.WNOHANG)
        return stat.lives

    def memory(self, without=()):
        """Proportional set size in bytes of all living members except `without`."""
        return sum(proportional_set_size(pid) for pid in self.scan() if pid not in without)

    def settle_root(self, seconds):
        """Sets the processor time of the ended root and the children that it waited for, from the kernel's account."""
        root = self._members.get(self._root)
        if root is not None:
            root.reaped = max(root.reaped, round(seconds * _TICKS_PER_SECOND) - root.own)

    def cpu_seconds(self):
        """Processor time of all members so far.

        There are two values for an ended child: from the last scan that saw it, and from the account of its parent, if the parent waited for
        it. Both may be incomplete, so the larger one counts. The time after the last scan is missed for a process that no parent waited for.
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
        """Waits up to `patience` seconds until the members have ended, then kills the rest. Returns the number of killed processes."""
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
    """A context manager that calls its `tick` every `period` seconds, in its own thread."""

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
    """Reads the processor time of a tree often, and its memory rarely, in its own thread.

    To read the memory of a tree, the kernel walks its page tables. For Ray this takes tens of milliseconds, which disturbs the measurement.
    So the sampler waits for a long time after each reading, unless `look` asks for one. A context manager; no other thread may scan the
    tree inside the block.
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
        """Asks for a reading of the memory at the next sample, for example after the program has created its data."""
        self._memory_due = 0.0

    def tick(self):
        start = time.monotonic()
        if start < self._memory_due:
            self.tree.scan()
            return
        self.peak_memory = max(self.peak_memory, self.tree.memory())
        spent = time.monotonic() - start
        self._memory_due = start + max(self.MEMORY_PERIOD, spent / self.MEMORY_SHARE)
