"""The file descriptors that the zygote and the workers inherit.

The zygote, a new interpreter, finds them at fixed numbers. Workers run the program's code, which may close descriptors that it has not opened. So theirs
have high numbers (memory/descriptor.h): those to which the zygote has moved its own.
"""

import os
from typing import Any, NamedTuple

SEND_FD = 3  # to the supervisor
HEAP_FD = 4  # the shared heap
SPILL_FD = 5  # the file for values that do not fit into the heap; closed in a run without one
CONTROL_FD = 6  # the supervisor's end of SEND_FD
LINE_FD = 7  # to the driver: configuration in, workers' output out; its end tells that the driver is gone
LISTEN_FD = 8  # where drivers come to a session from outside; closed in sessions that take none
FIRST_FREE_FD = 9  # the driver keeps its own ends from here on: none of the above is in use as a source
ALL = (SEND_FD, HEAP_FD, CONTROL_FD, LINE_FD)
SOME = {"spilling": SPILL_FD, "drivers": LISTEN_FD}  # those that a run has if its configuration says so


class OfWorkers(NamedTuple):
    """The numbers of the descriptors that the workers of this zygote have, as they are in the zygote and in each of them; `spill` is -1 in a run
    without a spill file."""

    send: int
    heap: int
    spill: int

    def all(self):
        return [fd for fd in self if fd >= 0]

    def close_others(self):
        """Closes all other descriptors of this process, except the standard ones."""
        start = 3
        for fd in (*sorted(self.all()), 1 << 20):
            os.closerange(start, fd)
            start = fd + 1


of_workers: Any = None  # OfWorkers, in the zygote and the workers
