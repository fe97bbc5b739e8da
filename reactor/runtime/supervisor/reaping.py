"""The supervisor's reaction to deaths: of a worker's process, of an actor that could not start, of what a dead process has created, and of
reservations that end."""

from __future__ import annotations

import os
import signal
from time import monotonic
from typing import TYPE_CHECKING, Any

from reactor import _core
from reactor.runtime.supervisor.startup_failures import FAILED, KILLED
from reactor.runtime.worker import worker

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from reactor.runtime.resources.devices import Devices
    from reactor.runtime.supervisor.delayed_tasks import PutOff
    from reactor.runtime.supervisor.orphans import Orphans
    from reactor.runtime.supervisor.processes import Actor, Worker
    from reactor.runtime.supervisor.relay import Relay
    from reactor.runtime.supervisor.startup_failures import StartupFailures

_LOOKED_AT_ONCE = 200  # dead actors, at each death
# A task runs on for this time after the actor that has submitted it has gone because nobody holds it any more.
_LEFT_SECONDS = 5.0

_LEAVES_TASKS = (worker.IDLE, worker.INTENDED, worker.FINISHED, worker.SYSTEM_EXIT, worker.CREATION_FAILED)


class Reaping:
    """The part of the supervisor that settles deaths. Supervisor sets the attributes, and says what they are."""

    relay: Relay
    plugin: Any
    workers: dict[int, Worker]
    actors: dict[int, Actor]
    names: dict[tuple[str, str], Actor]
    dead_actors: deque[dict[str, Any]]
    crashed_tasks: int
    waiting: list[Actor]
    reservations: Any
    startup_failures: StartupFailures
    devices: Devices
    hosting: Any
    drivers: Any
    retry_spawn: bool
    memory: Any
    looked_at: int
    put_off: PutOff
    orphans: Orphans
    config: dict[str, Any]
    start_waiting: Callable[[], None]
    _start_waiting: Callable[[], None]
    _end_actor: Callable[[Actor], None]
    _death: Callable[..., dict[str, Any]]
    _actor_facts: Callable[[Actor], dict[str, Any]]

    def _settle_death(self, w, status):
        """Settles the death of a worker's process: its calls fail or wait for the restart, its resources and output are taken back, and the actors
        that it created end."""
        for fd in list(w.pipes):
            self.relay.read(fd)
        info = _core.proc_info(w.slot)
        facts = {
            "pid": w.pid,
            "status": status,
            "exit_reason": info["exit_reason"],
            "actor": w.actor and w.actor.facts,
            "killed": w.actor and w.actor.killed,
            "released": w.released,
            "running": info["running"],
            "memory": w.memory,
        }
        unavailable = None
        if w.actor is not None and info["exit_reason"] not in worker.LASTING and self._may_restart(w.actor):
            unavailable = _core.put(self.plugin.died({**facts, "restarting": True}))
        actors = self.hosting.died(w) if w.is_packed else []
        shared = {"beside": [a.facts["label"] for a in actors], "memory": w.memory}
        deaths = [{**self._death(a, w, info["exit_reason"], status), **shared} for a in actors]
        reasons = [
            (a.offset, _core.put(self.plugin.died(death)), a.place) for a, death in zip(actors, deaths, strict=True)
        ]
        reason = _core.put(self.plugin.died(facts) if w.orphaned is None else w.orphaned)
        retry = self.memory.retry(w) if w.orphaned is None else _core.Retry.NEVER
        restarts = _core.reap(w.slot, reason, unavailable, reasons, retry, self.put_off.take_last_given(w.slot))
        crashed = w.orphaned is None and _is_crash(w, info, facts, actors)
        self.crashed_tasks += crashed and w.runs_tasks
        if left := self._run_again(w):
            self.relay.tell(self.plugin.retried(facts, left))
        elif crashed:
            self.relay.tell(self.plugin.crashed({**facts, **shared}))
        for actor, death in zip(actors, deaths, strict=True):
            _core.give_resources(actor.demand)
            self._died(actor, death)
        if info["exit_reason"] not in (worker.IDLE, worker.DRAINED):
            self._kill_created_by(w.pid)
        self._submitter_ended(w, info["exit_reason"], facts)
        if w.runs_tasks:
            self.devices.give(("task", w.pid))
            self._task_worker_died(w, info, facts)
        elif not w.is_packed:
            w.actor.worker = None
            self.devices.give(("actor", w.actor.offset))
            w.actor.facts.pop("taken", None)
            if restarts:
                self._restart(w.actor)
            else:
                self._died(w.actor, facts)
        self._look_at_dead_actors()
        self.start_waiting()

    def _look_at_dead_actors(self):
        """Does what DRAIN and RELEASE ask for: a process that has died may have called a dead actor, or let it go, and not sent that message."""
        dead = [actor for actor in self.actors.values() if actor.dead]
        first = self.looked_at if self.looked_at < len(dead) else 0
        self.looked_at = first + _LOOKED_AT_ONCE
        for actor in dead[first : self.looked_at]:
            _core.drain(actor.offset)
            self._forget(actor)

    def _run_again(self, w):
        """Has the calls of a dead process run again that have retries left, after a pause. Gives the numbers of their retries."""
        retried = _core.retried()
        delay = self.config["retry_delay"]
        for_memory = self.memory.retried(w, len(_core.put_off()[0]))
        self.put_off.of_dead(w.slot, for_memory[0] if for_memory else delay)
        if w.actor is not None:
            w.actor.facts["calls_from"] = monotonic() + delay if retried else 0.0  # of its next process
        return for_memory[1] if for_memory else retried

    def _submitter_ended(self, w, exit_reason, facts, actor=None):
        """The process, or an actor that it hosted, has ended: the tasks that it has submitted end, too. They run on if it has ended itself."""
        killed = (actor or w.actor) is not None and (actor or w.actor).killed
        if not killed and (exit_reason in _LEAVES_TASKS or exit_reason == worker.DRAINED and w.runs_tasks):
            return
        after = _LEFT_SECONDS if exit_reason == worker.OUT_OF_SCOPE and not killed else 0.0
        self.orphans.submitter_ended(w.slot, actor.facts["number"] if actor else 0, facts, after)

    def _task_worker_died(self, w, info, facts):
        """Starts another task worker, or fails the tasks if workers of this kind die before they run anything."""
        verdict = self.startup_failures.record(
            info["executed"] or info["had_task"] or info["exit_reason"], facts["status"]
        )
        if verdict == KILLED:
            self.retry_spawn = True  # a little later
            return
        if verdict == FAILED:
            _core.fail_tasks(_core.put(self.plugin.died(facts)), setting=w.setting)
        self._answer_spawn()

    def _answer_spawn(self):
        self.retry_spawn = False
        _core.spawn_answered()

    def _kill_created_by(self, pid, number=None):
        """Ends the actors that the process `pid`, or the actor `number`, has created, except detached ones."""
        for actor in list(self.actors.values()):
            is_child = actor.facts["creator"] == pid if number is None else actor.facts.get("creating_actor") == number
            if not is_child or actor.facts.get("detached") or actor.dead or actor.killed:
                continue
            self.kill_orphan(actor)

    def kill_orphan(self, actor):
        """Ends an actor whose owner has ended."""
        actor.killed = "its owner has died."
        if actor.worker is None:
            self.waiting.remove(actor)
            self._kill_unstarted(actor, actor.killed)
        else:
            self._end_actor(actor)

    # ---- reservations that end

    def _release(self, key):
        """Ends a reservation: kills the workers that use it, and fails the actors and tasks that wait for it."""
        reservation = self.reservations.release(key)
        if reservation is None:
            return
        demands = set(reservation.demands.values())
        for actor in [a for a in self.waiting if a.demand in demands]:
            self.waiting.remove(actor)
            self._refuse_actor(actor, key)
        for w in self.workers.values():
            if _core.proc_info(w.slot)["demand"] - 1 in demands:
                w.released = key
                if w.actor is not None:
                    w.actor.killed = f"its worker was ended because its {reservation.kind} {key} was removed."
                os.kill(w.pid, signal.SIGKILL)
        for demand in demands:
            self._refuse(demand)
        self._start_waiting()

    def _refuse(self, demand):
        """Fails the tasks that wait for a demand whose reservation has ended."""
        facts = {
            "pid": 0,
            "status": 0,
            "exit_reason": worker.UNKNOWN,
            "actor": None,
            "killed": None,
            "released": self.reservations.retired(demand),
        }
        _core.fail_tasks(_core.put(self.plugin.died(facts)), demand)

    def _refuse_actor(self, actor, key):
        actor.released = key
        kind = self.reservations.all[key].kind
        self._kill_unstarted(actor, f"its {kind} {key} was removed before it could start.")

    def _may_restart(self, actor):
        most = actor.facts.get("max_restarts", 0)
        return not actor.killed and (most < 0 or actor.restarts < most)

    def _restart(self, actor):
        actor.restarts += 1
        actor.facts["restarts"] = actor.restarts
        self._answer_waiters(actor)
        self.waiting.append(actor)

    def _answer_waiters(self, actor):
        for reply in actor.waiters:
            _core.reply(reply, (True, True))
        actor.waiters = []

    def _died(self, actor, facts):
        actor.dead = True
        actor.death = {name: fact for name, fact in facts.items() if name != "actor"}
        self.dead_actors.append(self._actor_facts(actor))
        key = actor.facts.get("name") and (actor.facts["namespace"], actor.facts["name"])
        if key and self.names.get(key) is actor:
            del self.names[key]
        self._answer_waiters(actor)
        if actor.facts.get("detached"):
            _core.drop(actor.offset)
        if self.drivers:
            self.drivers.actor_died(actor.facts)
        self._forget(actor)

    def _kill_unstarted(self, actor, why):
        facts = {
            "pid": 0,
            "status": 0,
            "exit_reason": worker.UNKNOWN,
            "actor": actor.facts,
            "killed": why,
            "released": actor.released,
        }
        _core.kill_inbox(actor.offset, _core.put(self.plugin.died(facts)))
        self.actors[actor.offset] = actor
        self._died(actor, facts)

    def _forget(self, actor):
        if self.actors.get(actor.offset) is actor and _core.free_actor(actor.offset):
            del self.actors[actor.offset]
            _core.drop(actor.facts["info"])


def _is_crash(w, info, facts, actors):
    """Whether the process has ended in the middle of its work, and neither the program nor the runtime has asked for that. An actor that leaves with
    status 0 has asked for it; a task cannot."""
    unexpected = (
        worker.UNKNOWN,
        worker.SYSTEM_EXIT,
        worker.LOST_DESCRIPTOR,
        *([worker.FINISHED] if w.runs_tasks else []),
    )
    wanted = facts["exit_reason"] not in unexpected or facts["killed"] or facts["released"] or info["cancelled"]
    return not wanted and bool(info["task"] if w.runs_tasks else w.actor or actors)
