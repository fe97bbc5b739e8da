"""Calls that wait for each other: a cycle of waits ends in DeadlockError, and SIGUSR1 prints who waits for whom."""

import os
import re
import signal
import sys

from reactor import _core
from reactor.printable import printable
from reactor.runtime.worker import stacks
from reactor.waits import cycle, maker_of

from rayshim.errors.exceptions import DeadlockError
from rayshim.errors.user_code import is_users
from rayshim.session import session

_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')
_last = {}  # waiter -> the cycle that its last checks found, once for each check that found the same
_before = None  # the handler of SIGUSR1 before ours


def find(me):
    """Hook of the core while call `me` (see `_core.waits`) waits: the exception to raise there if the wait can never end, else None.

    A cycle counts when two checks in a row find the same one. Then the call with the highest number raises.
    """
    journal = session.current.settings.journal
    if journal and journal.replayed and session.current.driver is not None:
        from rayshim.journal import replaying

        if (error := replaying.error_of_wait(me)) is not None:
            return error
    waits = _core.waits(me)
    found = cycle(waits, me)
    before = _last.pop(me, None)
    if found is None:
        return None
    looks = _last[me] = [*before, found] if before and before[0] == found else [found]
    if len(looks) < 2 or me != max(waiter for waiter, _ in found) and len(looks) < 6:
        return None
    del _last[me]
    names = _names()
    lines = [
        f"  {_who(names, waits[waiter])} waits {_place(waits[waiter])} for a result of the next" for waiter, _ in found
    ]
    lines[-1] = lines[-1].removesuffix("the next") + ("itself" if len(found) == 1 else "the first")
    return DeadlockError(
        "Deadlock: these calls wait for each other and would never end:\n"
        + "\n".join(lines)
        + "\nLet one of them return the ref instead of calling get() on it, or make "
        "the actor asynchronous (`async def` methods) or threaded (max_concurrency)"
    )


def _names():
    """{number of an actor: its class, number and process id as text}"""
    try:
        actors = session.current.placement.state(timeout=5)["actors"]
    except Exception:  # the supervisor may be gone; the report goes on without names
        actors = []
    return {a["number"]: f"{a['class_name']} (actor {a['number']}, pid {a['pid']})" for a in actors if a["pid"]}


def _who(names, waiter):
    pid, actor = waiter.pid, waiter.actor
    if actor in names:
        return names[actor]
    if actor:
        return f"actor {actor} (pid {pid})"
    return f"the driver (pid {pid})" if pid == session.current.settings.driver else f"a task (pid {pid})"


def _place(waiter):
    """The place of the waiter in the user's code: "in f at file:line"."""
    pid, thread = waiter.pid, waiter.thread
    if pid == os.getpid():
        import traceback

        frame = sys._current_frames().get(thread)
        frames = [(f.filename, f.lineno, f.name) for f in reversed(traceback.extract_stack(frame))]
    else:
        text = re.split(r"^(?:Current t|T)hread ", stacks.ask(pid) or "", flags=re.MULTILINE)
        own = next((part for part in text if part.startswith(f"0x{thread:016x}")), "")
        frames = [(m[1], int(m[2]), m[3]) for m in map(_FRAME.match, own.splitlines()) if m]
    for file, line, name in frames:
        if is_users(file):
            return f"in {name} at {file}:{line}"
    return "at an unknown place"


