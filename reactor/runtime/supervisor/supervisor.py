"""The supervisor: starts workers when resources are free, handles their deaths, and stores the actors' names.

It has one thread with one poll loop over control messages, deaths of children, output of workers, and the end of the driver.
"""

import contextlib
import os
import select
import signal
import socket
from collections import deque

from reactor import _core
from reactor.runtime.messages import control, output
from reactor.runtime.processes import descendants
from reactor.runtime.resources.demands import Demands
from reactor.runtime.resources.devices import Devices
from reactor.runtime.spawning import descriptors
from reactor.runtime.spawning.preloading import preload
from reactor.runtime.supervisor import visitors
from reactor.runtime.supervisor.delayed_tasks import PutOff
from reactor.runtime.supervisor.joined_drivers import Drivers, Setting, scope_of
from reactor.runtime.supervisor.key_values import KeyValues
from reactor.runtime.supervisor.orphans import Orphans
from reactor.runtime.supervisor.out_of_memory import MemoryMonitor
from reactor.runtime.supervisor.processes import Actor, Groups, Trees, Worker, fork
from reactor.runtime.supervisor.reaping import Reaping
from reactor.runtime.supervisor.relay import OPEN_SECONDS, Relay
from reactor.runtime.supervisor.requests import REMEMBERED, Requests
from reactor.runtime.supervisor.startup_failures import StartupFailures
from reactor.runtime.worker import worker

ACTOR, TASK_WORKER = _core.ProcKind.ACTOR, _core.ProcKind.POOL
# Task workers alive at once; less than kPool in native/memory/layout.h, where dead ones have their entry for a while.
_POOL_LIMIT = 1000
_MANY = "there are as many as there may be"
_RETRY_SECONDS = 0.2  # before another try to start a task worker where none could be started


