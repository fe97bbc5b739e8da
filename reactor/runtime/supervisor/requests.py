"""The requests of the driver and the workers to the supervisor: each request is a method, whose name is on_ and the request's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from reactor import _core
from reactor.runtime.messages import output
from reactor.runtime.resources.devices import Devices

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from reactor.runtime.resources.demands import Demands
    from reactor.runtime.supervisor.delayed_tasks import PutOff
    from reactor.runtime.supervisor.key_values import KeyValues
    from reactor.runtime.supervisor.orphans import Orphans
    from reactor.runtime.supervisor.processes import Actor, Worker
    from reactor.runtime.supervisor.relay import Relay

REMEMBERED = 1000  # dead actors that `on_state` still returns


class Requests:
    """The part of the supervisor that answers requests; `reply` is the address of the reply. Supervisor has the requests that start or end something.

    Supervisor sets the attributes, and says what they are.
    """

    relay: Relay
    workers: dict[int, Worker]
    actors: dict[int, Actor]
    names: dict[tuple[str, str], Actor]
    arrivals: dict[Any, int]
    shown_topics: set[Any]
    dead_actors: deque[dict[str, Any]]
    crashed_tasks: int
    drivers: Any
    waiting: list[Actor]
    demands: Demands
    reservations: Any
    key_values: KeyValues
    posted: dict[tuple, Any]
    devices: Devices
    orphans: Orphans
    put_off: PutOff
    config: dict[str, Any]
    start_waiting: Callable[[], None]
    _start_waiting: Callable[[], None]
    _release: Callable[[Any], None]
    _may_restart: Callable[[Actor], bool]
    _end_actor: Callable[[Actor], None]
    _kill_unstarted: Callable[[Actor, str], None]

    def on_demand(self, whose, resources, within, setting, reply):
        """Replies with the number of the demand of the task `whose`. Its workers start with `setting` (hashable, for the plugin), or with none."""
        _core.reply(reply, (True, self.demands.number(resources, whose, within, setting)))

    def on_reserve(self, key, facts, wanted, offered, reply):
        """Makes a reservation as soon as its resources are free, see `Reservations`."""
        self.reservations.add(key, facts, wanted, offered)
        self._start_waiting()
        _core.reply(reply, (True, None))

    def on_reserved(self, key, reserved, released, is_error, reply):
        self.reservations.when_decided(key, reserved, released, is_error, reply)

    def on_reservations(self, key, reply):
        _core.reply(reply, (True, self.reservations.table(key)))

    def on_post(self, key, value):
        self.posted[key] = value

    def on_posted(self, topic, reply):
        """Replies with {key: value} for the keys that begin with `topic`."""
        _core.reply(reply, (True, {key: value for key, value in self.posted.items() if key[0] == topic}))

    def on_kv_part(self, name, data):
        self.key_values.part(name, data)

    def on_kv(self, what, arguments, reply):
        _core.reply(reply, (True, self.key_values.ask(what, *arguments)))

    def on_release(self, key, reply):
        self._release(key)
        _core.reply(reply, (True, None))

    def on_named(self, name, namespace, without_handles, reply):
        """Replies with (offset, offset of the class information) of the actor of that name, both held for the caller; None if there is none.
        `without_handles`: also of one that nobody holds any more, while its calls run."""
        actor = self._held_by_name((namespace, name), without_handles)
        if actor is None:
            _core.reply(reply, (True, None))
            return
        _core.hold(actor.facts["info"])
        _core.reply(reply, (True, (actor.offset, actor.facts["info"])))

    def _held_by_name(self, key, without_handles=False):
        """The actor of that name, which is then held; None if there is none, or nobody holds it and it is about to end: its name is free."""
        actor = self.names.get(key)
        if actor is None or actor.dead:
            return None
        if not _core.hold_if_held(actor.offset):
            if not without_handles or not _core.has_calls(actor.offset):
                return None
            _core.hold(actor.offset)  # it ends after its calls all the same
        return actor

    def _is_taken(self, key):
        actor = self._held_by_name(key)
        if actor is not None:
            _core.drop(actor.offset)
        return actor is not None

    def on_names(self, reply):
        _core.reply(reply, (True, [(n, ns) for ns, n in self.names if self._is_taken((ns, n))]))

    def on_life(self, offset, reply):
        """Replies with (ordinal, number of restarts) of an actor that has not died, else None."""
        actor = self.actors.get(offset)
        _core.reply(reply, (True, None if actor is None or actor.dead else (actor.facts["ordinal"], actor.restarts)))

    def on_kill(self, offset, why, no_restart, reply):
        actor = self.actors.get(offset)
        if actor is None or actor.dead:
            _core.reply(reply, (True, False))
            return
        if no_restart or not self._may_restart(actor):
            actor.killed = why
        if actor.worker is None:
            if actor.killed:
                self.waiting.remove(actor)
                self._kill_unstarted(actor, why)
            _core.reply(reply, (True, True))
            return
        actor.waiters.append(reply)
        self._end_actor(actor)

    def on_say(self, text):
        """Shows a line of a worker to the user, apart from the worker's output."""
        self.relay.tell(text)

    def on_count_arrivals(self, topics, entries, text, advice):
        """Counts the entries, and shows the line if one of its topics is new, with the advice after the first line of all. `on_arrivals` replies with
        the entries and how often each came."""
        if text is not None and not self.shown_topics.issuperset(topics):
            self.relay.tell(text if self.shown_topics else text + advice)
            self.shown_topics.update(topics)
        for entry in entries:
            self.arrivals[entry] = self.arrivals.get(entry, 0) + 1

    def on_arrivals(self, reply):
        _core.reply(reply, (True, list(self.arrivals.items())))

    def on_lost(self, text):
        """Reports a failed call whose result nobody can ask for any more. `text` is for the driver's user; None: nothing is shown."""
        if text is not None:
            self.relay.send(
                [output.frame(output.LOST, "", os.getpid(), text.encode(errors="replace"))], self.relay.scope
            )

    def on_signal(self, slot, number):
        for w in self.workers.values():
            if w.slot == slot:
                os.kill(w.pid, number)

    def on_end_task(self, slot, uid, asked):
        """Ends the worker at `slot` if it runs the task with this result. `asked`: it is first asked to do that itself."""
        for w in self.workers.values():
            if w.slot == slot:
                self.orphans.end_task(w, uid, asked)

    def on_put_off(self, submitter, number, task):
        self.put_off.given(submitter, number, task, self.config["retry_delay"])

    def on_state(self, reply):
        """Replies with all actors and workers, for reports."""
        actors = [*self.dead_actors, *(self._actor_facts(a) for a in self.actors.values() if not a.dead)]
        workers = [{"pid": w.pid, "slot": w.slot, "actor": not w.runs_tasks} for w in self.workers.values()]
        guests = self.drivers.last_guest if self.drivers else 0
        programs = guests + (not self.config["head"])
        state = {"actors": actors, "workers": workers, "supervisor": os.getpid(), "programs": programs}
        _core.reply(reply, (True, {**state, "crashed_tasks": self.crashed_tasks}))

    def on_devices(self, pid, amounts, within, reply):
        """Replies with devices for the task that runs in the process `pid`, or None, see `Devices.take`."""
        _core.reply(reply, (True, self.devices.take(("task", pid), amounts, within)))

    def on_devices_back(self, pid):
        self.devices.give(("task", pid))
        self.start_waiting()

    def _actor_facts(self, a):
        return {
            **{
                k: v
                for k, v in a.facts.items()
                if k in ("class_name", "name", "namespace", "number", "demand", "detached", "within", "env", "internal")
                or k in ("tag_hash", "created_at", "several", "loop", "role")
            },
            "pid": a.pid,
            "slot": a.worker.slot if a.worker else -1,
            "host": a.host,
            "state": "DEAD" if a.dead else "ALIVE" if a.worker else "RESTARTING" if a.restarts else "PENDING_CREATION",
            "killed": a.killed,
            "restarts": a.restarts,
            "death": a.death,
        }
