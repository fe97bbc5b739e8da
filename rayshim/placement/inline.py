"""Inline placement: all actors and tasks run in this process. Each actor has its own random state and classes, as in a process of its own, and
so have all tasks together."""

import _thread
import contextlib
import os
import sys
import threading
import traceback
import weakref

from reactor import _core
from reactor.runtime.resources.devices import Devices
from reactor.runtime.resources.reservations import RELEASED, Reservations
from reactor.runtime.seeding import seeding
from reactor.runtime.supervisor.key_values import KeyValues
from reactor.runtime.worker import worker
from reactor.runtime.worker.actor_states import ActorStates

from rayshim.errors.user_code import is_users
from rayshim.placement import signals
from rayshim.placement.interface import Placement
from rayshim.resources import num_threads
from rayshim.session import session
from rayshim.session.facts import public

# The longest wait for the constructor of a named actor that runs in another thread: it may itself wait for the thread that asks for the name.
_CONSTRUCTOR_SECONDS = 10.0


# A call that runs for so long is reported, once in a session: in another placement the program might continue beside it.
LONG_SECONDS = 30.0


class _Actor:
    """One actor.

    Attributes:
        facts: dict, the facts of the actor.
        creation: (args, kwargs) of the constructor call if the actor may be restarted, else None.
        gpus: [(id, share)] that it has.
    """

    def __init__(self, facts, gpus, creation):
        self.facts, self.gpus, self.creation = facts, gpus, creation


