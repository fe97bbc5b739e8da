"""What a process of a replay does where its record says that a call did not begin, did not end, or was ended; see rayshim.rerun."""

import os
import signal
import threading
import time
from collections import deque

from reactor import _core

from rayshim import session

_HANDED_ON, _FAILS = 1, 2  # the core's hook `began`
_ARRIVED = "arrived"
_PATIENCE = 30.0  # seconds for a victim to come to where it was when it was killed or cancelled
_GRACE = 1.0  # seconds for the program itself to send the signal that ended a process
_kept = None  # rayshim.rerun.Kept
_here = {}  # number of an actor of this process -> _Following
insides = {}  # number of an actor of this process with several calls at once -> RecordedLoop of each of its groups, or its RecordedTurns
_to_make = {}  # its number -> tags of the calls that it has still to make; a process has one such actor
_left = {}  # tag of a running call that did not end then -> how many calls it may still make
_doomed = set()  # actors of this process that a signal ended and that have not come so far yet


class _Following:
    """How far an actor of this process has come in its recorded life."""

    def __init__(self, number, key):
        self.key, self.life = key, _kept.lives[key]
        self.insides, self.to_make = insides.get(number, []), _to_make.get(number)
        self.begun = self.ended = 0

    def look(self):
        if self.life.ended and self.begun == len(self.life.script) and self.ended == self.begun - len(self.life.halts):
            if all(inside.finished for inside in self.insides) and not self.to_make and not any(_left.get(tag) for tag in self.life.halts):
                _arrive(self.key)


def hooks(kept):
    """The core's hooks in this process."""
    global _kept
    _kept = kept
    _here.clear()
    insides.clear()
    _to_make.clear()
    _left.clear()
    _doomed.clear()
    return {"began": _began, "makes": _makes, "executed": _executed, "ended": _ended}


def halt():
    """Waits for the end that the running call, or this process, came to."""
    ref, _ = _core.request()
    _core.wait([ref], 1, None)


def born(facts):
    """An actor of this process begins a recorded life."""
    from rayshim.rerun import life

    follow = _here[facts["number"]] = _Following(facts["number"], life(facts))
    if follow.life.ended == "signal":
        _doomed.add(follow.key)
    follow.look()


def several(number, life):
    """An actor of this process, about to be made, runs several calls at once."""
    _to_make[number] = deque(life.made)


def look(number):
    """An actor of this process has come as far as its record in something."""
    if number in _here:
        _here[number].look()


def when_arrived(what, ref=None):
    """Waits until a tag, or (ordinal, life), has come to where it was ended then, or `ref` is done. ReplayError after a while."""
    deadline = time.monotonic() + _PATIENCE
    while not (ref is not None and ref.done()) and (_ARRIVED, what) not in session.current.control.ask("posted", _ARRIVED):
        if time.monotonic() > deadline:
            from rayshim.exceptions import ReplayError

            raise ReplayError(f"the program no longer matches its record: in {_PATIENCE:g} s what it ends here, {what}, did not come to where it was ended in the record")
        time.sleep(0.002)


def _began(number, tag, how):
    if how == _FAILS:
        return
    if tag not in _kept.began:
        halt()
    follow = _here.get(number)
    halts = follow.life.halts if follow else _kept.halts
    if tag in halts:
        _left[tag] = halts[tag]
    if follow:
        follow.begun += 1
        if how == _HANDED_ON:
            follow.ended += 1
        follow.look()
    if tag in _kept.cancelled and (tag in _kept.interrupted or _left.get(tag) == 0 or tag in _kept.outlived):
        _arrive(tag)
    if tag in _kept.outlived:
        while not _core.cancel_wanted():
            time.sleep(0.001)


def _makes():
    if _to_make:
        return _makes_next(*next(iter(_to_make.items())))
    caller = _core.running_tag()
    if caller not in _left:
        return
    if _left[caller] == 0:
        halt()
    _left[caller] -= 1
    if _left[caller] == 0:
        if caller in _kept.cancelled:
            _arrive(caller)
        for follow in _here.values():
            if caller in follow.life.halts:
                follow.look()


def _makes_next(number, tags):
    """The tag of a call that an actor makes whose calls run side by side."""
    if not tags:
        if all(inside.at_end for inside in insides.get(number, ())):
            for inside in insides.get(number, ()):
                inside.finished = True
            look(number)
            halt()
        from rayshim.exceptions import ReplayError

        raise ReplayError("the program no longer matches its record: here the actor makes a further call")
    tag = tags.popleft()
    if not tags:
        look(number)
    return tag


def _executed(number, method, tag, digest, args, value, cancelled):
    if _left.pop(tag, None) is not None and not cancelled:
        halt()


def _ended(number, tag, _):
    follow = _here.get(number)
    if follow and tag not in follow.life.halts:
        follow.ended += 1
        follow.look()


def _arrive(what):
    session.current.control.tell("post", (_ARRIVED, what), True)
    if what in _doomed:
        _doomed.discard(what)
        if not _doomed:
            timer = threading.Timer(_GRACE, os.kill, (os.getpid(), signal.SIGKILL))
            timer.daemon = True
            timer.start()
