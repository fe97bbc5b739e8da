"""`wait` in serial order, and the messages to the user when a call or a `wait` changes to arrival order or cannot be ordered.

The rule of the order is in reactor/native/order/order.h, its budget in reactor/native/order/patience.h.
"""

import functools
import sys

from reactor import _core
from reactor.printable import printable

from rayshim.errors.exceptions import OrderingError, ReplayError
from rayshim.errors.user_code import is_users
from rayshim.ordering import delays
from rayshim.session import session

_REPEATABLE = (
    ". Results may differ between runs. `rayshim run --ordering timed --timing FILE` gives one result in all runs, at about this speed; `--record DIR` makes "
    'this run repeatable; a larger init(patience=) keeps serial order for longer; init(ordering="strict") always keeps it'
)
_SET_A_LIMIT = '. Serial order cannot end here then: set a limit with init(patience=), such as patience="10%", or use init(ordering="arrival")'
LONG = 10  # seconds: kLongHoldNs in patience.h
_SOME_TASK = "a task"  # whose function's name is not known, because it has ended
_class_names = {}  # number of an actor -> its class's name
_internals = set()  # numbers of the actors among them that are internals of Ray's libraries


def wait(refs, num_returns, frame):
    """`wait` without a timeout, called from `frame`.

    Returns (ready, not_ready). `ready` has the first `num_returns` refs of the list. When waiting for them has cost this place more than its
    budget, or when nothing else can move, `ready` has the refs that are done, for the rest of the run. In strict order it raises OrderingError instead.
    """
    s = session.current
    site = delays.site_of(frame)
    if site.by_arrival:
        _core.count_physical()
        return _core.wait(refs, num_returns, None)[:2]
    delays.before_wait()
    on_long = functools.partial(_warn_of_long_wait, num_returns, len(refs), frame)
    ready, rest, first, blocked = _core.wait(refs, num_returns, None, (site.met, site.cost, site.is_free, on_long))
    if first:
        delays.after_wait(site, ready, rest, blocked)
        return ready, rest
    _core.count_physical()
    where = _users_place(frame)
    if s.settings.ordering == "strict":
        raise OrderingError(
            f'wait() at {where} cannot return in serial order, as ordering="strict" demands: the first {num_returns} of its {len(refs)} refs will not '
            "be done before this call returns, because every other call is waiting, too. "
            'Use init(ordering="logical") or "arrival", or give wait() a timeout'
        )
    site.by_arrival = True
    what = f"wait() at {where}"
    s.placement.count_arrivals(
        [what],
        [(what,)],
        f"{what} now returns the refs that are done first, as on Ray, because waiting for the first refs of its list has blocked the "
        f"program for {(site.cost + blocked) / 1e9:.2g} s",
        _REPEATABLE,
    )
    return ready, rest


def _warn_of_long_wait(num_returns, of, frame):
    what = f"wait() at {_users_place(frame)}"
    session.current.placement.count_arrivals(
        [what],
        [],
        f"{what} has waited {LONG} s for the first {num_returns} of its {of} refs, although enough others are done, because serial order has no limit "
        "in this session. If they are results of calls that do not end, this wait never returns",
        _SET_A_LIMIT,
    )


def _users_place(frame):
    """file:line of the innermost frame in the user's code."""
    place = frame
    while place is not None and not is_users(place.f_code.co_filename):
        place = place.f_back
    place = place or frame
    return f"{place.f_code.co_filename}:{place.f_lineno}"


def forget_sites():
    """Forgets the places of `wait` and the class names of the last session."""
    delays.forget()
    _class_names.clear()
    _internals.clear()


session.after_begin.append(forget_sites)


def arrivals():
    """The calls that ran in arrival order in a session with logical order: [{"what": str, "times": int, ...}].

    Of calls that did not wait for a holder: "by" and "while", the names of the caller and of the holder, and "calls", the methods that were called
    so. Of a place that calls `wait`: only "what".
    """
    if not _core.counters()["physical_answers"]:
        return []
    pairs, found, counted = {}, [], session.current.placement.arrivals()
    tasks = {number: name for entry, _ in counted for number, name in entry[:-1] if name != _SOME_TASK}
    for entry, times in counted:
        *parties, called = entry
        if not parties:
            found.append({"what": called, "times": times})
            continue
        by, holder = (tasks.get(number, name) if number >= _core.FIRST_TASK else name for number, name in parties)
        if (pair := pairs.get((by, holder))) is None:
            found.append(pair := pairs.setdefault((by, holder), {"by": by, "while": holder, "calls": [], "times": 0}))
        pair["calls"] += [called] if called not in pair["calls"] else []
        pair["times"] += times
    for pair in pairs.values():
        pair["what"] = f"{', '.join(pair['calls'])} called by {pair['by']} while {pair['while']} ran"
    return found