def _own_wait(frame, names):
    """The refs for which a call of `get` or `wait` waits that this process was in when it was interrupted at `frame`; None: it was in no such call.
    The core tells of a wait only after a while, and not of one that a timeout ends."""
    while frame is not None:
        if frame.f_code.co_name in ("get", "wait") and frame.f_code.co_filename.endswith(_GET_AND_WAIT):
            break
        frame = frame.f_back
    else:
        futures = sys.modules.get("rayshim.session.futures")
        awaited = getattr(futures, "awaited", list)()  # the signal may come while it is imported
        return (
            f"awaits results in an event loop or a Future; not there yet: {_makers(awaited, names)}"
            if awaited
            else None
        )
    given, caller = frame.f_locals, frame.f_back
    refs = given.get("object_refs", given.get("ray_waitables"))
    refs = list(refs) if isinstance(refs, (list, tuple)) else [refs]
    opened = [ref for ref in refs if isinstance(ref, _core.Ref) and not ref.stale and not ref.done()]
    where = (
        f"in {caller.f_code.co_name} at {caller.f_code.co_filename}:{caller.f_lineno}"
        if caller
        else "at an unknown place"
    )
    if not opened:
        return f"is {where} in {frame.f_code.co_name}(), whose results are all there"
    limit = "" if given.get("timeout") is None else f", with timeout={given['timeout']:g}"
    count = f"{given.get('num_returns', len(refs))} of {len(refs)} results" if len(refs) > 1 else "a result"
    return f"waits {where} in {frame.f_code.co_name}() for {count}{limit}; not there yet: {_makers(opened, names)}"


def _makers(refs, names):
    return f"{len(refs)}, of {', '.join(dict.fromkeys(_maker(ref, names) for ref in refs[:_MOST_NAMED]))}"


def _maker(ref, names):
    """The process or actor that runs the call that makes the value of a ref."""
    if ref.runner < 0:
        return "a call that has not started"
    pid = _core.proc_info(_core.slot_of(ref.runner))["pid"]
    return next((name for name in names.values() if name.endswith(f"pid {pid})")), f"a task (pid {pid})")


_GET_AND_WAIT = os.path.join("rayshim", "api", "values.py")
_MOST_NAMED = 6


def picture(frame=None):
    """Text for the user: who waits for whom in the session, and the Python stack of each process. Works in any process of the session. `frame`: at which
    this process was interrupted."""
    s = session.current
    names, waits = _names(), _core.waits()
    maker = maker_of(waits)
    lines = ["Who waits for whom:"]
    own = _own_wait(frame, names)
    for _, waiter in sorted(waits.items()):
        if own is not None and waiter.pid == os.getpid() and not waiter.results:
            lines.append(f"  {_who(names, waiter)} {own}")
            continue
        makers = {-1 if (found := maker(result)) is None else found for result in waiter.results}
        whom = ", ".join(_who(names, waits[m]) if m in waits else "a call that has not started" for m in sorted(makers))
        lines.append(
            f"  {_who(names, waiter)} "
            + (f"waits {_place(waiter)} for {whom}" if whom else "does not wait for a result")
        )
    named = set()
    for _, waiter in sorted(waits.items()):
        pid = waiter.pid
        if pid in named:
            continue
        named.add(pid)
        lines.append(f"\n--- {_who(names, waiter)}")
        if pid == os.getpid():
            import traceback

            lines.append("".join(traceback.format_stack()))
        else:
            from rayshim.errors import tracebacks

            lines.append(tracebacks.of_process(pid))
    return "\n".join([f"rayshim: driver {s.settings.driver}, ordering {s.settings.ordering!r}", *lines])


def _show(frame):
    """The handler of SIGUSR1. The program goes on, whatever happens in it."""
    try:
        text = printable(picture(frame), lines=True) if session.current else "rayshim: no session"
    except Exception as error:
        text = f"rayshim: who waits for whom cannot be shown: {type(error).__name__}: {error}"
    print(text, file=sys.stderr, flush=True)


def install_wait_report():
    """In the driver: lets `kill -USR1` print who waits for whom on stderr, unless the program has its own handler of the signal."""
    global _before
    try:
        if signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL and not _caught(signal.SIGUSR1):
            _before = signal.signal(
                signal.SIGUSR1,
                lambda _, frame: _show(frame),
            )
    except ValueError:  # not in the main thread
        pass


def _caught(number):
    """Whether the process has a handler of the signal that Python does not know, such as that of faulthandler."""
    with open("/proc/self/status") as status:
        mask = next((int(line.split()[1], 16) for line in status if line.startswith("SigCgt:")), 0)
    return bool(mask >> (number - 1) & 1)


def remove_wait_report():
    """Restores the handler of SIGUSR1 from before `install_wait_report`."""
    global _before
    if _before is not None:
        try:
            signal.signal(signal.SIGUSR1, _before)
        except ValueError:
            return
        _before = None
