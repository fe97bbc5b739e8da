"""`await ref` and `ref.future()`. One thread per process waits for all these refs."""

import threading
from concurrent.futures import Future

from reactor import _core

_lock = threading.Lock()
_pending = []  # (refs, Future, function that settles the Future when one of the refs is done), not yet seen by the thread
_watched = []  # like _pending, those that the thread has seen
_wake = None  # (ref, offset, note) of a further ref that the thread waits for: fulfilling it wakes the thread
_epoch = None


class _OfRef(Future):
    """Keeps the ref, so that the value stays."""

    def __init__(self, ref):
        super().__init__()
        self.object_ref = ref


def future(ref):
    """A concurrent.futures.Future with the value of `ref`, or its error."""
    fut = _OfRef(ref)
    if _done((ref,)):
        _settle((ref,), fut)
    else:
        _watch_for((ref,), fut, _settle)
    return fut


def any_done(refs):
    """A Future that becomes None when one of `refs` is done, whether it succeeded or failed."""
    fut = Future()
    if _done(refs):
        fut.set_result(None)
    else:
        _watch_for(tuple(refs), fut, _tell)
    return fut


def awaited():
    """The refs for which somebody waits by `await` or a Future, and which are not done."""
    return [ref for refs, fut, _ in [*_watched, *_pending] if not fut.done() for ref in refs if not ref.done()]


def _done(refs):
    return any(ref.done() for ref in refs)


def _watch_for(refs, fut, settle):
    global _wake, _epoch
    with _lock:
        _pending.append((refs, fut, settle))
        if _epoch != _core.epoch():
            _epoch = _core.epoch()
            _wake = _core.promise()
            threading.Thread(target=_watch, args=(_epoch,), name="ref-futures", daemon=True).start()
        else:
            if _wake is not None:
                wake, _wake = _wake, None
                _core.fulfil(*wake[1:], None)


def _watch(epoch):
    global _wake, _watched
    waiting = []
    while _core.epoch() == epoch:
        with _lock:
            waiting += _pending
            _pending.clear()
            if _wake is None:
                _wake = _core.promise()
            wake = _wake[0]
            _watched = waiting
        try:
            _core.wait([wake, *{ref: None for refs, _, _ in waiting for ref in refs}], 1, None)
        except (RuntimeError, ValueError):
            return  # the session has ended
        still = []
        for refs, fut, settle in waiting:
            if fut.cancelled():
                continue
            if any(ref.done() for ref in refs):  # not _done: a recorded run has its own
                settle(refs, fut)
            else:
                still.append((refs, fut, settle))
        waiting = still


def _tell(refs, fut):
    if fut.set_running_or_notify_cancel():
        fut.set_result(None)


def _settle(refs, fut):
    if not fut.set_running_or_notify_cancel():
        return
    try:
        value = _core.get_one(refs[0], None)
    except BaseException as error:
        fut.set_exception(error)
    else:
        fut.set_result(value)
