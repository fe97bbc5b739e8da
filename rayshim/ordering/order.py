"""What logical order costs at each `wait`, and what the user is told when order gives way to arrival, or cannot be kept.

The rule itself: reactor/_core/order.h, and its price: reactor/_core/patience.h.
"""

import sys
import time

from reactor import _core

from rayshim.errors.exceptions import OrderingError, ReplayError
from rayshim.errors.sites import is_users
from rayshim.session import session

_REPEATABLE = (
    ". Results may differ from run to run. `rayshim run --record` makes this run repeatable; a larger init(patience=) waits longer; "
    'init(ordering="strict") never gives way'
)


class _Site:
    """A place in the program at which `wait` is called.

    Attributes:
        met: when it was first met, ns of the monotonic clock.
        cost: ns for which its calls have waited for the first of their refs though enough others were done.
    """

    def __init__(self):
        self.met, self.cost, self.by_arrival = time.monotonic_ns(), 0, False


_sites = {}  # (code object, line) -> _Site
_class_names = {}  # number of an actor -> its class's name


def wait(refs, num_returns, frame):
    """`wait` without a timeout, called from `frame`: the first `num_returns` of the list. Once waiting for them has cost this place more than
    its budget, or nothing else can move, those that are done; and from then on at this place.

    Returns (ready, not_ready). Raises OrderingError in strict order.
    """
    s = session.current
    key = frame.f_code, frame.f_lineno
    site = _sites.get(key)
    if site is None:
        site = _sites[key] = _Site()
    if site.by_arrival:
        _core.count_physical()
        return _core.wait(refs, num_returns, None)[:2]
    ready, rest, first, blocked = _core.wait(refs, num_returns, None, (site.met, site.cost))
    site.cost += blocked
    if first:
        return ready, rest
    _core.count_physical()
    where = _users_place(frame)
    if s.settings["ordering"] == "strict":
        raise OrderingError(
            f"wait() at {where}: the first {num_returns} of its {len(refs)} refs, which the program's serial run would give, cannot be done before this "
            'call returns, because nothing else can move. Use init(ordering="logical") or "arrival", or give wait() a timeout'
        )
    site.by_arrival = True
    s.placement.say_once(
        f"wait() at {where}",
        f"wait() at {where} gives the refs that are done first from now on, as Ray does, because waiting for the first of its list has kept the "
        f"program waiting for {site.cost / 1e9:.2g} s",
        _REPEATABLE,
    )
    return ready, rest


def _users_place(frame):
    """file:line of the innermost frame that is the user's."""
    place = frame
    while place is not None and not is_users(place.f_code.co_filename):
        place = place.f_back
    place = place or frame
    return f"{place.f_code.co_filename}:{place.f_lineno}"


def forget_sites():
    """A new session: every place of `wait` begins anew."""
    _sites.clear()
    _class_names.clear()


session.after_begin.append(forget_sites)


def arrivals():
    """What has been served in the order of arrival although logical order was asked for: [{"what": str, "times": int}]."""
    if not _core.counters()["physical_answers"]:
        return []
    return [{"what": what, "times": times} for what, times in session.current.placement.said()]


def say_at_end():
    """The driver's session ends: names once more what was served in the order of arrival."""
    if _core.aborted():
        return
    try:
        listed = arrivals()
    except (RuntimeError, TimeoutError):
        return
    if listed:
        print(
            f"rayshim: served in the order of arrival in this run: {'; '.join(entry['what'] for entry in listed)}. The rest was in the program's "
            "serial order",
            file=sys.stderr,
        )


def get_kept(read, refs, timeout, late, frame):
    """What `read(refs, timeout)` gives or raises, in a run that is recorded, or follows a record: whether it is `late` is kept."""
    from rayshim.journal import rerun

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

    def again(answer):
        if answer != "timed out":
            take(None)

    if rerun.kept().answered("get", rerun.site(frame), ask, again) == "timed out":
        return late
    value, error = got[0]
    if error is not None:
        raise error
    return value


def wait_kept(refs, num_returns, timeout, frame):
    """`wait` in a run that is recorded, or follows a record: which refs it gives is kept by their places in the list."""
    from rayshim.journal import rerun

    def ask():
        if timeout is None and session.current.settings["ordering"] != "arrival":
            ready = wait(refs, num_returns, frame)[0]
        else:
            ready = _core.wait(refs, num_returns, timeout)[0]
        return [refs.index(ref) for ref in ready]

    def again(answer):
        if answer:
            _core.wait([refs[i] for i in answer], len(answer), None)

    chosen = rerun.kept().answered("wait", rerun.site(frame), ask, again)
    return [refs[i] for i in chosen], [ref for i, ref in enumerate(refs) if i not in set(chosen)]


def relaxed(actor, method, caller, caller_name, holders, outcome):
    """The core's word from the worker of actor number `actor`: the call of its method number `method` by `caller`, in its call `caller_name`
    (None: not known), was held back for `holders`, [(party, name of its call or None)] (none: for an argument that is not there).

    `outcome`, a _core.Outcome. RELAXED: it is not held back for them any more. REFUSED: it fails (strict order); NOT_AS_RECORDED: another call was
    recorded there; both return the exception.
    """
    s = session.current
    called = f"{_party(actor, _core.method_name(actor, method) or '__init__')}"
    if outcome == _core.Outcome.NOT_AS_RECORDED:
        return ReplayError(
            f"the program no longer matches its record: {called} (actor {actor}) was called, and the record has another call there, "
            "which does not come"
        )
    whom = sorted({_party(*holder) for holder in holders})
    running = f"{', '.join(whom[:4])}{f' and {len(whom) - 4} more' if len(whom) > 4 else ''}"
    me = called.partition(".")[0]
    if outcome == _core.Outcome.REFUSED:
        return OrderingError(
            f"{called} cannot be run in the order of the program's serial run: calls made before it ({running}) may still call {me}, and do not "
            "end, because nothing else can move before this one has run. Let the earlier calls end first (get their results before "
            'this call is made), or use init(ordering="logical") or "arrival"'
        )
    by = _party(caller, caller_name)
    s.placement.say_once(
        f"{called} called by {by}",
        f"{called} called by {by} is served in the order of arrival from now on, because calls made before it ({running}) are still running, may "
        f"yet call {me}, and have kept it waiting for longer than order may cost",
        _REPEATABLE,
    )
    return None


def _party(number, name):
    """What the user calls it: the driver, a function, Class.method or, with the method not known, Class."""
    if number == 0:
        return "the driver"
    if number >= _core.FIRST_TASK:  # a function's tasks; below it an actor (Party in order.h)
        return name or "a task"
    if number not in _class_names:
        _class_names.update(
            (a["number"], a["class_name"]) for a in session.current.placement.state(timeout=5)["actors"]
        )
    cls = _class_names.get(number, "an actor")
    return f"{cls}.{name}" if name else cls