class Inline(Placement):
    """There is no supervisor: what it knows elsewhere is kept here."""

    name = "inline"
    runs_in_parallel = False
    takes_other_drivers = False
    own_process = False

    def __init__(self, control, settings, record=None):
        super().__init__(control, settings, record)
        self._actors = {}  # number -> _Actor
        self._under_construction = {}  # (namespace, name) -> (thread, an event), of actors whose constructor has not ended
        self._named = {}  # (namespace, name) -> function that gives (link, ref of the ClassInfo), or None when the actor is gone
        self._devices = Devices(lambda kind: int(settings.resources.get(kind, 0)))
        self._reservations = Reservations(lambda amounts, whose: _demand(amounts), _core.reply, self._devices)
        self._key_values = KeyValues()
        self._posted = {}
        self._ended = threading.Event()
        self._outer_tasks = []  # with a seed: the random states of the tasks in which the running task is nested

    @classmethod
    def for_runtime(cls, given):
        return {"inline": True}

    def begin(self):
        _core.set_hook("restart", self._restart)
        _core.set_hook("exit_kind", worker.exit_kind)
        _core.set_hook("breaks_off", signals.has_raised)
        states = self._states = ActorStates(_core.DRIVER)

        def switched(outer, inner):
            states.switched(outer, inner)
            if inner == _core.FORGET:
                gone = self._actors.pop(outer, None)
                if gone is not None:
                    self._devices.give(("actor", outer))

        _core.set_hook("switched", switched)
        states.keep_threads()
        _core.enter_state(_core.TASKS)
        num_threads.begin_inline(self.settings, 1)
        states.seed(_core.TASKS, self.settings.seed, "tasks")
        _core.enter_state(_core.DRIVER)
        # By `_thread`, so that `threading` does not list it among the program's.
        _thread.start_new_thread(self._watch, (self._ended,))

    def _watch(self, ended):
        """In a thread: tells, once, of a call that the program waits for without an end in sight."""
        seen = (None, None)  # numbers of the calls at the last two looks
        while not ended.wait(LONG_SECONDS / 2):
            call = _core.outermost_call()
            if call is None:
                seen = (None, None)
                continue
            number, *what = call
            if seen == (number, number):
                self._tell(*what)
                return
            seen = (seen[1], number)

    def _tell(self, actor, callable):
        """Of the main thread's call that has run for long."""
        found = self._actors.get(actor)
        method = getattr(callable, "__name__", "its constructor")
        name = f"{found.facts['class_name']}, {method}," if found else f"the task {method}"
        frames = traceback.extract_stack(sys._current_frames().get(threading.main_thread().ident or 0))
        places = [f"{frame.filename}:{frame.lineno}" for frame in reversed(frames) if is_users(frame.filename)]
        print(
            f"rayshim: a call of {name} has run for {LONG_SECONDS:g} s and is at {places[0] if places else '?'}. In inline placement the program goes on "
            'only when the call has ended. If it is a loop that runs beside the program, use another placement, such as init(placement="isolated").',
            file=sys.stderr,
            flush=True,
        )

    def enter_driver(self, enter):
        try:
            enter()
        except Exception as error:
            session.current.broken = error

    def end(self):
        seeding.stop()
        self._ended.set()

    # Actors

    def create(self, actor):
        facts, link = actor.facts, actor.link
        if facts["name"]:
            if self.named(facts["name"], facts["namespace"]) is not None:
                return False
            info_ref = actor.info_ref
            living = (lambda: link) if facts["detached"] else weakref.ref(link)
            self._named[facts["namespace"], facts["name"]] = lambda: (living(), info_ref)
        taken = self._devices.take(("actor", link.actor), facts["devices"], facts["part"]) or {}
        own_gpus, facts["taken"] = taken.pop("GPU", []), taken
        self._actors[link.actor] = _Actor(facts, own_gpus, actor.creation if facts["max_restarts"] else None)
        key = facts["within"]
        if key and self._removed(key):
            self._end(facts, "its placement group was removed before it could start.", released=key, began=False)
        return True

    def prepare(self, number, facts, threads):
        self._states.seed(number, self.settings.seed, f"actor {facts['ordinal']}")
        num_threads.begin_inline(self.settings, threads)

    def construct(self, number, make, is_async, concurrently, surrounded):
        actor = self._actors[number]
        around = surrounded(actor.facts.get("env"), actor.gpus, actor.facts["taken"])
        if not is_async:
            return around(make)(), False, [], around
        from rayshim.placement.inline_loop import ActorLoop

        loop = ActorLoop()
        return around(lambda: loop.make(make))(), False, [], lambda method: around(loop.plain(method))

    def show_as(self, number, instance):
        """Its output is the program's own."""

    def facts(self, number):
        actor = self._actors.get(number)
        return actor and actor.facts

    @contextlib.contextmanager
    def making(self, name, namespace):
        if not name:
            yield
            return
        key, mine = (namespace, name), (threading.get_ident(), threading.Event())
        while True:
            thread, constructed = holder = self._under_construction.setdefault(key, mine)
            if thread == threading.get_ident() or not constructed.wait(_CONSTRUCTOR_SECONDS):
                break
        try:
            yield
        finally:
            if holder is mine:
                del self._under_construction[key]
                constructed.set()

    def named(self, name, namespace, without_handles=False):
        key = (namespace, name)
        found = self._found(key)
        thread, constructed = self._under_construction.get(
            key, (None, None)
        )  # after the look: an actor that was found is constructed, or under construction
        if constructed is None or thread == threading.get_ident():
            return found
        constructed.wait(_CONSTRUCTOR_SECONDS)
        return self._found(key)

    def _found(self, key):
        found = self._named.get(key)
        link, info_ref = found() if found else (None, None)
        return (link, info_ref) if link is not None and link.state == _core.InboxState.OPEN else None

    def catch_up(self, seconds):
        """Its actors are created where they are asked for."""

    def names(self):
        return [
            (name, namespace) for namespace, name in list(self._named) if self._found((namespace, name)) is not None
        ]

    def kill(self, link, why, no_restart):
        actor = self._actors.get(link.actor)
        if actor is not None and (no_restart or not self._restart(link.actor, 0)):
            self._end(actor.facts, why)

    def life(self, link):
        return None

    def _restart(self, number, exit_reason):
        """The actor's process would have ended for `exit_reason`. If it may be restarted that is done, and the facts of the death are
        given; else None."""
        actor = self._actors.get(number)
        most = actor.facts["max_restarts"] if actor else 0
        if exit_reason in worker.LASTING or not most or 0 <= most <= actor.facts.get("restarts", 0):
            return None
        link = _core.link_at(actor.facts["offset"], True)
        if link is None or link.state == _core.InboxState.DEAD:
            return None
        facts = {
            "pid": os.getpid(),
            "status": worker.status_of(exit_reason) << 8,
            "exit_reason": exit_reason,
            "killed": None,
            "restarting": True,
            "actor": public(actor.facts),
        }
        actor.facts["restarts"] = actor.facts.get("restarts", 0) + 1
        _core.renew_state(number)
        link.create(*actor.creation)
        return facts

    def _end(self, facts, why, released=None, began=True):
        """Ends the actor of these facts; `released`: key of its placement group, if that was removed; `began`: whether it lives."""
        reason = {
            "pid": os.getpid() if began else 0,
            "status": 0,
            "exit_reason": worker.UNKNOWN,
            "killed": why,
            "actor": public(facts),
            "released": released,
        }
        _core.kill_inbox(facts["offset"], _core.put(reason))
        self._devices.give(("actor", facts["number"]))

    # Calls

    def setting(self, env, gpus, process=None):
        return None

    def env_of_call(self, env):
        return env

    def task_random(self, tag):
        if tag is None:
            before = self._outer_tasks.pop()
            if before is not None:
                self._states.write(before)
            return
        self._outer_tasks.append(self._states.read(_core.TASKS) if len(tag) > 1 else None)
        self._states.seed(_core.TASKS, self.settings.seed, f"task {tag}")

    def enter_group(self, key):
        if self._removed(key):
            from rayshim.errors.death_texts import Refused, refusal

            raise Refused(refusal(key, of_actor=False))

    def interrupt(self, slot):
        """It is a caller of this one, in the same thread: it sees that it was cancelled when it goes on."""

    def end_task(self, slot, uid, asked):
        """The same."""

    # Resources

    def demand(self, whose, amounts, within, setting):
        return _demand(amounts) if within is None else self._reservations.demand_within(within, amounts)

    def gpus(self):
        actor = self._actors.get(_core.running_actor())
        return actor.gpus if actor else session.current.gpus

    @contextlib.contextmanager
    def devices(self, amounts, within):
        holder = object()  # nobody else runs, so what is not free will not be
        try:
            yield self._devices.take(holder, amounts, within) or {kind: [] for kind in amounts}
        finally:
            self._devices.give(holder)

    def reserve(self, key, facts, wanted, offered):
        self._reservations.add(key, facts, wanted, offered)
        self._reservations.advance()

    def release(self, key):
        self._reservations.release(key)
        for actor in list(self._actors.values()):
            if actor.facts.get("within") == key:
                self._end(actor.facts, f"its placement group {key} was removed.", released=key)
        self._reservations.advance()

    def when_decided(self, key, reserved, released, is_error, where):
        self._reservations.when_decided(key, reserved, released, is_error, where)

    def reservations(self, key=None):
        return self._reservations.table(key)

    def _removed(self, key):
        return self._reservations.all[key].state == RELEASED

    # Facts about the session

    def state(self, timeout=None):
        here = {"pid": os.getpid(), "host": None}
        return {
            "actors": [
                {**actor.facts, **here, "state": _state(actor.facts["offset"])} for actor in list(self._actors.values())
            ],
            "workers": [],
        }

    def count_arrivals(self, topics, entries, text, advice):
        """Every call runs in serial order."""

    def arrivals(self):
        return []

    def post(self, key, value):
        self._posted[key] = value

    def posted(self, topic, timeout=None):
        return {key: value for key, value in self._posted.items() if key[0] == topic}

    def key_value(self, what, namespace, key, *more):
        return self._key_values.ask(what, namespace, key, *more)

    def key_value_part(self, name, part):
        self._key_values.part(name, part)


def _state(offset):
    """Of an actor of which there is a handle."""
    link = _core.link_at(offset, True)
    return "DEAD" if link is None or link.state == _core.InboxState.DEAD else "ALIVE"


def _demand(amounts):
    """This process registers demands itself."""
    return _core.demand([(_core.register_resource(name, 0), amount) for name, amount in sorted(amounts.items())])
