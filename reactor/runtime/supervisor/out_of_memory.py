"""The supervisor's reaction when the machine's memory runs out: it kills workers whose calls can be run again, the newest calls first, before the
kernel chooses a process."""

import contextlib
import heapq
import os
import signal
from time import monotonic
from typing import NamedTuple

from reactor import _core
from reactor.runtime.processes import control_groups

_LONGEST_DELAY = 60.0  # seconds before a task is run again
_SHOWN = 10  # processes with the most memory, in the facts


class Usage(NamedTuple):
    """Bytes in use, of those that there are."""

    used: int
    total: int


def usage(proc=control_groups.PROC, groups=control_groups.GROUPS):
    """The machine's Usage or, if that allows less, the control group's. Memory that the kernel can take back counts as free. OSError where nothing
    can be read."""
    machine = _table(f"{proc}/meminfo")
    total = machine["MemTotal:"] * 1024
    group = control_groups.memory_group(proc, groups)
    if group and group.limit < total:
        with contextlib.suppress(OSError, ValueError, KeyError):
            return Usage(group.used(), group.limit)
    return Usage(total - machine["MemAvailable:"] * 1024, total)


class Candidate(NamedTuple):
    """A worker that may be ended. `call`: the uid of its task or the number of its actor, which grow with time; 0: it is idle. An actor has retries if it
    may be restarted at all, also when no restart is left."""

    worker: object
    bytes: int
    call: int
    has_retries: bool


def choose(candidates, excess, idle):
    """Those of the Candidates that are to be ended so that `excess` bytes become free: first the idle ones that hold more than `idle` bytes, then those
    whose calls have retries, and among these the latest."""
    chosen = []
    for candidate in sorted(candidates, key=lambda c: (c.call != 0, not c.has_retries, -c.call)):
        if excess <= 0:
            break
        if candidate.call or candidate.bytes > idle:
            chosen.append(candidate)
            excess -= candidate.bytes
    return chosen


class MemoryMonitor:
    """Arguments: config, the dict `memory` of reactor.runtime.driver.Driver, None: nothing is looked at; workers, the supervisor's: pid -> Worker."""

    def __init__(self, config, workers):
        self._config, self._workers = config, workers
        self._next = 0.0
        self._limit = 0
        self._ended = {}  # uid of a task -> how often it was ended
        if config:
            try:
                total = usage().total
            except (OSError, KeyError):
                self._config = None
                return
            self._limit = int(total * config["share"])
            if config["free"] is not None:
                self._limit = max(self._limit, total - config["free"])
            self._next = monotonic() + config["interval"]

    def seconds(self):
        """How long the supervisor may sleep, None: for ever."""
        return max(self._next - monotonic(), 0.0) if self._config else None

    def look(self):
        """If memory runs out, ends workers; a worker's `memory` then has the facts."""
        if not self._config:
            return
        now = monotonic()
        if now < self._next:
            return
        self._next = now + self._config["interval"]
        try:
            seen = usage()
        except OSError:  # no descriptor is free, say
            return
        # The memory of those that were ended is free when they are dead.
        if seen.used > self._limit and not any(w.memory for w in self._workers.values()):
            self._end(seen)

    def _end(self, seen):
        candidates = [c for w in self._workers.values() if (c := self._candidate(w))]
        chosen = choose(candidates, seen.used - self._limit, self._config["idle"])
        if not chosen:
            return
        facts = {
            "used": seen.used,
            "total": seen.total,
            "limit": self._limit,
            "ended": [(c.worker.pid, c.bytes, _title(c.worker.pid), c.has_retries) for c in chosen],
            "largest": _largest(),
        }
        for candidate in chosen:
            candidate.worker.memory = facts
            candidate.worker.lost_task = candidate.call if candidate.worker.runs_tasks else 0
            os.kill(candidate.worker.pid, signal.SIGKILL)

    def _candidate(self, w):
        size = resident(w.pid)
        if w.is_packed:
            return Candidate(w, size, max((a.facts["number"] for a in w.actors.values()), default=0), False)
        if w.actor is not None:
            return Candidate(w, size, w.actor.facts["number"], w.actor.facts.get("max_restarts", 0) != 0)
        info = _core.proc_info(w.slot)
        return Candidate(w, size, info["task"], bool(info["has_retries"]))

    def retry(self, w):
        """How the tasks of a dead worker are retried, a `_core.Retry`."""
        if not w.memory or not w.runs_tasks:
            return _core.Retry.COUNTED
        most = self._config["retries"]
        return _core.Retry.FREE if most < 0 or self._ended.get(w.lost_task, 0) < most else _core.Retry.NEVER

    def retried(self, w, number):
        """`number` tasks of a dead worker are to be run again. Gives (seconds until then, how many more times that can happen, for each), or None if
        the worker was not ended for its memory."""
        if not number or not w.memory or not w.runs_tasks:
            return None
        times = self._ended[w.lost_task] = self._ended.get(w.lost_task, 0) + 1
        most = self._config["retries"]
        left = [_core.FOREVER if most < 0 else most - times + 1] * number
        return min(self._config["delay"] * 2 ** min(times - 1, 30), _LONGEST_DELAY), left


def resident(pid):
    """Bytes of a process's own memory, without what it shares through files; 0 if it has ended."""
    with contextlib.suppress(OSError, KeyError):
        return _table(f"/proc/{pid}/status", ("RssAnon:",))["RssAnon:"] * 1024
    return 0


def _largest():
    """(pid, bytes, command line) of the processes with the most memory."""
    sizes = heapq.nlargest(_SHOWN, ((resident(int(name)), int(name)) for name in os.listdir("/proc") if name.isdigit()))
    return [(pid, size, _title(pid)) for size, pid in sizes if size]


def _title(pid):
    with contextlib.suppress(OSError):
        return _read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
    return ""


def _table(path, names=None):
    """The lines `name value ...` of a file as a dict of ints; `names`: only these."""
    rows = (line.split() for line in _read(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and (names is None or row[0] in names)}


def _read(path):
    with open(path, errors="replace") as file:
        return file.read()
