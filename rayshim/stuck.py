"""What a user is told when nothing moves: a cycle of waits as an error, and on SIGUSR1 a picture of who waits for whom."""

import os
import re
import signal
import sys
import traceback

from reactor import _core
from reactor.runtime import stacks
from reactor.waits import cycle

from rayshim import session
from rayshim.sites import is_users

_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')
_last = []  # the cycle that was found at the last look, as long as it is the same
_before = None  # the handler of SIGUSR1 before ours


def stuck():
    """The core's question while a call waits: the exception to raise there if it can never end, else None.

    A cycle is believed when it was the same twice. One of its processes raises, that with the highest slot.
    """
    me = _core.slot()
    waits = _core.waits()
    found = cycle(waits, me)
    if found is None or not _last or _last[0] != found:
        _last[:] = [found] if found else []
        return None
    _last.append(found)
    if me != max(slot for slot, _ in found) and len(_last) < 6:
        return None
    from rayshim.exceptions import DeadlockError

    names = _names()
    lines = [f"  {_who(names, waits[slot][0])} waits {_place(waits[slot][0])} for a result of the next" for slot, _ in found]
    lines[-1] = lines[-1].removesuffix("the next") + ("itself" if len(found) == 1 else "the first")
    return DeadlockError(
        "These calls wait for each other and would do so for ever:\n" + "\n".join(lines) + "\nLet one of them return the ref instead of getting it, or make "
        "the actor asynchronous (`async def` methods) or concurrent (max_concurrency)"
    )


def _names():
    """{pid: what is shown of it}"""
    try:
        actors = session.current.control.ask("state", timeout=5)["actors"]
    except Exception:  # the picture is drawn when things are bad: what can be told is told
        actors = []
    return {a["pid"]: f"{a['class_name']} (actor {a['number']}, pid {a['pid']})" for a in actors if a["pid"]}


def _who(names, pid):
    if pid in names:
        return names[pid]
    return f"the driver (pid {pid})" if pid == session.current.settings["driver"] else f"a task (pid {pid})"


def _place(pid):
    """Where in the user's code the process is: "in f at file:line"."""
    if pid == os.getpid():
        frames = [(f.filename, f.lineno, f.name) for f in reversed(traceback.extract_stack())]
    else:
        text = stacks.ask(pid) or ""
        main = text.split("Current thread", 1)[-1]
        frames = [(m[1], int(m[2]), m[3]) for m in map(_FRAME.match, main.splitlines()) if m]
    for file, line, name in frames:
        if is_users(file):
            return f"in {name} at {file}:{line}"
    return "at an unknown place"


def picture():
    """Who waits for whom in the session, and each process's Python stack: text, from any process of it."""
    s = session.current
    names, waits = _names(), _core.waits()
    serving = {actor: slot for slot, (_, actor, _) in waits.items() if actor}
    lines = ["Who waits for whom:"]
    for slot, (pid, _, things) in sorted(waits.items()):
        makers = {runner if runner >= 0 else serving.get(actor, -1) for _, runner, actor in things}
        whom = ", ".join(_who(names, waits[m][0]) if m in waits else "a call that has not begun" for m in sorted(makers))
        lines.append(f"  {_who(names, pid)} " + (f"waits {_place(pid)} for {whom}" if things else "does not wait for a result"))
    for slot, (pid, _, _) in sorted(waits.items()):
        lines.append(f"\n--- {_who(names, pid)}")
        if pid == os.getpid():
            lines.append("".join(traceback.format_stack()))
        else:
            from rayshim.looking import without_ours

            told = stacks.ask(pid)
            lines.append(without_ours(told) if told else "no answer: it is starting, or it has just ended")
    return "\n".join([f"rayshim: driver {s.settings['driver']}, ordering {s.settings.get('ordering')!r}", *lines])


def offer_picture():
    """In the driver: `kill -USR1` prints the picture to standard error, unless the program has a use of its own for the signal."""
    global _before
    try:
        if signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL and not _caught(signal.SIGUSR1):
            _before = signal.signal(signal.SIGUSR1, lambda *_: print(picture() if session.current else "rayshim: no session", file=sys.stderr, flush=True))
    except ValueError:  # not in the main thread
        pass


def _caught(number):
    """Whether the process has a handler of the signal that Python does not know of, as faulthandler's."""
    with open("/proc/self/status") as status:
        mask = next((int(line.split()[1], 16) for line in status if line.startswith("SigCgt:")), 0)
    return bool(mask >> (number - 1) & 1)


def withdraw_picture():
    global _before
    if _before is not None:
        try:
            signal.signal(signal.SIGUSR1, _before)
        except ValueError:
            return
        _before = None
