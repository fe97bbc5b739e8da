"""A replay's rules for calls that did not start or did not end in the recorded run, and for actors and calls that were killed or cancelled there.
The rules are in rayshim.journal.journal."""

import os
import signal
import threading
import time
from collections import deque
from typing import Any

from reactor import _core
from reactor.runtime.processes import process_stat
from reactor.waits import maker_of

from rayshim.errors.exceptions import ReplayError
from rayshim.journal.files import life
from rayshim.journal.interleaving import REPLAY_SECONDS
from rayshim.session import session

_ARRIVED = "arrived"
_QUIET = 60.0  # seconds without any event after which a waiting driver gives up
_BUSY = 0.1  # most processor time, as a share, that workers use while all of them wait
_HALTED = "halted"
_GRACE = 1.0  # seconds for the program itself to send the signal that ended a process
_journal: Any = None  # rayshim.journal.journal.Journal
_asking = False
_quiet = []  # in the driver, while nothing happens: both results of `_activity`, and the time since when
facts = {}  # number of an actor of this process -> its facts
_actors = {}  # number of an actor of this process -> _Progress
interleavings = {}  # number of an actor of this process with several calls at once -> JournaledLoop of each of its groups, or its JournaledTurns
_calls_to_make = {}  # number of such an actor -> tags of the calls that it has still to make; a process has one such actor
_calls_left = {}  # tag of a running call that did not end in the recorded run -> number of calls that it may still make
_to_be_killed = set()  # actors of this process that a signal ended, and that have not reached that place yet


class _Progress:
    """How much of its recorded life an actor of this process has repeated."""

    def __init__(self, number, key):
        self.key, self.life = key, _journal.lives[key]
        self.interleavings, self.calls_to_make = interleavings.get(number, []), _calls_to_make.get(number)
        self.begun = self.ended = 0

    def check(self):
        if self.life.end and self.begun == len(self.life.script) and self.ended == self.begun - len(self.life.halts):  # noqa: SIM102
            if (
                all(interleaving.finished for interleaving in self.interleavings)
                and not self.calls_to_make
                and not any(_calls_left.get(tag) for tag in self.life.halts)
            ):
                _tell_arrived(self.key)


def hooks(journal):
    """The core's hooks for a replay in this process, {name: function}."""
    global _journal
    _journal = journal
    _actors.clear()
    facts.clear()
    interleavings.clear()
    _calls_to_make.clear()
    _calls_left.clear()
    _to_be_killed.clear()
    _quiet.clear()
    if not journal.enforces_order:
        return {
            "call_tag": _check_call,
            "call_sent": _call_sent,
            "call_started": _call_begins,
            "executed": _compare,
        }
    if session.in_worker():
        _tell_halted(0, None)  # another process may have had this slot
    return {
        "call_started": _call_started,
        "call_tag": _call_tag,
        "call_sent": _call_sent,
        "executed": _executed,
        "call_finished": _call_finished,
    }


def halt(what, key=None):
    """Stops the running call here until it is interrupted, because its journal ends here.

    Arguments: what, a sentence for the error, says which event the journal does not have; key, (ordinal, life) of the actor.
    """
    number = _core.running_actor()
    if key is None and number in _actors:
        key = _actors[number].key
    if (
        key not in _journal.lives or _journal.lives[key].end is None
    ):  # else its end comes, and with it an answer for those who wait
        _tell_halted(number, what + _journal.where_it_ends(key))
    ref, _, _ = _core.promise()
    try:
        _core.wait([ref], 1, None)
    finally:
        _tell_halted(number, None)  # it was interrupted


def _tell_halted(number, what):
    """Tells the driver why the actor `number`, or for 0 the task of this process, has stopped; with None, that it runs again."""
    if session.current is not None:  # else the session has just ended
        session.current.placement.post((_HALTED, number or -1 - _core.slot()), what)


