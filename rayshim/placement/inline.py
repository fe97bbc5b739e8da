"""Inline placement: all actors and tasks run in this process. Each actor has its own random state and classes, as in a process of its own, and
so have all tasks together."""

import os

from reactor import _core
from reactor.runtime.actor_states import FORGET, ActorStates

from rayshim.placement import num_threads
from rayshim.session import session
from rayshim.session.facts import public


class InlineActor:
    """One actor.

    Attributes:
        facts: dict, what is told of it.
        creation: (args, kwargs) of the constructor call if the actor may be made anew, else None.
        gpus: [(id, share)] that it has.
    """

    def __init__(self, facts, gpus=(), creation=None):
        self.facts, self.creation, self.gpus = facts, creation, gpus


_of_outer_tasks = []  # with a seed: the random states of the tasks in which the running task is nested


def begin(s):
    """This process has all actors of the session from now on."""
    states = s.states = ActorStates(_core.DRIVER)

    def switched(outer, inner):
        states.switched(outer, inner)
        if inner == FORGET:
            gone = s.inline_actors.pop(outer, None)
            if gone is not None:
                s.inline_gpus.give(gone.gpus)
                s.give_shares(gone.facts["taken"])

    _core.set_hook("switched", switched)
    states.keep_threads()
    _core.enter_state(_core.TASKS)
    num_threads.begin_inline(s.settings, 1)
    states.seed(_core.TASKS, s.settings["seed"], "tasks")
    _core.enter_state(_core.DRIVER)


def begin_task(tag):
    """With a seed, a task is about to draw what its place `tag` in the serial run says."""
    _of_outer_tasks.append(session.current.states.read(_core.TASKS) if len(tag) > 1 else None)


def end_task():
    """It has ended."""
    before = _of_outer_tasks.pop()
    if before is not None:
        session.current.states.write(before)


def anew(number, exit_reason):
    """The actor's process would have ended for `exit_reason`. If it may be made anew that is done, and the facts of the death are
    given; else None."""
    from reactor.runtime.worker import LASTING

    made = session.current.inline_actors.get(number)
    most = made.facts["max_restarts"] if made else 0
    if exit_reason in LASTING or not most or 0 <= most <= made.facts.get("restarts", 0):
        return None
    link = _core.link_at(made.facts["offset"], True)
    if link is None or link.state == 2:
        return None
    facts = {
        "pid": os.getpid(),
        "status": 0,
        "exit_reason": exit_reason,
        "killed": None,
        "restarting": True,
        "actor": public(made.facts),
    }
    made.facts["restarts"] = made.facts.get("restarts", 0) + 1
    _core.renew_state(number)
    link.create(*made.creation)
    return facts


def kill(s, handle, why, no_restart):
    """`ray.kill` of an actor in this process: its instance goes, and later calls fail, or find a new one."""
    made = s.inline_actors.get(handle._link.actor)
    if made is not None and (no_restart or not anew(handle._link.actor, 0)):
        end(s, made.facts, why)


def end(s, facts, why, released=None):
    """Ends the actor of these facts; `released`: key of the placement group in which it can not start."""
    pid = os.getpid() if released is None else 0
    reason = {"pid": pid, "status": 0, "exit_reason": 0, "killed": why, "actor": public(facts), "released": released}
    _core.kill_inbox(facts["offset"], _core.put(reason))
