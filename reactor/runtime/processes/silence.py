"""The bound on waits for another process of the runtime: who is stopped does not answer, and who is only slow does.

A stopped process (SIGSTOP, Ctrl-Z) may be continued, and then goes on as if nothing had been. So a wait ends only after it was seen stopped for a while.
"""

import time

from reactor.runtime.processes import descendants

STOPPED_SECONDS = 10.0  # that a process may be stopped
SILENT_SECONDS = (
    180.0  # that a process which runs may take for an answer: it may be importing large libraries on a busy machine
)
_STEP_SECONDS = 1.0  # a longer time between two looks does not count: this process was stopped itself


class Unanswered(TimeoutError):
    """Another process of the session did not answer in time; the text says which, and what to do."""


class Silence:
    """The time for which process `pid` has not answered. `who`: what it is, `what`: what it was asked for, for the error."""

    def __init__(self, pid, who, what):
        self._pid, self._who, self._what = pid, who, what
        self._silent = self._stopped = 0.0
        self._last = time.monotonic()

    def look(self):
        """It has not answered up to now. Raises Unanswered if that is too long."""
        now = time.monotonic()
        passed, self._last = min(now - self._last, _STEP_SECONDS), now
        self._silent += passed
        self._stopped = self._stopped + passed if is_stopped(self._pid) else 0.0
        if self._stopped >= STOPPED_SECONDS:
            raise Unanswered(stopped_text(self._who, self._pid, self._what))
        if self._silent >= SILENT_SECONDS:
            raise Unanswered(
                f"{self._what}: {self._who} (pid {self._pid}) has not answered for {self._silent:.0f} s, although it is not stopped. "
                f"`py-spy dump --pid {self._pid}` or `gdb` shows where it is; shutdown() ends the session"
            )


def stopped_text(who, pid, what):
    """The text of an error: process `pid`, which is `who`, is stopped and did not do `what`."""
    return (
        f"{what}: {who} (pid {pid}) is stopped (by SIGSTOP, Ctrl-Z or a debugger) and did not answer for {STOPPED_SECONDS:g} s. "
        f"`kill -CONT {pid}` continues it; shutdown() ends the session"
    )


def is_stopped(pid):
    """Whether the process is stopped by a signal or a debugger."""
    process = descendants.look(pid)
    return process is not None and process.state in "Tt"