def all_halted(number):
    """Tells the driver if all event loops of the actor, or its threads, have reached the end of their journal."""
    progress = _actors.get(number)
    if (
        progress is not None
        and progress.life.end is None
        and progress.interleavings
        and all(interleaving.halted for interleaving in progress.interleavings)
    ):
        _tell_halted(
            number,
            "an actor that runs several calls at once has reached the end of its recorded calls"
            + _journal.where_it_ends(progress.key),
        )


def error_of_wait(me):
    """A ReplayError if the driver waits for a result that can never come, else None. `me`: the waiting call, see `_core.waits`."""
    global _asking
    if _asking:  # the wait is that for the answers to what is asked here
        return None
    _asking = True
    try:
        return _error_of_wait(me)
    finally:
        _asking = False


def _error_of_wait(me):
    try:
        halted = {key: what for key, what in session.current.placement.posted(_HALTED, timeout=5).items() if what}
        activity, used = _activity()
    except TimeoutError:
        return None  # the machine is busy: the next check asks again
    if what := _halted_call(_core.waits(), me, {key[1]: what for key, what in halted.items()}):
        why = (
            "the program no longer matches its journal: it waits for a result that the recorded run never had"
            if _journal.complete
            else "the journal ends before the result that the program waits for"
        )
        return ReplayError(f"{why}: {what}")
    now = time.monotonic()
    last, used_then, since = _quiet or (None, 0.0, now)
    if not _quiet or last != activity or used - used_then > _BUSY * (now - since) + _BUSY:
        _quiet[:] = [activity, used, now]
    elif now > since + _QUIET:
        seen = "".join(f"\n  {what}" for what in halted.values())
        return ReplayError(
            f"the program no longer matches its journal: no call has started or ended for {_QUIET:g} s, and the program still waits for a result{_journal.where_it_ends(None)}{seen}"
        )
    return None


def _halted_call(waits, me, halted):
    """The sentence about a stopped call for which `me` waits, directly or through other calls; None if there is none."""
    maker = maker_of(waits)
    open_, seen = [me], {me}
    while open_:
        waiter = waits.get(open_.pop())
        for result in waiter.results if waiter else ():
            _, runner, actor = result
            if what := halted.get(actor or -1 - _core.slot_of(runner)) if actor or runner >= 0 else None:
                return what
            to = maker(result)
            if to is not None and to not in seen:
                seen.add(to)
                open_.append(to)
    return None


def _activity():
    """(values that change with each call that is made or ends, seconds of processor time that the workers have used)"""
    used = 0
    for worker in session.current.placement.state(timeout=5)["workers"]:
        try:
            used += process_stat.of_process(worker["pid"]).own_ticks
        except OSError:
            pass  # it has just ended
    return (_core.counters()["calls_total"], _core.digest()), used / os.sysconf("SC_CLK_TCK")


def created(facts):
    """Called when an actor of this process was created or restarted."""
    progress = _actors[facts["number"]] = _Progress(facts["number"], life(facts))
    if facts.get("restarts"):
        _tell_halted(facts["number"], None)
    if progress.life.end == "signal":
        _to_be_killed.add(progress.key)
    progress.check()


def expect_calls(number, life):
    """Called before the creation of an actor that runs several calls at once: `life` has the tags of the calls that it will make."""
    _calls_to_make[number] = deque(life.sent)


def progressed(number):
    """Called when an event loop, a thread or a call of an actor of this process has repeated all of its journal."""
    if number in _actors:
        _actors[number].check()


def when_arrived(what, ref=None):
    """Waits until the call of a tag, or the actor of an (ordinal, life), has reached the place where it was ended in the recorded run, or until
    `ref` is done. ReplayError after `REPLAY_SECONDS`."""
    deadline = time.monotonic() + REPLAY_SECONDS
    while not (ref is not None and ref.done()) and (_ARRIVED, what) not in session.current.placement.posted(_ARRIVED):
        if time.monotonic() > deadline:
            raise ReplayError(
                f"the program no longer matches its journal: it ends {what} here, which has not reached within {REPLAY_SECONDS:g} s the place where it was ended in the recorded run"
            )
        time.sleep(0.002)


