"""The fixed numbers of the file descriptors that the zygote and the workers inherit."""

SEND_FD = 3  # to the supervisor; workers have this one and the two next
HEAP_FD = 4  # the shared heap
SPILL_FD = 5  # the file for values that do not fit into the heap; closed in a run without one
FIRST_OTHER_FD = 6  # a worker closes everything from here on
CONTROL_FD = 6  # the supervisor's end of SEND_FD
LINE_FD = 7  # to the driver: configuration in, workers' output out; its end tells that the driver is gone
LISTEN_FD = 8  # where drivers come to a session from outside; closed in sessions that take none
FIRST_FREE_FD = 9  # the driver keeps its own ends from here on: none of the above is in use as a source
ALL = (SEND_FD, HEAP_FD, CONTROL_FD, LINE_FD)
SOME = {"spilling": SPILL_FD, "drivers": LISTEN_FD}  # those that a run has if its configuration says so