class Supervisor(Requests, Reaping):
    """Arguments: config, the driver's dict; plugin, its module; descriptors of the control socket and the driver's line."""

    def __init__(self, config, plugin, control_fd, line_fd):
        self.config, self.plugin = config, plugin
        self.control = socket.socket(fileno=control_fd)
        self.control.setblocking(False)
        self.poll = select.epoll()
        self.relay = Relay(socket.socket(fileno=line_fd), self.poll)
        self.workers = {}  # pid -> Worker
        self.actors = {}  # offset -> Actor
        self.names = {}  # (namespace, name) -> Actor
        self.arrivals, self.shown_topics = {}, set()  # see on_count_arrivals
        self.dead_actors = deque(maxlen=REMEMBERED)  # dicts, as `on_state` returns them
        self.crashed_tasks = 0  # processes that have ended in the middle of a task, and were not asked to
        self.waiting = []  # actors without resources
        self.looked_at = 0  # of the dead actors, by the last death
        self.devices = Devices(lambda kind: _core.resource(kind).total // _core.UNIT)
        self.demands = Demands(self.relay.tell, self.plugin.MORE_RESOURCES, self.devices)
        self.reservations = self.demands.reservations
        self.key_values = KeyValues()
        self.posted = {}  # values that processes publish for all others: tuple -> value
        self.tasks_started = 0
        self.stopping = False
        self.retry_spawn = False
        self.fork_error = _MANY
        self.told_of_forks = False  # that one could not be started for a task, and none could since
        self.hosting = None
        if config["packed"]:
            from reactor.runtime.supervisor.hosting import Hosting

            self.hosting = Hosting(config["packed"], self._start_packed)
        self.startup_failures = StartupFailures(self.relay.tell)
        self.groups = Groups()
        self.trees = Trees()
        self.memory = MemoryMonitor(config["memory"], self.workers)
        self.put_off = PutOff()
        self.orphans = Orphans(self.workers, self.put_off, self.plugin.orphaned)
        self.orphaned = False  # the driver has died
        self.unread = deque()  # control messages, read early because the socket was full
        self.drivers = None
        if config["head"]:
            self._take_drivers()
        elif config["drivers"]:
            self.poll.register(descriptors.LISTEN_FD, select.EPOLLIN)

    def run(self):
        wake_read, wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._driver_died)
        self.poll.register(wake_read, select.EPOLLIN)
        self.poll.register(self.control, select.EPOLLIN)
        _core.set_hook("lost", lambda state, value: self.on_lost(self.plugin.lost_text(state, value)))
        _core.set_hook("crowded", self._take_in)
        _core.set_ready()
        while not self.stopping:
            waits = (
                (_RETRY_SECONDS, self.retry_spawn),
                (OPEN_SECONDS, self.relay.open),
                (descendants.GRACE_SECONDS, self.groups or self.trees),
                (visitors.SECONDS, self.drivers and self.drivers.visitors),
            )
            times = [seconds for seconds, on in waits if on] + self._times()
            events = self.poll.poll(0 if self.unread else min(times, default=None))
            if self.orphaned:
                self._end_all(flush=False)
            if self.drivers and self.drivers.visitors:
                self.drivers.visitors.send_away(but={fd for fd, _ in events})
            self.memory.look()
            if self.put_off:
                self.put_off.look()
                self._tell_answering()
            self.orphans.look()
            self.groups.kill()
            self.trees.kill()
            self.relay.show_open()
            if self.retry_spawn and not events and not self.unread:
                self._answer_spawn()
            if self.unread:
                self._read_control()
            for fd, event in events:
                if fd == self.control.fileno():
                    self._read_control()
                elif fd == wake_read:
                    os.read(wake_read, 4096)
                    self._reap_children()
                elif fd == self.relay.line.fileno():
                    if event & (select.EPOLLHUP | select.EPOLLRDHUP | select.EPOLLERR):
                        self._end_all(flush=False)
                    else:
                        self.relay.flush()
                elif not self.relay.read(fd):
                    if fd == descriptors.LISTEN_FD and self.config["drivers"] and not self.drivers:  # the first one
                        self.poll.unregister(fd)
                        self._take_drivers()
                    if self.drivers:
                        self.drivers.take(fd, event)
            if self.drivers and self.drivers.ending:
                self.drivers.settle()
        self._end_all(flush=True)

    def _times(self):
        parts = self.memory.seconds(), self.put_off.seconds(), self.orphans.seconds()
        return [seconds for seconds in parts if seconds is not None]

    def _take_drivers(self):
        self.drivers = self.relay.drivers = Drivers(self, self.config["drivers"])

    # ---- requests

    def _take_in(self):
        _core.set_answering(True)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.unread.append(self.control.recv(control.LARGEST + 64))

    def _read_control(self):
        _core.set_answering(True)
        for _ in range(256):
            try:
                data = self.unread.popleft() if self.unread else self.control.recv(control.LARGEST + 64)
            except BlockingIOError:
                break
            request, *arguments = control.parse(data)
            if request == "shutdown":
                self.stopping = True
                return
            self._do(request, *arguments)
        self._tell_answering()

    def _tell_answering(self):
        _core.set_answering(bool(self.unread or self.put_off))  # what is put off moves on: not all sleep

    def read_all(self):
        """Answers all requests that have arrived by now."""
        self._take_in()
        while self.unread and not self.stopping:
            self._read_control()

    def on_for(self, scope, request, *arguments):
        """Answers a request from a process of this scope."""
        with self.relay.for_scope(scope):
            self._do(request, *arguments)

    def _do(self, request, *arguments):
        try:
            if isinstance(request, int):
                self._core_request(request, *arguments)
            else:
                getattr(self, f"on_{request}")(*arguments)
        except Exception as error:  # an error in one request must not end the run
            if request == control.SPAWN:
                self.retry_spawn = True
            if not isinstance(request, int) and _has_reply(getattr(Supervisor, f"on_{request}", None), arguments):
                _core.reply(arguments[-1], (False, error))
            else:
                self.relay.tell(f"{request}: {error!r}")

    def _core_request(self, request, offset):
        if request == control.SPAWN:
            _core.spawn_taken()
            self._start_task_worker(offset)
        elif request == control.RESOURCES:
            self._start_waiting()
        elif request == control.REFUSE:
            self._refuse(offset)
        elif request == control.SPILLED:
            self._tell_of_spilling()
        elif request == control.COLLECT:
            self.relay.send_to_all([output.frame(output.COLLECT, "runtime", os.getpid(), b"")])
        elif request == control.DRAIN:
            # The caller may have let the actor go meanwhile: its memory is freed, or another actor's.
            if offset in self.actors:
                _core.drain(offset)
        elif request == control.RELEASE:
            actor = self.actors.get(offset)
            if actor is not None and actor.dead:
                self._forget(actor)

    def _tell_of_spilling(self):
        so_far = _core.spilling()
        megabytes = so_far["spilled"] / 2**20
        rate = f", write throughput {megabytes / so_far['seconds']:.0f} MiB/s" if so_far["seconds"] else ""
        self.relay.tell(
            f"Spilled {megabytes:.0f} MiB, {so_far['values']} objects{rate}. {self.config['spilling']['note_text']}".rstrip()
        )

    def on_actor(self, offset, facts, reply=None):
        """Registers a new actor, which gets a process as soon as its resources are free. The reply: "taken" if its name is in use, else None."""
        key = facts.get("name") and (facts["namespace"], facts["name"])
        if key and self._is_taken(key):
            _core.reply(reply, (True, "taken"))  # pyright: ignore[reportArgumentType]
            self._kill_unstarted(Actor(offset, facts), "its name was taken")
            return
        preload(facts.get("preload", ()))
        if self.hosting:
            facts["label"] = self.hosting.name(facts)
        actor = Actor(offset, facts)
        try:
            actor.demand = self.demands.number(
                facts["demand"], facts.get("created_as", facts["class_name"]), facts.get("within")
            )
        except ValueError as error:
            self._kill_unstarted(actor, f"it could not be placed: {error}")
            if reply is not None:
                _core.reply(reply, (True, None))
            return
        self.actors[offset] = actor
        if key:
            self.names[key] = actor
        if self.drivers and not facts.get("detached") and self.drivers.is_over(facts["scope"]):
            self._kill_unstarted(actor, "its owner has died.")
        elif gone := self.reservations.retired(actor.demand):
            self._refuse_actor(actor, gone)
        else:
            self.waiting.append(actor)
            self._start_waiting()
        if reply is not None:
            _core.reply(reply, (True, None))

    def on_preload(self, modules):
        """Imports modules for all workers to come."""
        preload(modules)

    def _end_actor(self, actor):
        if actor.worker.is_packed:
            self.hosting.remove(actor, _core.put(self.plugin.died(self._death(actor, actor.worker))))
        else:
            os.kill(actor.worker.pid, signal.SIGKILL)

    def _death(self, actor, w, exit_reason=worker.UNKNOWN, status=0):
        return {
            "pid": w.pid,
            "status": status,
            "exit_reason": exit_reason,
            "actor": actor.facts,
            "killed": actor.killed,
            "released": None,
        }

    def on_actor_left(self, offset, exit_reason, started, status):
        """Settles the end of an actor in a packed worker that goes on; `started`: pids of the processes that the actor has started; `status`: that with
        which a process of its own would have ended."""
        actor = self.actors.get(offset)
        if actor is None or actor.worker is None:
            return
        w = actor.worker
        self.trees.terminate(started, w.pid)
        death = self._death(actor, w, exit_reason, status << 8)
        _core.kill_inbox(offset, _core.put(self.plugin.died(death)))
        self.hosting.actor_left(actor)
        _core.give_resources(actor.demand)
        if exit_reason == worker.SYSTEM_EXIT and not actor.killed:
            alone = {"beside": [], "memory": None, "running": ""}
            self.relay.tell(self.plugin.crashed({**death, **alone}), w.scope)
        if exit_reason != worker.OUT_OF_SCOPE or actor.killed:
            self._kill_created_by(None, actor.facts["number"])
        self._submitter_ended(w, exit_reason, {**death, "running": ""}, actor)
        self._died(actor, death)
        self.start_waiting()

    # ---- starting

    def start_waiting(self):
        """Starts what waits for resources, because some may be free now."""
        if self.waiting or self.reservations.open():
            self._start_waiting()

    def _start_waiting(self):
        _core.set_actors_waiting(
            len(self.waiting) + self.reservations.open()
        )  # before trying: a process that returns resources later then sends a message
        self.reservations.advance()
        still = []
        for actor in self.waiting:
            # Resources go in the order of the requests: a task that asked before may be waiting for its worker to start.
            others_first = actor.facts["demand"] and _core.task_before(actor.offset)
            try:
                if not others_first and self._take(actor):
                    self._start_actor(actor)
                else:
                    still.append(actor)
            except Exception as error:  # the others wait as before
                if actor.worker is None and not actor.dead:
                    self._kill_unstarted(actor, f"it could not be started: {error!r}")
        self.waiting = still
        _core.set_actors_waiting(len(still) + self.reservations.open())

    def _take(self, actor):
        """Takes the resources and the devices that an actor asks for, or nothing."""
        if not _core.take_resources(actor.demand):
            return False
        facts = actor.facts
        taken = self.devices.take(("actor", actor.offset), facts.get("devices", {}), facts.get("part"))
        if taken is None:
            _core.give_resources(actor.demand)
            return False
        actor.gpus = taken.pop("GPU", [])
        if taken:
            facts["taken"] = taken
        return True

    def _start_actor(self, actor):
        if self.hosting and self.hosting.shares(actor):
            if not self.hosting.put(actor):
                _core.give_resources(actor.demand)
                self._kill_unstarted(actor, f"no process could be started for it: {self.fork_error}")
            return
        slot = _core.new_proc(ACTOR, _core.inbox_at(actor.offset))
        if slot >= 0:
            _core.set_proc_demand(slot, actor.demand)
            actor.worker = self._fork(slot, actor, actor.facts["class_name"])
            actor.pid = actor.worker.pid if actor.worker else 0
        if actor.worker is None:
            _core.give_resources(actor.demand)
            self.devices.give(("actor", actor.offset))
            self._kill_unstarted(actor, f"no process could be started for it: {self.fork_error}")

    def _start_task_worker(self, setting):
        started = None
        born_with = self.demands.settings[setting]
        if self.drivers and self.drivers.is_over(scope_of(born_with)):
            self.drivers.fail_tasks(setting)
            self._answer_spawn()
            return
        if sum(w.runs_tasks for w in self.workers.values()) < _POOL_LIMIT:
            slot = _core.new_proc(TASK_WORKER, 0, setting)
            if slot >= 0:
                started = self._fork(slot, None, "task", setting)
                if started is None and not self.told_of_forks:
                    self.relay.tell(
                        f"no process could be started for a task: {self.fork_error}. It waits until one can"
                    )
                self.told_of_forks = started is None
        if started is None:
            self.retry_spawn = True  # at the next death, or a little later

    def _start_packed(self, number, born_with):
        slot = _core.new_proc(ACTOR, 0)
        w = self._fork(slot, None, "packed", birth=f"packed {number}", host=born_with) if slot >= 0 else None
        if w is not None:
            w.actors = {}
        return w

    def _fork(self, slot, actor, label, setting=0, birth=None, host=None):
        facts = actor.facts if actor else None if birth is None else worker.HOST
        birth = birth or (self.tasks_started if actor is None else actor.facts["ordinal"])
        born_with, config = self.demands.settings[setting], self.config
        if self.drivers:
            config = self.drivers.config(facts, born_with)
            born_with = born_with.of if isinstance(born_with, Setting) else born_with
        try:
            pid, pipes = fork(slot, facts, actor and actor.gpus, host or born_with, birth, config, self.plugin)
        except OSError as error:
            _core.free_proc(slot)
            self.fork_error = error.strerror
            return None
        self.fork_error = _MANY  # if there is none next time, this is not the reason
        self.tasks_started += facts is None
        scope = config.get("scope")
        w = self.workers[pid] = Worker(slot, pid, actor, setting, set(), scope)
        try:
            w.pipes = self.relay.watch(pipes, label, pid, scope)
        except OSError as error:  # its output could not be read: it would block
            self.relay.tell(f"a process that was started is ended, because its output cannot be read: {error.strerror}")
            os.kill(pid, signal.SIGKILL)
        return w

    # ---- ending

    def _reap_children(self):
        _core.set_answering(True)  # what dead processes were to do moves on: not all sleep
        while ended := _ended_child():
            # All that it has sent is in the socket. What it had begun and not sent is found when its death is settled.
            self.read_all()
            _core.set_answering(True)
            w = self.workers.pop(ended.si_pid, None)
            if w is not None:
                self.groups.terminate(w.pid)  # while no other process can have its number
            _, status = os.waitpid(ended.si_pid, 0)
            if w is not None:
                self.groups.watch(w.pid)
                with self.relay.for_scope(w.scope):
                    self._settle_death(w, status)
        self._tell_answering()

    def _driver_died(self, *_):
        self.orphaned = True

    def _end_all(self, flush):
        for pid in self.workers:
            os.kill(pid, signal.SIGKILL)
        if not flush:
            self._end_descendants()
            os._exit(0)
        for w in list(self.workers.values()):
            os.waitpid(w.pid, 0)
            for fd in list(w.pipes):
                self.relay.read(fd)
        self._end_descendants()
        self.relay.end()
        os._exit(0)

    def _end_descendants(self):
        """Ends the processes that the killed workers have started. Orphans have become children of this process."""
        descendants.end_own()
        self.plugin.ended()


def _ended_child():
    """The result of `waitid` for a child that has ended and was not waited for, or None."""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None


def _has_reply(handler, arguments):
    """Whether the last argument of a request is the address of its reply."""
    if handler is None:
        return False
    names = handler.__code__.co_varnames[1 : handler.__code__.co_argcount]
    return len(arguments) == len(names) and names[-1:] == ("reply",)
