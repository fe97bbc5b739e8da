"""Packed placement: many actors to a worker process."""

from __future__ import annotations

import dis
import inspect
import json
import os
import weakref
from dataclasses import dataclass
from typing import Any

from reactor import _core

from rayshim.session import session

_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_endless = weakref.WeakKeyDictionary()  # class -> whether one of its methods cannot return


@dataclass(frozen=True)
class packed:
    """`init(placement=packed(n))`: n worker processes that host the actors, each many of them; "packed" is `packed()`.

    Arguments:
        workers: number of processes; default: the cores of the machine.
        recording: path of what an earlier run of the program saved with `rayshim.graph().save(path)`. The actors are then
            grouped by the time that their methods took and by what they sent each other, before the first is made
            (`reactor.placement.group`), and an actor goes to its group's worker when it is made: the k-th of a class where the
            k-th was put. Without one, and for actors that the recording does not know, an actor goes to the worker with the
            fewest actors at that moment. An actor stays where it was put.

    Results are those of the other placements. What the actors of one worker share is what a process has one of: module globals,
    environment variables, the working directory, the process id and its end: when a worker dies its actors die with it, and
    their errors name them all. `random`, `numpy.random` and `torch` are kept apart, those of a thread that an actor has started
    itself excepted. One method runs at a time in a worker; one that waits for others' results or sleeps (`time.sleep`) lets its
    neighbours run, as does one that is blocked in the system for some 2 ms, or has run for some 10 ms. (An operation of a native
    library that sleeps for longer than that and draws random numbers afterwards, all without returning to Python, draws from the
    state of whose method runs then.) Methods run in any of the worker's threads, so an actor with something bound to one thread, such as a connection of
    sqlite3, should not be packed.

    Threaded and async actors, those with concurrency groups, GPUs, two or more CPUs (and so threads of the numeric libraries), a runtime environment or a placement group of their own,
    those that may be restarted, and those with a method that loops and has no `return` to come to (`while True`), or one that was
    called in the recorded run and did not return in it, have a process each, as in isolated placement.
    """

    workers: int | None = None
    recording: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and (not isinstance(self.workers, int) or self.workers < 1):
            raise ValueError(f"packed(workers={self.workers!r}): must be a positive number of processes")

    def plan(self) -> dict[str, Any]:
        """The dict for reactor's supervisor: `workers`, and `groups`: lists of actors' names, by worker."""
        from reactor.placement import group, measured, unreturned
        from reactor.record import Recording

        workers = self.workers or os.cpu_count() or 1
        if self.recording is None:
            return {"workers": workers, "groups": [], "alone": []}
        with open(self.recording, encoding="utf-8") as file:
            try:
                recording = Recording.from_dict(json.load(file))
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise ValueError(
                    f"packed(recording={os.fspath(self.recording)!r}): not a file that rayshim.graph().save(path) wrote ({error!r})"
                ) from None
        alone = unreturned(recording)
        return {"workers": workers, "groups": group(measured(recording), workers, alone), "alone": alone}


def shares(cls, info, at_once, facts, threads):
    """Whether an actor may share a process: `cls`, its class, which may say no by `_own_process = True`; `info`, its ClassInfo;
    `at_once`, whether it works at several calls at the same time or on streams ahead of their readers; `facts`, what is told of it; `threads`, how many it is given."""
    needs_more = facts["gpus"] or threads > 1 or facts["max_restarts"] or facts["within"] or facts.get("env")
    return not (at_once or needs_more or getattr(cls, "_own_process", False) or _may_go_on_for_ever(cls, info))


def _may_go_on_for_ever(cls, info):
    """Whether a method of the class cannot return. A function that wraps another is looked at inside."""
    if cls not in _endless:
        functions = [inspect.unwrap(inspect.getattr_static(cls, name, None)) for name in info.methods]
        _endless[cls] = any(inspect.isfunction(function) and _cannot_return(function) for function in functions)
    return _endless[cls]


def _cannot_return(function):
    """Whether it loops and has no `return`: the compiler leaves out one that nothing leads to."""
    if inspect.isgeneratorfunction(function):
        return False
    steps = list(dis.get_instructions(function))
    loops = any(step.opcode in _JUMPS and step.argval <= step.offset for step in steps)
    return loops and not any(step.opname.startswith("RETURN_") for step in steps)


class Hosted:
    """What a packed worker knows of one of its actors: its facts, how it is called in output."""

    def __init__(self, facts):
        self.facts = facts
        self.label = facts["class_name"]


def host():
    """This process is a packed worker from now on."""
    from reactor.runtime import worker
    from reactor.runtime.actor_states import FORGET, ActorStates

    states = session.current.states = ActorStates()

    def switched(outer, inner):
        states.switched(outer, inner)
        if inner == FORGET:
            session.current.hosted.pop(outer, None)

    _core.set_hook("switched", switched)
    _core.set_hook("hosted", lambda number, facts: session.current.hosted.update({number: Hosted(facts)}))
    worker.follow(label)


def label():
    """How the running actor's lines are shown, or None."""
    made = session.current.hosted.get(_core.running()[1])
    return made and made.label
