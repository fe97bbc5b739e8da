"""Whether another run of the program would have the same results, as far as the runtime can know."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from reactor import _core

from rayshim.session import physical

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ENDED = {  # reasons for which an actor ends in each run
    _core.ExitReason.INTENDED,
    _core.ExitReason.OUT_OF_SCOPE,
    _core.ExitReason.SYSTEM_EXIT,
    _core.ExitReason.CREATION_FAILED,
    _core.ExitReason.IDLE_POOL,
}


class Reason(NamedTuple):
    """Something that can differ between runs.

    Attributes:
        what: what it is.
        place: "file:line" in the program; "" if not known.
        times: how often it was met; 0 if it has no number. Of places in workers at least the half is counted.
    """

    what: str
    place: str = ""
    times: int = 0

    def __str__(self) -> str:
        place = f" at {self.place}" if self.place else ""
        return f"{self.what}{place}{f' ({self.times:,})' if self.times > 1 else ''}"


class Repeatable:
    """Whether a run of the same program, with the same code and data, has the same results. It is true if there are no `reasons`.

    The runtime cannot know all: that a program reads the clock, files, sockets, `os.urandom` or `uuid4` is not seen.

    Attributes:
        reasons: tuple of Reason: what can differ between runs.
        notes: tuple of str: what the program itself has to care for.
    """

    def __init__(self, reasons: Iterable[Sequence[Any]] = (), notes: Iterable[str] = ()) -> None:
        self.reasons: tuple[Reason, ...] = tuple(Reason(*reason) for reason in reasons)
        self.notes: tuple[str, ...] = tuple(notes)

    def __bool__(self) -> bool:
        return not self.reasons

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Repeatable) and (self.reasons, self.notes) == (other.reasons, other.notes)

    __hash__: None = None  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]

    def __repr__(self) -> str:
        lines = [f"{bool(self)}{':' if self.reasons else ''}", *(f"  {reason}" for reason in self.reasons)]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def to_dict(self) -> dict[str, list[Any]]:
        """`reasons` as lists, and `notes`."""
        return {"reasons": [list(reason) for reason in self.reasons], "notes": list(self.notes)}


def found(session: Any, arrivals: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """What is known of this run, as `Repeatable.to_dict` returns it. `arrivals`: those of the report."""
    settings = session.settings
    if settings.journal and settings.journal.replayed:
        return Repeatable((), ["this run is a replay of a journal"]).to_dict()
    state = session.placement.state(timeout=5)
    reasons = [
        *_of_order(settings, arrivals),
        *_of_answers(settings),
        *_of_threads(),
        *_of_actors(state["actors"], settings),
        *_of_processes(state),
        *_of_random_numbers(settings),
        *_of_gpus(state["actors"]),
    ]
    return Repeatable(reasons, _notes(settings)).to_dict()


def _of_order(settings, arrivals):
    if settings.ordering == "arrival":
        yield Reason('calls of several callers run in the order of their arrival: init(ordering="arrival")')
    if settings.timing is not None:
        yield from _of_times(settings.timing)
    for arrival in arrivals:
        what, _, place = arrival["what"].partition(" at ")
        yield Reason(f"in arrival order: {what}", place, arrival["times"])


_LOST = {  # bits of `_core.timed_lost`, see Loss in reactor/native/timed/table.h
    1: "a process has died, or an actor was killed: when the others saw that depends on the machine",
    2: "the program had more open calls and values than the table of timed order holds: some were ordered by arrival",
    4: "calls waited for something whose time is not recorded, such as a stream, or another program",
    8: "a call did not go on, because it waits for something outside, such as a barrier or a socket: others were ordered without it",
}


def _of_times(setting):
    """What can differ in timed order."""
    if setting.measured:
        yield Reason(
            f"this run goes by arrival and is measured; later runs with the timing file {setting.path} are repeatable and have its order"
        )
    lost = _core.timed_lost()
    for bit, what in _LOST.items():
        if lost & bit:
            yield Reason(what)


_TIMED = {"wait() with a timeout", "get() whose time was up"}  # in timed order, by the times of the file


def _of_answers(settings):
    for (what, place), times in physical.counted().items():
        if settings.timing is None or what not in _TIMED:
            yield Reason(what, place, times)


def _of_threads():
    changes, place = _core.issuer_changes()
    if changes:
        yield Reason("several threads of the driver make calls", place, changes)


def _of_actors(actors, settings):
    """Actors that run several calls at once. In timed order, those on one event loop are ordered."""
    several = (
        facts
        for facts in actors
        if facts.get("several") and not facts.get("internal") and not (settings.timing and facts.get("loop"))
    )
    return _by_place(several, "runs several calls at once")


def _by_place(actors, what):
    """A Reason for each place where such actors were created, with their number."""
    places = Counter((f"{facts['class_name']} {what}", facts["created_at"]) for facts in actors)
    return (Reason(*key, times) for key, times in places.items())


def _of_processes(state):
    """Processes that have died, what was run again for that, and other drivers."""
    for facts in state["actors"]:
        death = facts.get("death") or {}
        if restarts := facts.get("restarts", 0):
            yield Reason(f"{facts['class_name']} was restarted", facts["created_at"], restarts)
        elif death and death.get("exit_reason") not in _ENDED and death.get("pid") and not death.get("killed"):
            yield Reason(f"the process of {facts['class_name']} has died", facts["created_at"], 1)
    if tasks := state.get("crashed_tasks", 0):
        yield Reason("processes have died in tasks", "", tasks)
    if others := state.get("programs", 1) - 1:
        yield Reason("the session has other drivers", "", others)


def _of_random_numbers(settings):
    if settings.seed is None:
        yield Reason("random numbers of actors and tasks differ: init() was given no seed")
    elif os.environ.get("REACTOR_SEED_UNSEEDED") == "0":
        yield Reason("generators that are made without a seed differ: REACTOR_SEED_UNSEEDED=0")


def _of_gpus(actors):
    """Kernels of a GPU may add numbers in another order in each run."""
    on_gpus = (facts for facts in actors if facts.get("demand", {}).get("GPU"))
    yield from _by_place(on_gpus, "uses a GPU, whose kernels may add numbers in any order")
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized() and not torch.are_deterministic_algorithms_enabled():
        yield Reason("the driver uses a GPU; torch.use_deterministic_algorithms(True) chooses kernels that repeat")


def _notes(settings):
    seed = os.environ.get("PYTHONHASHSEED", "random")
    if seed == "random":
        yield (
            "the order of a set of strings differs in each run of the driver, because PYTHONHASHSEED is not set; "
            "`rayshim run --seed` sets it"
        )
    if settings.journal:
        yield "this run has a journal: a replay of it has the same results"
