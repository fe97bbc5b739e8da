"""In a replay: calls that did not start or did not end in the recorded run, and actors and calls that were killed or cancelled there. See
rayshim.journal.rerun."""

import os
import signal
import threading
import time
from collections import deque

from reactor import _core

from rayshim.errors.exceptions import ReplayError
from rayshim.journal.files import life
from rayshim.session import session

_ARRIVED = "arrived"
_QUIET = 60.0  # seconds for which the driver has waited and nothing has moved, when it gives up
_BUSY = 0.1  # share of the processor that workers use at most which wait, and look now and then
_HALTED = "halted"
_PATIENCE = 30.0  # seconds for a victim to come to where it was when it was killed or cancelled
_GRACE = 1.0  # seconds for the program itself to send the signal that ended a process
_kept = None  # rayshim.journal.rerun.Kept
_asking = False
_quiet = []  # in the driver, while nothing moves: what `_motion` gave, and since when
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
        if self.life.ended and self.begun == len(self.life.script) and self.ended == self.begun - len(self.life.halts):  # noqa: SIM102
            if (
                all(inside.finished for inside in self.insides)
                and not self.to_make
                and not any(_left.get(tag) for tag in self.life.halts)
            ):
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
    _quiet.clear()
    if session.current is not None and session.current.driver is None:
        _tell_halted(0, None)  # another process may have had this slot
    return {"began": _began, "makes": _makes, "executed": _executed, "ended": _ended}


def halt(what, key=None):
    """Waits for the end that the running call, or this process, came to. `what` happens no more in the record, a sentence; `key`: of the actor,
    (ordinal, life)."""
    _, number = _core.running()
    if key is None and number in _here:
        key = _here[number].key
    if (
        key not in _kept.lives or _kept.lives[key].ended is None
    ):  # else its end comes, and with it an answer for those who wait
        _tell_halted(number, what + _kept.end_told(key))
    ref, _ = _core.request()
    try:
        _core.wait([ref], 1, None)
    finally:
        _tell_halted(number, None)  # it was interrupted


def _tell_halted(number, what):
    """The driver is to know that the actor `number`, or for 0 the task that runs in this process, goes no further; None: it does."""
    if session.current is not None:  # else the session has just ended
        session.current.placement.post((_HALTED, number or -1 - _core.slot()), what)


def all_halted(number):
    """Whether all event loops of the actor, or its threads, have come to the end of their record: the driver is to know."""
    follow = _here.get(number)
    if (
        follow is not None
        and follow.life.ended is None
        and follow.insides
        and all(inside.halted for inside in follow.insides)
    ):
        _tell_halted(
            number,
            "an actor that runs several calls at once has reached the end of its recorded calls"
            + _kept.end_told(follow.key),
        )


def stopped(me):
    """In the driver, which waits (as call `me`, see `_core.waits`): a ReplayError if what it waits for can never come, else None."""
    global _asking
    if _asking:  # the wait is that for the answers to what is asked here
        return None
    _asking = True
    try:
        return _stopped(me)
    finally:
        _asking = False


def _stopped(me):
    halted = {key: what for key, what in session.current.placement.posted(_HALTED, timeout=5).items() if what}
    if what := _reached(_core.waits(), me, {key[1]: what for key, what in halted.items()}):
        why = (
            "the program no longer matches its journal: it waits for a result that the recorded run never had"
            if _kept.complete
            else "the journal ends before the result that the program waits for"
        )
        return ReplayError(f"{why}: {what}")
    made, used = _motion()
    now = time.monotonic()
    if not _quiet or _quiet[0] != made or used - _quiet[1] > _BUSY * (now - _quiet[2]) + _BUSY:
        _quiet[:] = [made, used, now]
    elif now > _quiet[2] + _QUIET:
        seen = "".join(f"\n  {what}" for what in halted.values())
        return ReplayError(
            f"the program no longer matches its journal: no call has started or ended for {_QUIET:g} s, and the program still waits for a result{_kept.end_told(None)}{seen}"
        )
    return None


def _reached(waits, me, halted):
    """What is told of a halted call that `me` waits for, or others for which it waits."""
    serving = {actor: waiter for waiter, (_, actor, *_) in waits.items() if actor}
    open_, seen = [me], {me}
    while open_:
        for _, runner, actor in waits.get(open_.pop(), (0, 0, ()))[2]:
            if what := halted.get(actor or -1 - (runner & 0xFFFF)) if actor or runner >= 0 else None:
                return what
            to = runner if runner >= 0 else serving.get(actor)
            if to is not None and to not in seen:
                seen.add(to)
                open_.append(to)
    return None


def _motion():
    """(what changes with each call that is made or ends, seconds of processor time that the workers have used)."""
    used = 0
    for worker in session.current.placement.state(timeout=5)["workers"]:
        try:
            with open(f"/proc/{worker['pid']}/stat") as file:
                used += sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
        except OSError:
            pass  # it has just ended
    return (_core.counters()["calls_total"], _core.digest()), used / os.sysconf("SC_CLK_TCK")


def born(facts):
    """An actor of this process begins a recorded life."""
    follow = _here[facts["number"]] = _Following(facts["number"], life(facts))
    if facts.get("restarts"):
        _tell_halted(facts["number"], None)
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
    while not (ref is not None and ref.done()) and (_ARRIVED, what) not in session.current.placement.posted(_ARRIVED):
        if time.monotonic() > deadline:
            raise ReplayError(
                f"the program no longer matches its journal: it ends {what} here, which has not reached within {_PATIENCE:g} s the place where it was ended in the recorded run"
            )
        time.sleep(0.002)


def _began(number, tag, how):
    if how == _core.Beginning.FAILS:
        return
    follow = _here.get(number)
    if tag not in _kept.began:
        halt(f"call {list(tag)} did not start in the recorded run", follow and follow.key)
    halts = follow.life.halts if follow else _kept.halts
    if tag in halts:
        _left[tag] = halts[tag]
    if follow:
        follow.begun += 1
        if how == _core.Beginning.HANDED_ON:
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
        halt(f"call {list(caller)} made no further call in the recorded run, and did not end")
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
            halt("the actor made no further call in the recorded run", _here[number].key if number in _here else None)
        raise ReplayError(
            "the program no longer matches its journal: the actor makes a call here that is not in the journal"
            + _kept.end_told(_here[number].key if number in _here else None)
        )
    tag = tags.popleft()
    if not tags:
        look(number)
    return tag


def _executed(number, method, tag, digest, args, value, cancelled):
    if _left.pop(tag, None) is not None and not cancelled:
        halt(f"call {list(tag)} did not end in the recorded run")


def _ended(number, tag, _):
    follow = _here.get(number)
    if follow and tag not in follow.life.halts:
        follow.ended += 1
        follow.look()


def _arrive(what):
    session.current.placement.post((_ARRIVED, what), True)
    if what in _doomed:
        _doomed.discard(what)
        if not _doomed:
            timer = threading.Timer(_GRACE, os.kill, (os.getpid(), signal.SIGKILL))
            timer.daemon = True
            timer.start()
