"""Tasks that have failed, or whose worker has died, and that are run again after a pause."""

import heapq
from time import monotonic

from reactor import _core


class PutOff:
    """Tasks between two runs; reactor/native/supervise/retries.h says how they come here."""

    def __init__(self):
        self._tasks = []  # a heap of (when it is run again, task)
        self._last_given = {}  # submitter -> number of the last task that it has given away
        # (submitter, number) of tasks that were taken from dead processes before their messages were read
        self._noted = set()

    def __bool__(self):
        return bool(self._tasks)

    def given(self, submitter, number, task, delay):
        """The worker that is this submitter (`_core.submitter`) has given the task away, with this number."""
        if (submitter, number) in self._noted:
            self._noted.remove((submitter, number))
            return
        self._last_given[submitter] = number
        self.add(task, delay)

    def take_last_given(self, slot):
        """The number of the last task that a process has given away, which has died."""
        return self._last_given.pop(_core.submitter(slot, 0), 0)

    def of_dead(self, slot, delay):
        """Takes the tasks that the last `_core.reap`, of the process at `slot`, has left."""
        tasks, number = _core.put_off()
        if number:
            self._noted.add((_core.submitter(slot, 0), number))
        for task in tasks:
            self.add(task, delay)
        return len(tasks)

    def add(self, task, delay):
        heapq.heappush(self._tasks, (monotonic() + delay, task))

    def seconds(self):
        """How long nothing is to be done, None: for ever."""
        return max(self._tasks[0][0] - monotonic(), 0.0) if self._tasks else None

    def look(self):
        """Has the tasks run again whose time has come."""
        while self._tasks and monotonic() >= self._tasks[0][0]:
            _core.run_again(heapq.heappop(self._tasks)[1])
