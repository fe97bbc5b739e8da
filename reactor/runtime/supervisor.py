"""The supervisor: starts workers when resources allow, notices their deaths, keeps the actors' names.

One thread, one poll loop over: control messages, children's deaths, workers' output, the driver's end.
"""

import contextlib
import os
import select
import signal
import socket
from collections import deque
from time import monotonic
from typing import Any

from reactor import _core
from reactor.runtime import control, descendants, output, worker
from reactor.runtime.gpus import GpuShares
from reactor.runtime.preloading import preload
from reactor.runtime.reservations import Reservations

ACTOR, TASK_WORKER = _core.ProcKind.ACTOR, _core.ProcKind.POOL
_POOL_LIMIT = 1000  # task workers alive at once
_OPEN_SECONDS = 0.3  # that a line without an end, as of a progress bar, is waited for before it is shown
_OUTPUT_LIMIT = 8 << 20  # bytes of output kept for a driver that does not read; beyond it the workers' pipes fill
_RETRY_SECONDS = 0.2  # before another try to start a task worker where none could be started
_STILLBORN_LIMIT = 3
_KILLED = (
    signal.SIGKILL,
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
)  # somebody else has ended the process
_BURIED = 1000  # dead actors of which something is still known
_ANSWERED = (
    "demand",
    "named",
    "names",
    "life",
    "kill",
    "said",
    "state",
    "gpus",
    "reserve",
    "reserved",
    "release",
    "reservations",
    "posted",
)  # requests whose last argument is where the answer goes


class Actor:
    """What the supervisor knows of an actor. `facts` is the creator's dict: class_name, name, namespace, demand, info, ...;
    `max_restarts` in it says how often it is made anew when its process died (-1: always)."""

    def __init__(self, offset, facts):
        self.offset = offset
        self.facts = facts
        self.worker = None
        self.place = self.host = None  # in its worker, if that is a packed one; that one's number
        self.demand: Any = None
        self.gpus = []
        self.killed = None  # why, if by request
        self.released = None  # key of the reservation in which it was to run, if that is gone
        self.waiters = []  # offsets of objects to answer when it is dead
        self.dead = False
        self.pid = 0  # of its last process
        self.restarts = 0  # how often it was made anew


class Worker:
    def __init__(self, slot, pid, actor, setting, cutters):
        self.slot, self.pid, self.actor = slot, pid, actor
        self.hosted: Any = None  # of a packed worker: place -> Actor
        self.setting = setting  # number of what it was born with
        self.cutters = cutters  # descriptor -> LineCutter
        self.released = None  # key of the reservation with which it was ended

    @property
    def runs_tasks(self):
        return self.actor is None and self.hosted is None


