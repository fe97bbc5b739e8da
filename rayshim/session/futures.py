"""`await ref` and `ref.future()`. One thread per process waits for all these refs."""

import threading
from concurrent.futures import Future

from reactor import _core

from rayshim.session import session

_lock = threading.Lock()
_pending = []  # (refs, Future, function that settles the Future when one of the refs is done) of run _epoch, not yet seen by its thread
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
    if session.timed_loop and session.timed_loop((ref,), fut, _settle):
        return fut
    if _done((ref,)):
        _settle((ref,), fut)
    else:
        watch_for((ref,), fut, _settle)
    return fut


def any_done(refs):
    """A Future that becomes None when one of `refs` is done, whether it succeeded or failed."""
    fut = Future()
    if session.timed_loop and session.timed_loop(tuple(refs), fut, _tell):
        return fut
    if _done(refs):
        fut.set_result(None)
    else:
        watch_for(tuple(refs), fut, _tell)
    return fut


def awaited():
    """The refs for which somebody waits by `await` or a Future, and which are not done."""
    return [ref for refs, fut, _ in [*_watched, *_pending] if not fut.done() for ref in refs if not ref.done()]


def _done(refs):
    return any(ref.done() for ref in refs)


def watch_for(refs, fut, settle):
    """Has `settle(refs, fut)` called, by a thread of its own, when one of `refs` is done."""
    global _wake, _epoch
    late = []
    with _lock:
        now = _core.epoch()
        if _epoch != now:
            wake = _core.promise()
            late, _pending[:] = list(_pending), [(refs, fut, settle)]
            _wake, _epoch = wake, now
            threading.Thread(target=_watch, args=(now,), name="ref-futures", daemon=True).start()
        else:
            _pending.append((refs, fut, settle))
            if _wake is not None:
                wake, _wake = _wake, None
                _core.fulfil(*wake[1:], None)
    for its_refs, its_future, its_settle in late:  # of a run that has ended, whose thread has not seen them
        its_settle(its_refs, its_future)


def _watch(epoch):
    waiting = []
    while (wake := _take(epoch, waiting)) is not None:
        try:
            _core.wait([wake, *{ref: None for refs, _, _ in waiting for ref in refs}], 1, None)
        except (RuntimeError, ValueError):
            pass  # the session has ended, or one of the refs is of an earlier one
        still = []
        for refs, fut, settle in waiting:
            if fut.cancelled():
                continue
            if _over(refs):
                settle(refs, fut)
            else:
                still.append((refs, fut, settle))
        waiting = still
    if not session.exiting():  # then nobody waits for them any more
        for refs, fut, settle in waiting:
            settle(refs, fut)  # its error says that the session has ended


def _take(epoch, waiting):
    """Adds to `waiting` what has come for the thread of run `epoch`. The ref that wakes it; None: that run has ended."""
    global _wake, _watched
    with _lock:
        if _epoch == epoch:
            waiting += _pending
            _pending.clear()
            _watched = waiting
        if _epoch != epoch or _core.epoch() != epoch:
            return None
        if _wake is None:
            try:
                _wake = _core.promise()
            except RuntimeError:  # it ends now
                return None
        return _wake[0]


def _over(refs):
    """Whether one of the refs is done, or none of them ever will be."""
    try:
        return any(ref.done() for ref in refs)  # not _done: a recorded run has its own
    except (RuntimeError, ValueError):  # of a session that has ended
        return True


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
