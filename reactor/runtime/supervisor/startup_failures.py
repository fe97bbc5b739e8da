"""Task workers that die before they have run anything. If that goes on, tasks would wait for ever and forks never end."""

import os
import signal

LIVES, KILLED, FAILED = range(3)
_LIMIT = 3
_BY_OTHERS = (
    signal.SIGKILL,
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
)  # somebody else has ended the process


class StartupFailures:
    """Arguments: tell, called with a text for the user."""

    def __init__(self, tell):
        self._tell = tell
        self._failed = 0  # task workers in a row that died by themselves before they ran anything
        self._killed = 0  # those in a row that were killed before they ran anything

    def record(self, ran, status):
        """A task worker has ended with this status; `ran`: it had run something, or ended in order. Gives what is to be done about the next:
        LIVES, start it; KILLED, start it a little later; FAILED, fail the tasks that wait for one."""
        killed = (
            not ran and os.WIFSIGNALED(status) and os.WTERMSIG(status) in _BY_OTHERS
        )  # this says nothing of the next
        self._killed = self._killed + 1 if killed else 0
        self._failed = 0 if ran else self._failed + (not killed)
        if self._killed >= _LIMIT:
            if self._killed == _LIMIT:
                self._tell(
                    f"task workers are killed (signal {os.WTERMSIG(status)}) before they can run anything; the tasks wait, and new workers "
                    "are started. If no program kills them, the machine may be out of memory"
                )
            return KILLED
        if self._failed >= _LIMIT:
            self._tell("task workers die before they can run anything; see their output. All waiting tasks fail")
            self._failed = 0
            return FAILED
        return LIVES
