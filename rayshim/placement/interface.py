"""Placement: in which process each actor and task runs. All code that depends on it calls this interface."""

import contextlib
import os
import signal
import time
from typing import Any

from reactor import _core
from reactor.runtime.seeding.seeding import reseed

from rayshim.environments.keys import frozen
from rayshim.session import session

_NOTHING = contextlib.nullcontext()
_DEVICES_SECONDS = 0.02  # between two requests for devices that are not free


class Placement:
    """One kind of placement, as one process of the session sees it: `session.current.placement`, chosen at `init` and at a worker's birth.

    What stands here holds where calls run in other processes than the driver's: the supervisor (reactor.runtime.supervisor) starts those, and
    knows of all actors, names, resources and reservations. The kinds are Isolated, Packed with PackedWorker, and Inline.

    Arguments: control, which sends requests to the supervisor; settings, the session's; record, in the worker of one actor, its facts.
    """

    name = ""  # as `init(placement=)` has it
    runs_in_parallel = True  # whether anything else happens while the running call waits
    takes_other_drivers = True  # whether other programs can be drivers of the session
    own_process = True  # whether an actor that is created here has this process to itself
    idle_title = "ray::IDLE"  # of a worker without an actor of its own, in `ps`

    created = False  # whether this process has asked for an actor

    def __init__(self, control, settings, record=None):
        self.control, self.settings, self.record = control, settings, record

    @classmethod
    def for_runtime(cls, given) -> dict[str, Any]:
        """Decides which processes the runtime starts: arguments of reactor's Driver. `given` is what `init(placement=)` got."""
        return {}

    def begin(self):
        """The session is about to begin in this process, and its other threads do not see it yet: a kind that has several actors in it sets the
        core's hooks here."""

    def enter_driver(self, enter):
        """The session has begun in the driver: a kind that runs calls there calls `enter()`, which gives the driver the session's runtime
        environment."""

    def end(self):
        """The session has ended in the driver."""

    def before_end(self):
        """The session is about to end in the driver, and its processes are there."""

    def about(self):
        """The placement as text, for reports."""
        return self.name

    # Roles: what a file says, see rayshim.placement.by_role. `names`: of an actor class or a function, the short one first.

    def role_of_actor(self, names, name):
        """The Role of an actor called `name` (None: without a name), or None."""

    def role_of_task(self, names):
        """The Role of a task, or None."""

    # Actors

    def create(self, actor):
        """Decides who creates an actor (rayshim.calls.actor_class.NewActor), and where; its constructor call is sent afterwards. False: its name is taken."""
        facts, offset = actor.facts, actor.link.offset
        self.created = True
        _core.hold(actor.info_ref.offset)  # the supervisor's, until it forgets the actor
        if facts["detached"]:
            _core.hold(offset)  # likewise, until it is dead: the caller may drop its handle at once
        if not facts["name"]:
            self.control.tell("actor", offset, facts)
            return True
        _core.offer(actor.link, named=True)
        return self.control.ask("actor", offset, facts) != "taken"

    def prepare(self, number, facts, threads):
        """Before the constructor of actor `number`: gives it the random state and number of threads that a process of its own would have been
        born with."""

    def construct(self, number, make, is_async, concurrently, surrounded):
        """Decides what the constructor and the methods of actor `number` run in: threads and event loops, GPUs, its environment.

        Arguments: make, the constructor call; concurrently(make), makes it as the actor's options ask for in a process of its own;
        surrounded(env, gpus, taken, scopes), a decorator that gives a function an environment, GPUs, other accelerators and other contexts for the time
        of a call.
        Returns (instance, whether its calls are handed on, the lanes of its methods, a decorator of its methods).
        """
        if self.settings.auto:
            from rayshim.placement import habits

            habits.watch(self)
        return (*concurrently(make), lambda method: method)

    def show_as(self, number, instance):
        """Has the output of actor `number` shown under the `repr` of its instance. As on Ray, only the first line of it is the label; the
        others are output of the actor."""
        from reactor.runtime.worker import worker

        label, _, others = repr(instance).partition("\n")
        self.label_as(number, label)
        if others:
            worker.print_on_both(others)

    def label_as(self, number, label):
        """Has the output of actor `number` shown under `label`."""
        from reactor.runtime.worker import worker

        worker.rename(label)

    def actor_here(self):
        """The number of the actor that the caller belongs to: whose call runs here, or in a worker of one actor that one; 0 for none."""
        return _core.running_actor() or (self.record["number"] if self.record else 0)

    def facts(self, number):
        """The facts of the actor `number` that runs in this process; None: no actor does."""
        return self.record

    def making(self, name, namespace):
        """A context in which an actor of this name (None: without one) is made, up to the end of its constructor where that runs here."""
        return _NOTHING

    def named(self, name, namespace, without_handles=False):
        """(link, ref of its ClassInfo) of the living actor of that name, or None. `without_handles`: also of one whose handles are gone, while its
        calls run."""
        found = self.control.ask("named", name, namespace, without_handles)
        if found is None:
            return None
        offset, info = found
        link = _core.link_at(offset, False, weak=True)
        info_ref = _core.ref_at(info)
        _core.drop(info)
        return link, info_ref

    def names(self):
        """[(name, namespace)] of the living actors that have a name."""
        return self.control.ask("names")

    def catch_up(self, seconds):
        """Waits until the supervisor has dealt with the actors that this process has asked for, `seconds` at most. It may have to start first."""
        with contextlib.suppress(TimeoutError, RuntimeError):
            self.control.ask("names", timeout=seconds)  # requests are answered in their order

    def kill(self, link, why, no_restart):
        """Ends an actor for the reason `why`, or restarts it if its options and `no_restart` allow."""
        self.control.ask("kill", link.offset, why, no_restart)

    def life(self, link):
        """(ordinal, number of restarts) of an actor that has not ended by itself, for the journal; else None."""
        return self.control.ask("life", link.offset)

    # Calls

    def setting(self, env, gpus, process=None):
        """Names the task workers for tasks with this runtime environment: None, or something hashable. As in Ray, tasks that use a GPU do
        not share a process with those that do not. process: that of their Role."""
        if env == self.settings.runtime_env:
            env = None
        else:
            env = frozen(env)
        setting = (env, bool(gpus), process) if env is not None or gpus or process else None
        scope = self.settings.scope
        if scope is None:
            return setting
        from reactor.runtime.supervisor.joined_drivers import Setting

        return Setting(setting, scope)  # as in Ray, drivers do not share workers

    def env_of_call(self, env):
        """The part of the runtime environment `env` that each call has to enter and leave, because its process is not born with it."""
        return {}

    def task_random(self, tag):
        """With a seed: gives the task at the place `tag` of the serial run its random state; None: the task has ended."""
        reseed(self.settings.seed, f"task {tag}")

    def enter_group(self, key):
        """A task is about to run in the placement group `key`. Raises if that was removed and nobody else has refused the task."""

    def interrupt(self, slot):
        """The call that runs in the process at `slot` was cancelled: interrupts it."""
        self.control.tell("signal", slot, int(signal.SIGINT))

    def end_task(self, slot, uid, asked):
        """Ends the worker at `slot` if it runs the task with this result. `asked`: it cancels first what the task has called."""
        self.control.tell("end_task", slot, uid, asked)

    # Resources

    def demand(self, whose, amounts, within, setting):
        """Registers a demand {name: amount in 1/10000} of `whose` tasks, `within` a placement group or None; gives its number."""
        return self.control.ask("demand", whose, amounts, within, setting)

    def gpus(self):
        """[(number, share)] of the GPUs that the caller may use."""
        return session.current.gpus

    @contextlib.contextmanager
    def devices(self, amounts, within):
        """Assigns GPUs and other accelerators {resource: amount} to the task that runs here, until the end of the block: {resource: [(number, share)]}.
        Waits until there are enough. within: None, or the placement group and the index of its bundle (-1: any)."""
        try:
            # None: the free devices are shares of several ones, or somebody is about to give one back.
            while (taken := self.control.ask("devices", os.getpid(), amounts, within)) is None:
                time.sleep(_DEVICES_SECONDS)
            yield taken
        finally:
            self.control.tell("devices_back", os.getpid())

    def reserve(self, key, facts, wanted, offered):
        """Reserves resources for a placement group, as soon as they are free; see reactor.runtime.resources.reservations."""
        self.control.ask("reserve", key, facts, wanted, offered)

    def release(self, key):
        """Ends a placement group with what runs in it."""
        self.control.ask("release", key)

    def when_decided(self, key, reserved, released, is_error, where):
        """Stores `reserved` or `released` in the object at `where`, when the placement group is ready or removed."""
        self.control.tell("reserved", key, reserved, released, is_error, where)

    def reservations(self, key=None):
        """The facts of all placement groups, or of one, see `Reservations.table`."""
        return self.control.ask("reservations", key)

    # Facts about the session

    def state(self, timeout=None):
        """{"actors": [facts], "workers": [facts]} of what runs, and of the actors that have ended lately."""
        return self.control.ask("state", timeout=timeout)

    def count_arrivals(self, topics, entries, text, advice):
        """Counts each of the `entries`, which run in arrival order although another order was asked for. Shows `text` to the user, with `advice`
        after the first text of all, if one of the `topics` (hashable) is new; None: shows nothing."""
        self.control.tell("count_arrivals", topics, entries, text, advice)

    def arrivals(self):
        """[(entry, how often)] of `count_arrivals`."""
        return self.control.ask("arrivals", timeout=5)

    def post(self, key, value):
        """Shows `value` to all processes of the session, under `key`, a tuple that begins with its topic."""
        self.control.tell("post", key, value)

    def posted(self, topic, timeout=None):
        """{key: value} of what was posted on a topic."""
        return self.control.ask("posted", topic, timeout=timeout)

    def key_value(self, what, namespace, key, *more):
        """One operation of reactor.runtime.supervisor.key_values.KeyValues, the table that all processes of the session share."""
        return self.control.ask("kv", what, (namespace, key, *more))

    def key_value_part(self, name, part):
        """Sends a part of a value that is too large for one request; `put` with the same name takes them together."""
        self.control.tell("kv_part", name, part)
