"""The tasks of submitters that have ended: they end, too. reactor/native/supervise/orphans.h says how they are found."""

import os
import signal
import time
from time import monotonic

from reactor import _core

_LOOK_SECONDS = 0.02  # between two looks at workers that could not be ended yet
_STOP_SECONDS = 0.05  # how long a look waits until a worker is stopped
_ASKED_SECONDS = 0.2  # how long a worker has to end itself
_NO, _CLAIMS, _RUNS = range(3)  # Runs in orphans.h


class Orphans:
    """Arguments: workers, the supervisor's: pid -> Worker; put_off, its PutOff; reason, from facts about the submitter's death to what its tasks get."""

    def __init__(self, workers, put_off, reason):
        self._workers, self._put_off, self._reason = workers, put_off, reason
        self._later = []  # (when their tasks end, submitter, reason)
        self._ending = []  # (submitter, reason): tasks of them may still run
        self._tasks = []  # (when its worker is ended, the Worker, the uid of the task's result)

    def submitter_ended(self, slot, actor, facts, after):
        """Ends the tasks that the process at `slot`, or its actor of this number, has submitted, after some seconds. It has died of `facts`."""
        if not _core.submits(slot):
            return
        self._later.append((monotonic() + after, _core.submitter(slot, actor), self._reason(facts)))
        self.look()

    def seconds(self):
        """How long nothing is to be done, None: for ever."""
        if self._ending:
            return _LOOK_SECONDS
        times = [when for when, *_ in self._later + self._tasks]
        return max(min(times) - monotonic(), 0.0) if times else None

    def look(self):
        """Does what is to be done by now."""
        for entry in [e for e in self._later if e[0] <= monotonic()]:
            self._later.remove(entry)
            _, submitter, reason = entry
            _core.submitter_ended(submitter, _core.put(reason), bool(self._put_off))
            self._ending.append((submitter, reason))
        for entry in [e for e in self._tasks if e[0] <= monotonic()]:
            self._tasks.remove(entry)
            self._end_task(*entry[1:])
        for entry in list(self._ending):
            if not self._end_running(*entry):
                self._ending.remove(entry)

    def end_task(self, w, uid, asked):
        """Ends a worker if it runs the task with this result. `asked`: it is first asked, by a signal, to do that itself."""
        if asked:
            os.kill(w.pid, signal.SIGINT)
        self._tasks.append((monotonic() + (_ASKED_SECONDS if asked else 0.0), w, uid))

    def _end_task(self, w, uid):
        if self._workers.get(w.pid) is w:
            end_if(w.pid, lambda: _core.proc_info(w.slot)["task"] == uid)

    def _end_running(self, submitter, reason):
        """Ends the workers that run tasks of the submitter. Gives whether there may be more."""
        slots = _core.runners_of(submitter)
        for w in [w for w in self._workers.values() if w.slot in slots and w.runs_tasks and w.orphaned is None]:
            if end_if(w.pid, lambda slot=w.slot: _core.runs_task_of(slot, submitter) == _RUNS):
                w.orphaned = reason
        return bool(slots)


def end_if(pid, wanted):
    """Kills a child if `wanted()` holds while it is stopped: it may go on to something else at any moment. Gives whether it was killed."""
    os.kill(pid, signal.SIGSTOP)
    ends = _is_stopped(pid) and wanted()
    os.kill(pid, signal.SIGKILL if ends else signal.SIGCONT)
    return ends


def _is_stopped(pid):
    """Waits until the child is stopped, or has ended, but not for long."""
    until = monotonic() + _STOP_SECONDS
    while monotonic() < until:
        if os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        time.sleep(0.0005)
    return False
