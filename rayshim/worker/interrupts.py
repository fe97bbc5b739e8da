"""The worker's side of `cancel`."""

import os
import signal

from reactor import _core

from rayshim.session import session

methods_run_here = False  # in the main thread of an actor's own process, which hears of cancellations while a method runs by the signal alone


def listen():
    """In a worker: sets a handler by which SIGINT interrupts the running call if that call was cancelled; otherwise SIGINT is ignored."""

    worker = os.getpid()

    def interrupted(number, frame):
        if os.getpid() != worker:  # a process that the program has forked
            return
        if methods_run_here:
            _core.pass_on_cancels()
        _interrupt(_core.cancel_children())  # also if the call has ended meanwhile
        if _core.end_wanted():
            os.kill(os.getpid(), signal.SIGKILL)
        if _core.cancel_wanted():
            if session.current.placement.record is None and _imports(frame):
                _core.leave_after_task()
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupted)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # the program may have blocked it in the driver


def cancel_calls(calls):
    """Cancels calls that `_core.calls_of` gave."""
    _interrupt(_core.cancel_calls(calls))


def _interrupt(processes):
    placement = session.current.placement
    for slot, uid in processes:
        if uid:
            placement.end_task(slot, uid, True)
        else:
            placement.interrupt(slot)


def _imports(frame):
    """Whether an import is under way. An interrupted import of a package leaves those of its modules that were complete: the next import takes
    them as they are, and the package then lacks their names. So a worker in which that has happened must not run other tasks."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
