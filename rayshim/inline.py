"""Inline placement: all actors in this process. Keeps each actor's random state apart, as a process of its own would."""

import os

from reactor import _core
from reactor.runtime.actor_states import generators
from reactor.runtime.seeding import reseed

from rayshim import session


class InlineActor:
    """One actor's facts and its random state while another one runs."""

    def __init__(self, facts, settings, gpus=(), creation=None):
        self.facts = facts
        self.creation = creation  # (args, kwargs) of the constructor call if the actor may be made anew
        self.gpus = gpus
        self.seed = settings["seed"]
        self.state = None  # None: never ran, to be seeded then


_driver = InlineActor({}, {"seed": None})
_generators = generators()


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
    leaving.state = read_random()
    if entering.state is not None:
        write_random(entering.state)
    elif entering is not _driver:
        reseed(entering.seed, f"actor {entering.facts['ordinal']}")


def read_random():
    """The states of `random`, and of numpy's and torch's global generators where they are loaded."""
    return [(generator, generator.state()) for generator in _generators if generator.loaded()]


def write_random(states):
    """Sets what `read_random` gave."""
    for generator, state in states:
        generator.put(state)


def anew(number, exit_reason):
    """The actor's process would have ended for `exit_reason`. If it may be made anew that is done, and the facts of the death are
    given; else None."""
    from reactor.runtime.worker import LASTING
    from rayshim.serving import public

    made = session.current.inline_actors.get(number)
    most = made.facts["max_restarts"] if made else 0
    if exit_reason in LASTING or not most or 0 <= most <= made.facts.get("restarts", 0):
        return None
    link = _core.link_at(made.facts["offset"], True)
    if link is None or link.state == 2:
        return None
    facts = {"pid": os.getpid(), "status": 0, "exit_reason": exit_reason, "killed": None, "restarting": True,
             "actor": public(made.facts)}
    made.facts["restarts"] = made.facts.get("restarts", 0) + 1
    made.state = None
    link.create(*made.creation)
    return facts


def kill(s, handle, why, no_restart):
    """`ray.kill` of an actor in this process: its instance goes, and later calls fail, or find a new one."""
    made = s.inline_actors.get(handle._link.actor)
    if made is not None and (no_restart or not anew(handle._link.actor, 0)):
        end(s, made.facts, why)


def end(s, facts, why, released=None):
    """Ends the actor of these facts; `released`: key of the placement group in which it can not start."""
    from rayshim.serving import public

    pid = os.getpid() if released is None else 0
    reason = {"pid": pid, "status": 0, "exit_reason": 0, "killed": why, "actor": public(facts), "released": released}
    _core.kill_inbox(facts["offset"], _core.put(reason))