def print_arrivals():
    """At the end of the session: prints one line with all that ran in arrival order."""
    if _core.aborted():
        return
    try:
        listed = arrivals()
    except (RuntimeError, TimeoutError):
        return
    if listed:
        print(
            f"rayshim: calls in arrival order in this run: {'; '.join(printable(entry['what']) for entry in listed)}",
            file=sys.stderr,
        )


def journaled_get(read, refs, timeout, late, frame):
    """`read(refs, timeout)` in a run with a journal. The journal has whether its result was `late`."""
    from rayshim.journal import journal

    got = []  # (value, what was raised)

    def take(limit):
        try:
            got.append((read(refs, limit), None))
        except Exception as error:
            got.append((None, error))

    def ask():
        take(timeout)
        value, error = got[0]
        return "timed out" if error is None and value is late else "in time"

    def repeat(answer):
        if answer != "timed out":
            take(None)

    if journal.current().answered("get", frame, ask, repeat) == "timed out":
        return late
    value, error = got[0]
    if error is not None:
        raise error
    return value


def journaled_wait(refs, num_returns, timeout, frame):
    """`wait` in a run with a journal. The journal has the positions of the ready refs in the list."""
    from rayshim.journal import journal

    def ask():
        if timeout is None and session.current.settings.ordering != "arrival":
            ready = wait(refs, num_returns, frame)[0]
        else:
            ready = _core.wait(refs, num_returns, timeout)[0]
        return [refs.index(ref) for ref in ready]

    def repeat(answer):
        if answer:
            _core.wait([refs[i] for i in answer], len(answer), None)

    chosen = journal.current().answered("wait", frame, ask, repeat)
    return [refs[i] for i in chosen], [ref for i, ref in enumerate(refs) if i not in set(chosen)]


def relaxed(actor, method, caller, caller_name, holders, outcome):
    """Hook of the core in an actor's worker: a call was held and is not held any more, or it is held for long.

    Arguments:
        actor, method: numbers of the actor and of the called method.
        caller, caller_name: party that made the call, and the name of the caller's own call (None: unknown).
        holders: [(party, name of its call or None)], the unfinished calls that it was held for; empty if it waited for an argument.
        outcome: a `_core.Outcome`. RELAXED: no call of the caller waits for these holders from now on, at any actor. PASSED: this call is one of them.
            WAITS: it has waited long, and will. REFUSED: it fails (strict order). NOT_AS_RECORDED: it is not the recorded call.

    Returns the exception with which the call fails, or None.
    """
    s = session.current
    called = f"{_party(actor, _core.method_name(actor, method) or '__init__')}"
    if outcome == _core.Outcome.NOT_AS_RECORDED:
        return ReplayError(
            f"the program no longer matches its journal: {called} (actor {actor}) was called, but the journal has another call at this place, "
            "and the program does not make that call"
        )
    named = {number: _party(number, name) for number, name in holders}
    whom = sorted(set(named.values()))
    running = f"{', '.join(whom[:4])}{f' and {len(whom) - 4} more' if len(whom) > 4 else ''}"
    me = called.partition(".")[0]
    if outcome == _core.Outcome.REFUSED:
        return OrderingError(
            f'{called} cannot run in serial order, as ordering="strict" demands: earlier calls ({running}) are still running and may call {me}, and '
            f"they do not end, because everything waits for {called}. Get the results of the earlier calls before this call is made, "
            'or use init(ordering="logical") or "arrival"'
        )
    if actor in _internals:
        return None  # the user can do nothing about the helpers of Ray Data, and their order changes no result
    by = _party(caller, caller_name)
    entries = [((caller, by), holder, called) for holder in named.items()]
    if outcome == _core.Outcome.PASSED:
        s.placement.count_arrivals([], entries, None, None)
    elif outcome == _core.Outcome.WAITS:
        s.placement.count_arrivals(
            [("waits", called, by)],
            [],
            f"{called} called by {by} has waited {LONG} s for earlier calls ({running}), which still run and may call {me}. In serial order it runs "
            f"when they have ended. If they wait for what it does, the program never ends",
            _SET_A_LIMIT,
        )
    else:
        s.placement.count_arrivals(
            [(by, holder) for holder in whom],
            entries,
            f"{called} called by {by} now runs in arrival order, because earlier calls ({running}) still run and may call {me}, and "
            f"waiting for them has taken longer than `patience` allows. From now on no call by {by} waits for them, at any actor",
            _REPEATABLE,
        )
    return None


def _party(number, name):
    """The name of a party for the user: the driver, a function, Class.method, or Class if the method is unknown."""
    if number == 0:
        return "the driver"
    if number >= _core.FIRST_TASK:  # a function's tasks; below it an actor (Party in order.h)
        return name or _SOME_TASK
    if number not in _class_names:
        for facts in session.current.placement.state(timeout=5)["actors"]:
            _class_names[facts["number"]] = facts["class_name"]
            if facts.get("internal"):
                _internals.add(facts["number"])
    cls = _class_names.get(number, "an actor")
    return f"{cls}.{name}" if name else cls
