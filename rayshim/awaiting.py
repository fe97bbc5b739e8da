"""`await ref` and `ref.future()`: one thread per process waits for all refs that somebody awaits."""

import threading
from concurrent.futures import Future

from reactor import _core

_lock = threading.Lock()
_pending = []  # (ref, Future) to be taken up by the thread
_wake = None  # ref that the thread waits for besides; completed to wake it
_epoch = None


def future(ref):
    """A Future that gets the value of `ref`, or its error."""
    made = Future()
    if ref.done():
        _settle(ref, made)
        return made
    global _wake, _epoch
    with _lock:
        _pending.append((ref, made))
        if _epoch != _core.epoch():
            _epoch = _core.epoch()
            _wake = _core.request()
            threading.Thread(target=_watch, args=(_epoch,), name="ref-futures", daemon=True).start()
        else:
            if _wake is not None:
                wake, _wake = _wake, None
                _core.reply(wake[1], None)
    return made


def _watch(epoch):
    global _wake
    waiting = []
    while _core.epoch() == epoch:
        with _lock:
            waiting += _pending
            _pending.clear()
            if _wake is None:
                _wake = _core.request()
            wake = _wake[0]
        try:
            _core.wait([wake, *(ref for ref, _ in waiting)], 1, None)
        except (RuntimeError, ValueError):
            return  # the session has ended
        still = []
        for ref, made in waiting:
            if ref.done():
                _settle(ref, made)
            else:
                still.append((ref, made))
        waiting = still


def _settle(ref, made):
    if not made.set_running_or_notify_cancel():
        return
    try:
        value = _core.get_one(ref, None)
    except BaseException as error:
        made.set_exception(error)
    else:
        made.set_result(value)