class Supervisor:
    """Arguments: config, the driver's dict; plugin, its module; descriptors of the control socket and the driver's line."""

    def __init__(self, config, plugin, control_fd, line_fd):
        self.config, self.plugin = config, plugin
        self.control = socket.socket(fileno=control_fd)
        self.control.setblocking(False)
        self.line = socket.socket(fileno=line_fd)
        self.line.setblocking(False)
        self.outgoing, self.outgoing_size = deque(), 0
        self.workers = {}  # pid -> Worker
        self.pipes = {}  # descriptor -> LineCutter
        self.actors = {}  # offset -> Actor
        self.names = {}  # (namespace, name) -> Actor
        self.said = {}  # see on_say_once
        self.buried = deque(maxlen=_BURIED)  # dead actors, as `on_state` tells of them
        self.waiting = []  # actors without resources
        self.demands = {(frozenset({("CPU", _core.UNIT)}), None): 0, (frozenset(), None): 1}
        self.settings = [None]  # what task workers are born with, by number; the demands of tasks name one
        self.resource_index = {name: i for i, name in enumerate(_core.resources())}
        self.reservations = Reservations(lambda wanted: self._demand(wanted, "a placement group"), _core.reply)
        self.posted = {}  # what processes tell of themselves, for all to read: tuple -> value
        self.gpus = GpuShares(_core.resources().get("GPU", (0,))[0] // _core.UNIT)
        self.tasks_started = 0
        self.stopping = False
        self.retry_spawn = False
        self.hosting = None
        if config["packed"]:
            from reactor.runtime.hosting import Hosting

            self.hosting = Hosting(config["packed"], self._start_packed)
        self.stillborn = 0  # task workers in a row that died by themselves before they ran anything
        self.killed_unborn = 0  # those in a row that were killed before they ran anything
        self.groups = {}  # process group of a dead worker in which something still runs -> when that is killed
        self.orphaned = False  # the driver has died
        self.open, self.open_until = False, 0.0  # some worker has printed the beginning of a line; when it is shown
        self.full = []  # descriptors of pipes that are not read because the driver does not read
        self.unread = deque()  # control messages that were taken in while there was no room for one of its own
        self.poll = select.epoll()

    def run(self):
        wake_read, wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._driver_died)
        self.poll.register(wake_read, select.EPOLLIN)
        self.poll.register(self.control, select.EPOLLIN)
        self.poll.register(self.line, select.EPOLLRDHUP | select.EPOLLHUP)
        _core.set_hook("lost", lambda state, value: self.on_lost(self.plugin.lost_text(state, value)))
        _core.set_hook("crowded", self._take_in)
        _core.set_ready()
        while not self.stopping:
            waits = (
                (_RETRY_SECONDS, self.retry_spawn),
                (_OPEN_SECONDS, self.open),
                (descendants.GRACE_SECONDS, self.groups),
            )
            events = self.poll.poll(0 if self.unread else min((seconds for seconds, on in waits if on), default=None))
            if self.orphaned:
                self._end_all(flush=False)
            if self.groups:
                self._kill_groups()
            if self.open and monotonic() > self.open_until:
                self._show_open()
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
                elif fd == self.line.fileno():
                    if event & (select.EPOLLHUP | select.EPOLLRDHUP | select.EPOLLERR):
                        self._end_all(flush=False)
                    else:
                        self._flush()
                elif fd in self.pipes:
                    self._read_pipe(fd)
        self._end_all(flush=True)

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
        _core.set_answering(bool(self.unread))

    def _do(self, request, *arguments):
        if isinstance(request, int):
            return self._core_request(request, *arguments)
        try:
            getattr(self, f"on_{request}")(*arguments)
        except Exception as error:  # a fault of one request must not take the run down
            if request in _ANSWERED:
                _core.reply(arguments[-1], (False, error))
            else:
                self._tell(f"{request}: {error!r}")

    def _core_request(self, request, offset):
        if request == control.SPAWN:
            self._start_task_worker(offset)
        elif request == control.RESOURCES:
            self._start_waiting()
        elif request == control.REFUSE:
            self._refuse(offset)
        elif request == control.SPILLED:
            self._tell_of_spilling()
        elif request == control.DRAIN:
            _core.drain(offset)
        elif request == control.RELEASE:
            actor = self.actors.get(offset)
            if actor is not None and actor.dead:
                self._forget(actor)

    def on_actor(self, offset, facts, reply=None):
        """An actor was created: give it a process as soon as its resources are free."""
        key = facts.get("name") and (facts["namespace"], facts["name"])
        if key and key in self.names:
            _core.reply(reply, (True, "taken"))  # pyright: ignore[reportArgumentType]
            self._kill_unstarted(Actor(offset, facts), "its name was taken")
            return
        preload(facts.get("preload", ()))
        if self.hosting:
            facts["label"] = self.hosting.name(facts)
        actor = Actor(offset, facts)
        try:
            actor.demand = self._demand(facts["demand"], facts.get("made_as", facts["class_name"]), facts.get("within"))
        except ValueError as error:
            self._kill_unstarted(actor, f"it could not be placed: {error}")
            if reply is not None:
                _core.reply(reply, (True, None))
            return
        self.actors[offset] = actor
        if key:
            self.names[key] = actor
        if facts.get("detached"):
            _core.hold(offset)
        if gone := self.reservations.retired(actor.demand):
            self._refuse_actor(actor, gone)
        else:
            self.waiting.append(actor)
            self._start_waiting()
        if reply is not None:
            _core.reply(reply, (True, None))

    def on_demand(self, whose, resources, within, setting, reply):
        """The number of a demand of `whose` task. Its workers are born with `setting` (hashable, for the plugin); None: plain ones."""
        _core.reply(reply, (True, self._demand(resources, whose, within, setting)))

    def on_reserve(self, key, facts, wanted, offered, reply):
        """See `Reservations`; made as soon as the resources are free."""
        self.reservations.add(key, facts, wanted, offered)
        self._start_waiting()
        _core.reply(reply, (True, None))

    def on_reserved(self, key, made, released, is_error, reply):
        self.reservations.when_decided(key, made, released, is_error, reply)

    def on_reservations(self, reply):
        _core.reply(reply, (True, self.reservations.table()))

    def on_post(self, key, value):
        self.posted[key] = value

    def on_posted(self, topic, reply):
        """{key: value} of the keys that begin with `topic`."""
        _core.reply(reply, (True, {key: value for key, value in self.posted.items() if key[0] == topic}))

    def on_release(self, key, reply):
        self._release(key)
        _core.reply(reply, (True, None))

    def on_named(self, name, namespace, reply):
        """The actor of that name: (offset, offset of its class information), held for the asker."""
        actor = self.names.get((namespace, name))
        if actor is None or actor.dead or not _core.hold_if_held(actor.offset):
            _core.reply(reply, (True, None))
            return
        _core.hold(actor.facts["info"])
        _core.reply(reply, (True, (actor.offset, actor.facts["info"])))

    def on_names(self, reply):
        _core.reply(reply, (True, [(n, ns) for (ns, n), a in self.names.items() if not a.dead]))

    def on_life(self, offset, reply):
        """(ordinal, how often it was made anew) of an actor that has not died, else None."""
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

    def _end_actor(self, actor):
        if actor.worker.hosted is None:
            os.kill(actor.worker.pid, signal.SIGKILL)
        else:
            self.hosting.remove(actor, _core.put(self.plugin.died(self._death(actor, actor.worker))))

    def _death(self, actor, w, exit_reason=0, status=0):
        return {
            "pid": w.pid,
            "status": status,
            "exit_reason": exit_reason,
            "actor": actor.facts,
            "killed": actor.killed,
            "released": None,
        }

    def on_left(self, offset, exit_reason):
        """A packed worker has let an actor go."""
        actor = self.actors.get(offset)
        if actor is None or actor.worker is None:
            return
        _core.kill_inbox(offset, _core.put(self.plugin.died(self._death(actor, actor.worker, exit_reason))))
        self.hosting.left(actor)
        _core.give_resources(actor.demand)
        if exit_reason != worker.OUT_OF_SCOPE or actor.killed:
            self._kill_made_by(None, actor.facts["number"])
        self._died(actor)
        if self.waiting or self.reservations.open():
            self._start_waiting()

    def on_say(self, text):
        """A worker has something to tell the user, outside of its own output."""
        self._tell(text)

    def on_say_once(self, key, text, advice):
        """The same, the first time that this key comes, with the advice at the first key of all. `on_said` lists the keys and how often each came."""
        if key not in self.said:
            self._tell(text if self.said else text + advice)
        self.said[key] = self.said.get(key, 0) + 1

    def on_said(self, reply):
        _core.reply(reply, (True, list(self.said.items())))

    def on_lost(self, text):
        """A call has failed, and nobody has seen it or can any more: `text` is for the driver's user; None: no need to tell."""
        if text is not None:
            self._send([output.frame(output.LOST, "", os.getpid(), text.encode(errors="replace"))])

    def on_signal(self, slot, number):
        for w in self.workers.values():
            if w.slot == slot:
                os.kill(w.pid, number)

    def on_state(self, reply):
        """What runs: for ray.nodes, list_actors and tests."""
        actors = [*self.buried, *(self._told(a) for a in self.actors.values() if not a.dead)]
        workers = [{"pid": w.pid, "slot": w.slot, "actor": not w.runs_tasks} for w in self.workers.values()]
        _core.reply(reply, (True, {"actors": actors, "workers": workers, "supervisor": os.getpid()}))

    def _told(self, a):
        return {
            **{
                k: v
                for k, v in a.facts.items()
                if k in ("class_name", "name", "namespace", "number", "demand", "detached", "within")
            },
            "pid": a.pid,
            "slot": a.worker.slot if a.worker else -1,
            "host": a.host,
            "state": "DEAD" if a.dead else "ALIVE" if a.worker else "RESTARTING" if a.restarts else "PENDING_CREATION",
            "killed": a.killed,
        }

    def on_gpus(self, amount, reply):
        _core.reply(reply, (True, self.gpus.take(amount)))

    def on_gpus_back(self, amounts):
        self.gpus.give(amounts)

    # ---- starting

    def _demand(self, resources, whose, within=None, setting=None):
        """Number of the demand {name: amount in 1/10000}, `within` the reservation of that key. Tells the driver once if it can
        never be met."""
        if setting not in self.settings:
            self.settings.append(setting)
        number = self.settings.index(setting)
        if within is not None:
            return self.reservations.demand_within(within, resources, number)
        amounts = frozenset((k, v) for k, v in resources.items() if v)
        key = (amounts, setting)
        if key not in self.demands:
            for name in resources:
                if name not in self.resource_index:
                    self.resource_index[name] = _core.register_resource(name, 0)
            self.demands[key] = _core.demand([(self.resource_index[k], v) for k, v in sorted(amounts)], number)
            there = _core.resources()
            lacking = [
                f"{v / _core.UNIT:g} of {k}, of which there are {there[k][0] / _core.UNIT:g}"
                for k, v in sorted(amounts)
                if v > there[k][0]
            ]
            if lacking:
                self._tell(
                    f"{whose} asks for {'; '.join(lacking)}: it will wait for ever. Ask for less, or start with more (init(num_cpus=, num_gpus=, resources=))"
                )
        return self.demands[key]

    def _start_waiting(self):
        _core.set_actors_waiting(
            len(self.waiting) + self.reservations.open()
        )  # before trying: who gives back later then tells us
        self.reservations.advance()
        still = []
        for actor in self.waiting:
            # Resources go in the order in which they were asked for: a task may be waiting for its worker to be born.
            if not (actor.facts["demand"] and _core.task_before(actor.facts["number"])) and _core.take_resources(
                actor.demand
            ):
                self._start_actor(actor)
            else:
                still.append(actor)
        self.waiting = still
        _core.set_actors_waiting(len(still) + self.reservations.open())

    def _start_actor(self, actor):
        if self.hosting and self.hosting.shares(actor):
            if not self.hosting.put(actor):
                _core.give_resources(actor.demand)
                self._kill_unstarted(
                    actor, "no process could be started for it: the machine's limit on processes is reached"
                )
            return
        slot = _core.new_proc(ACTOR, _core.inbox_at(actor.offset))
        if slot >= 0:
            _core.set_proc_demand(slot, actor.demand)
            actor.gpus = self.gpus.take(actor.facts.get("gpus", 0))
            actor.worker = self._fork(slot, actor, actor.facts["class_name"])
            actor.pid = actor.worker.pid if actor.worker else 0
        if actor.worker is None:
            _core.give_resources(actor.demand)
            self._kill_unstarted(
                actor, "no process could be started for it: the machine's limit on processes is reached"
            )

    def _start_task_worker(self, setting):
        started = None
        if sum(w.runs_tasks for w in self.workers.values()) < _POOL_LIMIT:
            slot = _core.new_proc(TASK_WORKER, 0, setting)
            if slot >= 0:
                started = self._fork(slot, None, "task", setting)
        if started is None:
            self.retry_spawn = True  # at the next death, or a little later

    def _start_packed(self, number):
        slot = _core.new_proc(ACTOR, 0)
        w = self._fork(slot, None, "packed", birth=f"packed {number}") if slot >= 0 else None
        if w is not None:
            w.hosted = {}
        return w

    def _fork(self, slot, actor, label, setting=0, birth=None):
        pipes = []
        facts = actor.facts if actor else None if birth is None else worker.HOST
        birth = birth or (self.tasks_started if actor is None else actor.facts["ordinal"])
        parent = os.getpid()
        try:
            for _ in range(2):
                pipes.append(os.pipe2(os.O_CLOEXEC))
            pid = os.fork()
        except OSError:
            _core.free_proc(slot)
            for pair in pipes:
                for fd in pair:
                    os.close(fd)
            return None
        if pid == 0:
            worker.main(
                parent,
                slot,
                facts,
                actor and actor.gpus,
                self.settings[setting],
                birth,
                [w for _, w in pipes],
                self.config,
                self.plugin,
            )
        try:
            os.setpgid(pid, pid)  # whoever of the two is first
        except OSError:
            pass  # it was the child, which may have ended
        self.tasks_started += facts is None
        cutters = {}
        for stream, (read, write) in enumerate(pipes, 1):
            os.close(write)
            os.set_blocking(read, False)
            cutters[read] = self.pipes[read] = output.LineCutter(stream, label, pid)
            self.poll.register(read, select.EPOLLIN)
        w = self.workers[pid] = Worker(slot, pid, actor, setting, cutters)
        return w

    # ---- ending

    def _reap_children(self):
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            w = self.workers.pop(ended.si_pid, None)
            if w is not None:
                _end_group(w.pid, signal.SIGTERM)  # while its number cannot be another's
            _, status = os.waitpid(ended.si_pid, 0)
            if w is not None:
                if _end_group(w.pid, 0):
                    self.groups[w.pid] = monotonic() + descendants.GRACE_SECONDS
                self._bury(w, status)

    def _kill_groups(self):
        for group, when in list(self.groups.items()):
            if monotonic() > when:
                del self.groups[group]
                if not os.path.exists(
                    f"/proc/{group}"
                ):  # else the group has ended, and the number is another process's
                    _end_group(group, signal.SIGKILL)

    def _driver_died(self, *_):
        self.orphaned = True

    def _bury(self, w, status):
        for fd in list(w.cutters):
            self._read_pipe(fd)
        info = _core.proc_info(w.slot)
        facts = {
            "pid": w.pid,
            "status": status,
            "exit_reason": info["exit_reason"],
            "actor": w.actor and w.actor.facts,
            "killed": w.actor and w.actor.killed,
            "released": w.released,
            "running": info["running"],
        }
        unavailable = None
        if w.actor is not None and info["exit_reason"] not in worker.LASTING and self._may_restart(w.actor):
            unavailable = _core.put(self.plugin.died({**facts, "restarting": True}))
        hosted = self.hosting.died(w) if w.hosted is not None else []
        labels = [a.facts["label"] for a in hosted]
        reasons = [
            (
                a.offset,
                _core.put(self.plugin.died({**self._death(a, w, info["exit_reason"], status), "beside": labels})),
                a.place,
            )
            for a in hosted
        ]
        anew = _core.reap(w.slot, _core.put(self.plugin.died(facts)), unavailable, reasons)
        for actor in hosted:
            _core.give_resources(actor.demand)
            self._died(actor)
        if info["exit_reason"] not in (worker.IDLE, worker.DRAINED):
            self._kill_made_by(w.pid)
        if w.runs_tasks:
            self._task_worker_died(w, info, facts)
        elif w.hosted is None:
            w.actor.worker = None
            self.gpus.give(w.actor.gpus)
            if anew:
                self._make_anew(w.actor)
            else:
                self._died(w.actor)
        if self.waiting or self.reservations.open():
            self._start_waiting()

    def _task_worker_died(self, w, info, facts):
        # One that never ran anything died of its own birth. If that goes on, tasks would wait for ever and forks never end. One that
        # was killed says nothing of the next.
        born = info["executed"] or info["exit_reason"]
        killed = not born and os.WIFSIGNALED(facts["status"]) and os.WTERMSIG(facts["status"]) in _KILLED
        self.killed_unborn = self.killed_unborn + 1 if killed else 0
        self.stillborn = 0 if born else self.stillborn + (not killed)
        if self.killed_unborn >= _STILLBORN_LIMIT:
            if self.killed_unborn == _STILLBORN_LIMIT:
                self._tell(
                    f"task workers are killed (signal {os.WTERMSIG(facts['status'])}) before they can run anything; the tasks wait, and others "
                    "are started. If nobody kills them, the machine may be out of memory"
                )
            self.retry_spawn = True  # a little later
            return
        if self.stillborn >= _STILLBORN_LIMIT:
            self._tell("task workers die before they can run anything; see their output. The tasks that wait fail")
            _core.fail_tasks(_core.put(self.plugin.died(facts)), setting=w.setting)
            self.stillborn = 0
        self._answer_spawn()

    def _answer_spawn(self):
        self.retry_spawn = False
        _core.spawn_answered()

    def _tell(self, text):
        """A line for the driver's user."""
        self._send([output.frame(2, "runtime", os.getpid(), text.encode())])

    def _tell_of_spilling(self):
        so_far = _core.spilling()
        megabytes = so_far["spilled"] / 2**20
        rate = f", write throughput {megabytes / so_far['seconds']:.0f} MiB/s" if so_far["seconds"] else ""
        self._tell(
            f"Spilled {megabytes:.0f} MiB, {so_far['values']} objects{rate}. {self.config['spilling']['note_text']}".rstrip()
        )

    def _kill_made_by(self, pid, number=None):
        """An actor's life ends with the process `pid`, or the actor `number`, that made it, unless it is detached."""
        for key, facts, _ in self.reservations.table():
            if pid is not None and facts["owner"] == pid:
                self._release(key)
        for actor in list(self.actors.values()):
            made = actor.facts["creator"] == pid if number is None else actor.facts.get("maker") == number
            if not made or actor.facts.get("detached") or actor.dead or actor.killed:
                continue
            actor.killed = "its owner has died."
            if actor.worker is None:
                self.waiting.remove(actor)
                self._kill_unstarted(actor, actor.killed)
            else:
                self._end_actor(actor)

    # ---- reservations that end

    def _release(self, key):
        """Ends a reservation with what runs in it and what was to run in it."""
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
                    w.actor.killed = f"its worker was ended because its placement group {key} was removed."
                os.kill(w.pid, signal.SIGKILL)
        for demand in demands:
            self._refuse(demand)
        self._start_waiting()

    def _refuse(self, demand):
        """Fails the tasks that ask for a demand that nobody gets any more."""
        facts = {
            "pid": 0,
            "status": 0,
            "exit_reason": 0,
            "actor": None,
            "killed": None,
            "released": self.reservations.retired(demand),
        }
        _core.fail_tasks(_core.put(self.plugin.died(facts)), demand)

    def _refuse_actor(self, actor, key):
        actor.released = key
        self._kill_unstarted(actor, f"its placement group {actor.released} was removed before it could start.")

    def _may_restart(self, actor):
        most = actor.facts.get("max_restarts", 0)
        return not actor.killed and (most < 0 or actor.restarts < most)

    def _make_anew(self, actor):
        actor.restarts += 1
        actor.facts["restarts"] = actor.restarts
        self._answer_waiters(actor)
        self.waiting.append(actor)

    def _answer_waiters(self, actor):
        for reply in actor.waiters:
            _core.reply(reply, (True, True))
        actor.waiters = []

    def _died(self, actor):
        actor.dead = True
        self.buried.append(self._told(actor))
        key = actor.facts.get("name") and (actor.facts["namespace"], actor.facts["name"])
        if key and self.names.get(key) is actor:
            del self.names[key]
        self._answer_waiters(actor)
        if actor.facts.get("detached"):
            _core.drop(actor.offset)
        self._forget(actor)

    def _kill_unstarted(self, actor, why):
        facts = {
            "pid": 0,
            "status": 0,
            "exit_reason": 0,
            "actor": actor.facts,
            "killed": why,
            "released": actor.released,
        }
        _core.kill_inbox(actor.offset, _core.put(self.plugin.died(facts)))
        self.actors[actor.offset] = actor
        self._died(actor)

    def _forget(self, actor):
        if self.actors.get(actor.offset) is actor and _core.free_actor(actor.offset):
            del self.actors[actor.offset]
            _core.drop(actor.facts["info"])

    def _end_all(self, flush):
        for pid in self.workers:
            os.kill(pid, signal.SIGKILL)
        if not flush:
            self._end_descendants()
            os._exit(0)
        for w in list(self.workers.values()):
            os.waitpid(w.pid, 0)
            for fd in list(w.cutters):
                self._read_pipe(fd)
        self._end_descendants()
        self.line.setblocking(True)
        self.line.settimeout(5)
        try:
            while self.outgoing:
                self.line.sendall(self.outgoing.popleft())
        except OSError:
            pass  # the driver does not read any more
        os._exit(0)

    def _end_descendants(self):
        """Ends all that the workers, which are killed, have started; orphans have become this process's children."""

        def reap():
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
                return True
            except ChildProcessError:
                return False

        descendants.end(lambda: descendants.of(os.getpid()), reap)

    # ---- output

    def _read_pipe(self, fd):
        cutter = self.pipes.get(fd)
        if cutter is not None and self.outgoing_size >= _OUTPUT_LIMIT and fd not in self.full:
            self.poll.unregister(fd)
            self.full.append(fd)
        while cutter is not None and self.outgoing_size < _OUTPUT_LIMIT:
            try:
                data = os.read(fd, 1 << 16)
            except BlockingIOError:
                break
            self._send(cutter.feed(data) if data else cutter.end())
            if data and cutter.open and not self.open:
                self.open, self.open_until = True, monotonic() + _OPEN_SECONDS
            if not data:
                if fd in self.full:
                    self.full.remove(fd)
                else:
                    self.poll.unregister(fd)
                del self.pipes[fd]
                os.close(fd)
                for w in self.workers.values():
                    w.cutters.pop(fd, None)
                return

    def _show_open(self):
        self.open = False
        for cutter in self.pipes.values():
            self._send(cutter.end() if cutter.open else [])

    def _send(self, frames):
        for f in frames:
            self.outgoing.append(f)
            self.outgoing_size += len(f)
        self._flush()

    def _flush(self):
        try:
            while self.outgoing:
                f = self.outgoing[0]
                sent = self.line.send(f)
                self.outgoing_size -= sent
                if sent < len(f):
                    self.outgoing[0] = f[sent:]
                else:
                    self.outgoing.popleft()
        except BlockingIOError:
            pass
        except OSError:
            self.outgoing.clear()
        if self.full and self.outgoing_size < _OUTPUT_LIMIT // 2:
            for fd in self.full:
                self.poll.register(fd, select.EPOLLIN)
            self.full = []
        wanted = select.EPOLLRDHUP | select.EPOLLHUP | (select.EPOLLOUT if self.outgoing else 0)
        self.poll.modify(self.line, wanted)


def _end_group(group, number):
    """Sends a signal to a process group; whether there is one."""
    try:
        os.killpg(group, number)
        return True
    except (ProcessLookupError, PermissionError):
        return False
