"""The time for which a `wait` stays blocked because of order, and how much of it delays the program.

A `wait` in serial order may return later than the first refs that are done. That alone delays nothing: a caller that drains a list of refs,

    while left:
        done, left = ray.wait(left)

ends when the last of them is done, in any order. So the blocked time is a *debt* at first. The place that waited pays it

- in full, when its caller starts something (a call) before it has waited for all other refs of that list, or when the caller ends before;
- in part, for what the caller computes before its next `get` or `wait`: the computation could have run during the blocked time.

What is left is cancelled when the caller has waited for the other refs, too.
"""

import dis
import threading
import time
from dataclasses import dataclass, field

from reactor import _core

from rayshim.errors.user_code import is_users
from rayshim.session import session


@dataclass
class Site:
    """A place in the program that calls `wait`.

    Attributes:
        is_free: whether its last debt was cancelled for the greater part, or, before its first one, is likely to be. While it is, a `wait` may be
            blocked for longer than the budget (`wait_for_first` in reactor/native/bindings/waiting.cpp).
        met: time of its first call, in ns of the monotonic clock.
        cost: time that it has paid, in ns.
        by_arrival: whether it uses arrival order.
    """

    is_free: bool
    met: int = field(default_factory=time.monotonic_ns)
    cost: int = 0
    by_arrival: bool = False


@dataclass
class _Debt:
    """Blocked time (ns) of a `wait` at `site`, some of it `paid`. `others`: uids of the other refs of its list, for which the caller has not waited."""

    site: Site
    blocked: int
    others: set
    paid: int = 0

    def pay(self, limit):
        """Pays at most `limit` ns. Returns how many are left of them."""
        due = min(limit, self.blocked - self.paid)
        self.paid += due
        self.site.cost += due
        return limit - due

    def end(self):
        self.site.is_free = 2 * self.paid <= self.blocked


@dataclass
class _Caller:
    """The debts of a thread: those of the call that runs in it (`tag`), which had made `calls` calls when it returned from a wait at `since`."""

    tag: tuple
    calls: int
    since: int
    debts: list

    def settle(self):
        """Pays for what has happened since the last wait."""
        now = time.monotonic_ns()
        if (self.tag, self.calls) != (_core.running_tag(), _core.calls_made()):
            for debt in self.debts:
                debt.pay(debt.blocked)
                debt.end()
            self.debts.clear()
            self.tag, self.calls = _core.running_tag(), _core.calls_made()
        computed = now - self.since
        for debt in self.debts:
            computed = debt.pay(computed)
        self.since = now

    def has_waited(self, uids):
        for debt in self.debts:
            debt.others.difference_update(uids)
            if not debt.others:
                debt.end()
        self.debts = [debt for debt in self.debts if debt.others]


_sites = {}  # (code object, line) -> Site
_callers = {}  # id of a thread -> _Caller


def site_of(frame):
    """The Site of the `wait` that `frame` calls."""
    key = frame.f_code, frame.f_lineno
    site = _sites.get(key)
    if site is None:
        site = _sites[key] = Site(is_users(frame.f_code.co_filename) and not _loop_starts_calls(frame))
    return site


def before_wait():
    """To be called before a `wait` of the program."""
    if (caller := _callers.get(threading.get_ident())) is not None:
        caller.settle()


def after_wait(site, ready, rest, blocked):
    """To be called after a `wait` at `site` has returned (ready, rest) and was blocked for `blocked` ns because of order."""
    thread = threading.get_ident()
    caller = _callers.get(thread)
    if caller is None:
        if not blocked:
            return
        caller = _callers[thread] = _Caller(_core.running_tag(), _core.calls_made(), 0, [])
    caller.has_waited([ref.uid for ref in ready])
    caller.since = time.monotonic_ns()
    if blocked and rest:
        caller.debts.append(_Debt(site, blocked, {ref.uid for ref in rest}))
    if not caller.debts:
        del _callers[thread]
    session.owes_time = bool(_callers)


def before_get(refs):
    """To be called before a `get` without a timeout of a ref or of a list of refs, while `session.owes_time`."""
    thread = threading.get_ident()
    if (caller := _callers.get(thread)) is None:
        return
    caller.settle()
    caller.has_waited([ref.uid for ref in (refs if isinstance(refs, list) else [refs]) if hasattr(ref, "uid")])
    if not caller.debts:
        del _callers[thread]
    session.owes_time = bool(_callers)


def forget():
    """Forgets the places of the last session."""
    _sites.clear()
    _callers.clear()
    session.owes_time = False


def _loop_starts_calls(frame):
    """Whether the innermost loop that the program runs now mentions `remote`: then it probably starts something after the `wait` at `frame`."""
    while frame is not None:
        if is_users(frame.f_code.co_filename) and (loop := _innermost_loop(frame.f_code, frame.f_lasti)):
            return "remote" in loop
        frame = frame.f_back
    return False


def _innermost_loop(code, at):
    """The names that the innermost loop of `code` around the instruction at offset `at` uses; None: it is in no loop."""
    instructions = list(dis.get_instructions(code))
    loops = [
        (jump.argval, jump.offset)
        for jump in instructions
        if "JUMP" in jump.opname and isinstance(jump.argval, int) and jump.argval <= at <= jump.offset
    ]
    if not loops:
        return None
    start, end = max(loops)
    return {i.argval for i in instructions if start <= i.offset <= end and isinstance(i.argval, str)}
