"""Inline placement: all actors in this process. Keeps each actor's random state apart, as a process of its own would."""

import os
import random
import sys

from reactor import _core
from reactor.runtime.seeding import reseed

from rayshim import session


class InlineActor:
    """One actor's facts and its random state while another one runs."""

    def __init__(self, facts, settings, gpus=()):
        self.facts = facts
        self.gpus = gpus
        self.seed = settings["seed"]
        self.state = None  # None: never ran, to be seeded then


_driver = InlineActor({}, {"seed": None})


def switched(outer, inner):
    """The core enters actor `inner` from `outer` (0: the driver or a task), or, with `inner` -1, forgets `outer`."""
    s = session.current
    if s is None:
        return
    if inner == -1:
        gone = s.inline_actors.pop(outer, None)
        if gone is not None:
            s.inline_gpus.give(gone.gpus)
        return
    if outer == inner:
        return
    leaving = s.inline_actors.get(outer, _driver)
    entering = s.inline_actors.get(inner, _driver)
    leaving.state = _read()
    if entering.state is not None:
        _write(entering.state)
    elif entering is not _driver:
        reseed(entering.seed, f"actor {entering.facts['ordinal']}")


def _read():
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    return (
        random.getstate(),
        numpy.random.get_state() if numpy is not None else None,
        torch.get_rng_state() if hasattr(torch, "get_rng_state") else None,
    )


def _write(state):
    random.setstate(state[0])
    if state[1] is not None:
        sys.modules["numpy"].random.set_state(state[1])
    if state[2] is not None:
        sys.modules["torch"].set_rng_state(state[2])


def kill(s, handle, why):
    """`ray.kill` of an actor in this process: its instance goes, and later calls fail."""
    from rayshim.serving import public

    number = handle._link.actor
    made = s.inline_actors.get(number)
    if made is None:
        return
    facts = {"pid": os.getpid(), "status": 0, "exit_reason": 0, "killed": why,
             "actor": public(made.facts)}
    _core.kill_inbox(handle._link.offset, _core.put(facts))
