"""Callbacks for the time when the last ref of an object is gone."""

import threading
import time

from reactor import _core

from rayshim.session import session

_SECONDS = 0.02  # between two looks
_lock = threading.Lock()
_watched = {}  # uid -> (offset, id, [callbacks])
_watching = None  # the Session whose objects a thread watches


def watch(ref, callback):
    """Has `callback(id)` (bytes) called in a thread of its own when no process of the session holds a ref of the object any more, within some
    hundredths of a second. Returns True."""
    global _watching
    with _lock:
        if _watching is not session.current:
            _watched.clear()
            _watching = session.current
            threading.Thread(target=_watch, args=(_watching,), name="rayshim watches objects", daemon=True).start()
        _watched.setdefault(ref.uid, (ref.offset, ref.binary(), []))[2].append(callback)
    return True


def _watch(of):
    while session.current is of:
        with _lock:
            if session.current is not of:
                return
            gone = [uid for uid, (offset, _, _) in _watched.items() if not _core.is_held(offset, uid)]
            ended = [_watched.pop(uid) for uid in gone]
        for _, name, callbacks in ended:
            for callback in callbacks:
                callback(name)
        time.sleep(_SECONDS)
