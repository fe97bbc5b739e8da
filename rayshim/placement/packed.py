"""Packed placement: many actors in each worker process."""

from __future__ import annotations

import dis
import functools
import inspect
import json
import os
import threading
import weakref
from dataclasses import dataclass
from typing import Any

from reactor import _core
from reactor.runtime.processes import control_groups

from rayshim.placement.interface import Placement

_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_endless = weakref.WeakKeyDictionary()  # class -> whether one of its methods cannot return


@dataclass(frozen=True)
class packed:
    """The value for `init(placement=packed(n))`: n worker processes, each with many actors. `placement="packed"` means `packed()`.

    Arguments:
        workers: number of worker processes; default: the cores of the machine.
        recording: path of a file that an earlier run of the program saved with `rayshim.graph().save(path)`. The actors are then grouped by the
            time of their methods and by the amount of data that they sent to each other (`reactor.placement.group`). The k-th actor of a class
            goes to the group of the k-th actor in the recording. Without a recording, and for actors that are not in it, an actor goes to the
            worker that has the fewest actors at that moment. Actors never move to another worker.

    Results are the same as in other placements, unless actors share state through globals. The actors of one worker share its process: module
    globals and the process id. When a worker dies, all its actors die, and their errors name all of them. Processes that an actor's methods have
    started by `subprocess`, `multiprocessing` or `os.fork` end with the actor. Processes that its threads have started, and processes of pools, end
    with the worker. The random states of `random`, `numpy.random` and `torch`, the environment variables and the working directory are separate for
    each actor, except in threads that an actor starts itself.

    One method runs at a time in a worker. Another actor can run while a method waits for results or in `time.sleep`, after a method has been
    blocked in a system call for about 2 ms, and after a method has run for about 10 ms. (One exception to the separate random states: if an
    operation of a native library sleeps longer than that, and then draws random numbers without returning to Python in between, it uses the
    state of the actor that runs at that time.) A method may run in any thread of the worker. So do not pack an actor that uses an object bound
    to one thread, such as a connection of sqlite3.

    These actors still get their own process, as in isolated placement: threaded and async actors; actors with concurrency groups, GPUs or other
    accelerators, two or more CPUs, their own runtime environment, or a placement group; actors that may be restarted; actors with a method that
    cannot return (`while True` without `return`), or with a method that was called in the run of `recording` and did not return.
    """

    workers: int | None = None
    recording: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and (not isinstance(self.workers, int) or self.workers < 1):
            raise ValueError(f"packed(workers={self.workers!r}): must be a positive number of processes")

    def plan(self) -> dict[str, Any]:
        """The dict for reactor's supervisor: `workers`, and `groups`: a list of actor names for each worker."""
        from reactor.placement import group, measured, unreturned
        from reactor.recording.patterns import Recording

        workers = self.workers or control_groups.cores()
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


def own_process(actor):
    """Why an actor (rayshim.calls.actor_class.NewActor) must have a process of its own; "" if it may share a worker with others."""
    facts = actor.facts
    if actor.at_once:
        return "runs several calls at the same time"
    for key, reason in (
        ("devices", "uses GPUs" if "GPU" in facts["devices"] else "uses accelerators"),
        ("max_restarts", "may be restarted"),
        ("within", "is in a placement group"),
        ("env", "has a runtime environment of its own"),
    ):
        if facts.get(key):
            return reason
    if actor.threads > 1:
        return "has several threads for numeric libraries"
    if getattr(actor.cls, "_own_process", False):
        return "needs a process of its own"
    return "has a method that cannot return" if _may_go_on_for_ever(actor.cls, actor.info) else ""


def _may_go_on_for_ever(cls, info):
    """Whether a method of the class cannot return. For a wrapper, the wrapped function is checked."""
    if cls not in _endless:
        functions = [inspect.unwrap(inspect.getattr_static(cls, name, None)) for name in info.methods]
        _endless[cls] = any(inspect.isfunction(function) and _cannot_return(function) for function in functions)
    return _endless[cls]


def _cannot_return(function):
    """Whether the function loops and has no `return`. The compiler removes a `return` that cannot be reached."""
    if inspect.isgeneratorfunction(function):
        return False
    steps = list(dis.get_instructions(function))
    loops = any(step.opcode in _JUMPS and step.argval <= step.offset for step in steps)
    return loops and not any(step.opname.startswith("RETURN_") for step in steps)


class Packed(Placement):
    """The driver, and the workers that have a process to themselves: tasks, and actors that cannot share."""

    name = "packed"

    @classmethod
    def for_runtime(cls, given):
        return {"packed": (packed() if given == cls.name else given).plan()}

    def create(self, actor):
        actor.facts["shares"] = self.shares(actor)
        return super().create(actor)

    def shares(self, actor):
        """Whether the actor goes to a worker that it shares."""
        return not (own_process(actor) or self._habit(actor))

    def _habit(self, actor):
        """With `placement="auto"`: what the actor is known to do to its process; "" for nothing."""
        if not self.settings.auto:
            return ""
        from rayshim.placement import habits

        name = actor.facts["class_name"]
        return self.settings.auto.alone.get(name) or habits.why_not_shareable(actor.cls)


class _PackedActor:
    """One actor of a packed worker: its facts, and its label in output."""

    def __init__(self, facts):
        self.facts = facts
        self.label = facts["class_name"]


_STARTED_BY = "_started_by_actor"  # of a thread that an actor's code has started in a packed worker: the actor's number


def _noting(start, actor_here):
    """Thread.start that notes whose thread it is."""

    @functools.wraps(start)
    def noting(self):
        setattr(self, _STARTED_BY, actor_here())
        start(self)

    return noting


class PackedWorker(Packed):
    """A worker of many actors."""

    own_process = False
    idle_title = "ray::packed"

    def begin(self):
        from reactor.runtime.worker import worker
        from reactor.runtime.worker.actor_states import ActorStates

        self._actors = {}  # number of an actor -> _PackedActor
        self._states = states = ActorStates()
        states.keep_surroundings()

        def switched(outer, inner):
            states.switched(outer, inner)
            if inner == _core.FORGET:
                self._actors.pop(outer, None)

        _core.set_hook("switched", switched)
        _core.set_hook("actor_arrived", lambda number, facts: self._actors.update({number: _PackedActor(facts)}))
        worker.follow(self._label)
        threading.Thread.start = _noting(threading.Thread.start, self.actor_here)

    def actor_here(self):
        if _core.runs_here():
            return super().actor_here()
        return getattr(threading.current_thread(), _STARTED_BY, 0)

    def prepare(self, number, facts, threads):
        self._states.seed(number, self.settings.seed, f"actor {facts['ordinal']}")

    def facts(self, number):
        actor = self._actors.get(number)
        return actor and actor.facts

    def label_as(self, number, label):
        self._actors[number].label = label

    def _label(self):
        """How the running actor's lines are shown, or None."""
        actor = self._actors.get(self.actor_here())
        return actor and actor.label