def _check_call():
    """A call is about to be made here: a ReplayError if its caller made no further call in the recorded run."""
    caller = _core.running_tag()
    count = _journal.checker.makes.get(caller, 0)
    if count >= _journal.sent.get(caller, 0):
        who = f"call {list(caller)}" if caller else "the driver"
        why = (
            "the program no longer matches its journal"
            if _journal.complete
            else "the journal ends before the next call of the program"
        )
        raise ReplayError(
            f"{why}: here is call {count + 1} that {who} makes; in the journal it makes {count} calls{_journal.where_it_ends(None)}"
        )


def _call_sent(tag, name):
    makes, caller = _journal.checker.makes, tag[:-1]
    makes[caller] = makes.get(caller, 0) + 1


def _call_begins(number, tag, how):
    _journal.checker.makes.pop(tag, None)  # it may be a retry


def _compare(number, method, tag, given_digest, digest, given, value, error, cancelled, several):
    whose = facts.get(number)
    key = life(whose) if whose else (None, None)
    _journal.checker.executed(whose, key, method, tag, given_digest, digest, given, value, error, cancelled)


def _call_started(number, tag, how):
    _call_begins(number, tag, how)
    if how == _core.Beginning.FAILS:
        return
    progress = _actors.get(number)
    if tag not in _journal.started:
        halt(f"call {list(tag)} did not start in the recorded run", progress and progress.key)
    halts = progress.life.halts if progress else _journal.halts
    if tag in halts:
        _calls_left[tag] = halts[tag]
    if progress:
        progress.begun += 1
        if how == _core.Beginning.HANDED_ON:
            progress.ended += 1
        progress.check()
    if tag in _journal.cancelled and (
        tag in _journal.interrupted or _calls_left.get(tag) == 0 or tag in _journal.outlived
    ):
        _tell_arrived(tag)
    if tag in _journal.outlived:
        while not _core.cancel_wanted():
            time.sleep(0.001)


def _call_tag():
    if _calls_to_make:
        return _next_tag(*next(iter(_calls_to_make.items())))
    caller = _core.running_tag()
    if caller not in _calls_left:
        return _check_call()
    if _calls_left[caller] == 0:
        halt(f"call {list(caller)} made no further call in the recorded run, and did not end")
    _calls_left[caller] -= 1
    if _calls_left[caller] == 0:
        if caller in _journal.cancelled:
            _tell_arrived(caller)
        for progress in _actors.values():
            if caller in progress.life.halts:
                progress.check()


def _next_tag(number, tags):
    """The tag of the next call of an actor that runs several calls at once."""
    if not tags:
        if all(interleaving.at_end for interleaving in interleavings.get(number, ())):
            for interleaving in interleavings.get(number, ()):
                interleaving.finished = True
            progressed(number)
            halt(
                "the actor made no further call in the recorded run", _actors[number].key if number in _actors else None
            )
        raise ReplayError(
            "the program no longer matches its journal: the actor makes a call here that is not in the journal"
            + _journal.where_it_ends(_actors[number].key if number in _actors else None)
        )
    tag = tags.popleft()
    if not tags:
        progressed(number)
    return tag


def _executed(number, method, tag, given_digest, digest, given, value, error, cancelled, several):
    _compare(number, method, tag, given_digest, digest, given, value, error, cancelled, several)
    if _calls_left.pop(tag, None) is not None and not cancelled:
        halt(f"call {list(tag)} did not end in the recorded run")


def _call_finished(number, tag):
    progress = _actors.get(number)
    if progress and tag not in progress.life.halts:
        progress.ended += 1
        progress.check()


def _tell_arrived(what):
    session.current.placement.post((_ARRIVED, what), True)
    if what in _to_be_killed:
        _to_be_killed.discard(what)
        if not _to_be_killed:
            timer = threading.Timer(_GRACE, os.kill, (os.getpid(), signal.SIGKILL))
            timer.daemon = True
            timer.start()
