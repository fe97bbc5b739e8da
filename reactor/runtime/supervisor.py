"""The supervisor: starts workers when resources allow, notices their deaths, keeps the actors' names.

One thread, one poll loop over: control messages, children's deaths, workers' output, the driver's end.
"""

import os
import select
import signal
import socket
from collections import deque

from reactor import _core
from reactor.runtime import control, output, worker
from reactor.runtime.gpus import GpuShares
from reactor.runtime.zygote import preload

ACTOR, TASK_WORKER = 2, 3  # ProcKind in the core
_POOL_LIMIT = 1000  # task workers alive at once
_OUTPUT_LIMIT = 8 << 20  # bytes of output kept for a driver that does not read; beyond it the workers' pipes fill
_RETRY_SECONDS = 0.2  # before another try to start a task worker where none could be started
_STILLBORN_LIMIT = 3
_ANSWERED = ("demand", "named", "names", "kill", "state", "gpus")  # requests whose last argument is where the answer goes


class Actor:
    """What the supervisor knows of an actor. `facts` is the creator's dict: class_name, name, namespace, demand, info, ..."""

    def __init__(self, offset, facts):
        self.offset = offset
        self.facts = facts
        self.worker = None
        self.demand = None
        self.gpus = []
        self.killed = None  # why, if by request
        self.waiters = []  # offsets of objects to answer when it is dead
        self.dead = False


class Worker:
    def __init__(self, slot, pid, actor, cutters):
        self.slot, self.pid, self.actor = slot, pid, actor
        self.cutters = cutters  # descriptor -> LineCutter


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
        self.waiting = []  # actors without resources
        self.demands = {frozenset({("CPU", 10000)}): 0, frozenset(): 1}
        self.resource_index = {name: i for i, name in enumerate(_core.resources())}
        self.gpus = GpuShares(_core.resources().get("GPU", (0,))[0] // 10000)
        self.tasks_started = 0
        self.stopping = False
        self.retry_spawn = False
        self.stillborn = 0  # task workers in a row that died before they ran anything
        self.full = []  # descriptors of pipes that are not read because the driver does not read
        self.poll = select.epoll()

    def run(self):
        wake_read, wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.poll.register(wake_read, select.EPOLLIN)
        self.poll.register(self.control, select.EPOLLIN)
        self.poll.register(self.line, select.EPOLLRDHUP | select.EPOLLHUP)
        _core.set_ready()
        while not self.stopping:
            events = self.poll.poll(_RETRY_SECONDS if self.retry_spawn else None)
            if self.retry_spawn and not events:
                self._answer_spawn()
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

    def _read_control(self):
        for _ in range(256):
            try:
                data = self.control.recv(control.LARGEST + 64)
            except BlockingIOError:
                return
            request, *arguments = control.parse(data)
            if request == "shutdown":
                self.stopping = True
                return
            if isinstance(request, int):
                self._core_request(request, *arguments)
                continue
            try:
                getattr(self, f"on_{request}")(*arguments)
            except Exception as error:  # a fault of one request must not take the run down
                if request in _ANSWERED:
                    _core.reply(arguments[-1], (False, error))
                else:
                    self._tell(f"{request}: {error!r}")

    def _core_request(self, request, offset):
        if request == control.SPAWN:
            self._start_task_worker()
        elif request == control.RESOURCES:
            self._start_waiting()
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
            _core.reply(reply, (True, "taken"))
            self._kill_unstarted(Actor(offset, facts), "its name was taken")
            return
        preload(facts.get("preload", ()))
        actor = Actor(offset, facts)
        try:
            actor.demand = self._demand(facts["demand"], facts["class_name"])
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
        self.waiting.append(actor)
        self._start_waiting()
        if reply is not None:
            _core.reply(reply, (True, None))

    def on_demand(self, resources, reply):
        _core.reply(reply, (True, self._demand(resources, "a task")))

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

    def on_kill(self, offset, why, reply):
        actor = self.actors.get(offset)
        if actor is None or actor.dead:
            _core.reply(reply, (True, False))
            return
        actor.killed = why
        if actor.worker is None:
            self.waiting.remove(actor)
            self._kill_unstarted(actor, why)
            _core.reply(reply, (True, True))
            return
        actor.waiters.append(reply)
        os.kill(actor.worker.pid, signal.SIGKILL)

    def on_signal(self, slot, number):
        for w in self.workers.values():
            if w.slot == slot:
                os.kill(w.pid, number)

    def on_label(self, slot, label):
        for w in self.workers.values():
            if w.slot == slot:
                for cutter in w.cutters.values():
                    cutter.label = label

    def on_state(self, reply):
        """What runs: for ray.nodes, list_actors and tests."""
        actors = [
            {**{k: v for k, v in a.facts.items() if k in ("class_name", "name", "namespace", "number", "demand")},
             "pid": a.worker.pid if a.worker else 0, "slot": a.worker.slot if a.worker else -1,
             "state": "DEAD" if a.dead else "ALIVE" if a.worker else "PENDING_CREATION"}
            for a in self.actors.values()
        ]
        workers = [{"pid": w.pid, "slot": w.slot, "actor": w.actor is not None} for w in self.workers.values()]
        _core.reply(reply, (True, {"actors": actors, "workers": workers, "supervisor": os.getpid()}))

    def on_gpus(self, amount, reply):
        _core.reply(reply, (True, self.gpus.take(amount)))

    def on_gpus_back(self, amounts):
        self.gpus.give(amounts)

    # ---- starting

    def _demand(self, resources, whose):
        """Number of the demand {name: amount in 1/10000}. Tells the driver once if it can never be met."""
        key = frozenset((k, v) for k, v in resources.items() if v)
        if key not in self.demands:
            for name in resources:
                if name not in self.resource_index:
                    _core.register_resource(name, 0)
                    self.resource_index[name] = len(self.resource_index)
            self.demands[key] = _core.demand([(self.resource_index[k], v) for k, v in sorted(key)])
            there = _core.resources()
            lacking = [f"{v / 10000:g} of {k}, of which there are {there[k][0] / 10000:g}" for k, v in sorted(key) if v > there[k][0]]
            if lacking:
                self._tell(f"{whose} asks for {'; '.join(lacking)}: it will wait for ever")
        return self.demands[key]

    def _start_waiting(self):
        _core.set_actors_waiting(len(self.waiting))  # before trying: who gives back after a failure then tells us
        still = []
        for actor in self.waiting:
            if _core.take_resources(actor.demand):
                self._start_actor(actor)
            else:
                still.append(actor)
        self.waiting = still
        _core.set_actors_waiting(len(still))

    def _start_actor(self, actor):
        slot = _core.new_proc(ACTOR, _core.inbox_at(actor.offset))
        if slot >= 0:
            _core.set_proc_demand(slot, actor.demand)
            actor.gpus = self.gpus.take(actor.facts["demand"].get("GPU", 0) / 10000)
            actor.worker = self._fork(slot, actor, actor.facts["class_name"])
        if actor.worker is None:
            _core.give_resources(actor.demand)
            self._kill_unstarted(actor, "no process could be started for it: the machine's limit on processes is reached")

    def _start_task_worker(self):
        started = None
        if sum(w.actor is None for w in self.workers.values()) < _POOL_LIMIT:
            slot = _core.new_proc(TASK_WORKER, 0)
            if slot >= 0:
                started = self._fork(slot, None, "task")
        if started is None:
            self.retry_spawn = True  # at the next death, or a little later

    def _fork(self, slot, actor, label):
        pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(2)]
        birth = self.tasks_started if actor is None else actor.facts["ordinal"]
        try:
            pid = os.fork()
        except OSError:
            for pair in pipes:
                for fd in pair:
                    os.close(fd)
            return None
        if pid == 0:
            worker.main(slot, actor and actor.facts, actor and actor.gpus, birth, [w for _, w in pipes], self.config, self.plugin)
        self.tasks_started += actor is None
        cutters = {}
        for stream, (read, write) in enumerate(pipes, 1):
            os.close(write)
            os.set_blocking(read, False)
            cutters[read] = self.pipes[read] = output.LineCutter(stream, label, pid)
            self.poll.register(read, select.EPOLLIN)
        w = self.workers[pid] = Worker(slot, pid, actor, cutters)
        return w

    # ---- ending

    def _reap_children(self):
        while self.workers:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            w = self.workers.pop(pid, None)
            if w is not None:
                self._bury(w, status)

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
        }
        _core.reap(w.slot, _core.put(self.plugin.died(facts)))
        if info["exit_reason"] != worker.IDLE:
            self._kill_made_by(w.pid)
        if w.actor is None:
            self._task_worker_died(info, facts)
        else:
            w.actor.worker = None
            self.gpus.give(w.actor.gpus)
            self._died(w.actor)
        if self.waiting:
            self._start_waiting()

    def _task_worker_died(self, info, facts):
        # One that never ran anything died of its own birth. If that goes on, tasks would wait for ever and forks never end.
        self.stillborn = 0 if info["executed"] or info["exit_reason"] else self.stillborn + 1
        if self.stillborn >= _STILLBORN_LIMIT:
            self._tell("task workers die before they can run anything; see their output. The tasks that wait fail")
            _core.fail_tasks(_core.put(self.plugin.died(facts)))
            self.stillborn = 0
        self._answer_spawn()

    def _answer_spawn(self):
        self.retry_spawn = False
        _core.spawn_answered()

    def _tell(self, text):
        """A line for the driver's user."""
        self._send([output.frame(2, "runtime", os.getpid(), text.encode())])

    def _kill_made_by(self, pid):
        """An actor's life ends with the process that made it, unless it is detached."""
        for actor in list(self.actors.values()):
            if actor.facts["creator"] != pid or actor.facts.get("detached") or actor.dead or actor.killed:
                continue
            actor.killed = "its owner has died."
            if actor.worker is None:
                self.waiting.remove(actor)
                self._kill_unstarted(actor, actor.killed)
            else:
                os.kill(actor.worker.pid, signal.SIGKILL)

    def _died(self, actor):
        actor.dead = True
        key = actor.facts.get("name") and (actor.facts["namespace"], actor.facts["name"])
        if key and self.names.get(key) is actor:
            del self.names[key]
        for reply in actor.waiters:
            _core.reply(reply, (True, True))
        actor.waiters = []
        if actor.facts.get("detached"):
            _core.drop(actor.offset)
        self._forget(actor)

    def _kill_unstarted(self, actor, why):
        facts = {"pid": 0, "status": 0, "exit_reason": 0, "actor": actor.facts, "killed": why}
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
            os._exit(0)
        for w in list(self.workers.values()):
            os.waitpid(w.pid, 0)
            for fd in list(w.cutters):
                self._read_pipe(fd)
        self.line.setblocking(True)
        self.line.settimeout(5)
        try:
            while self.outgoing:
                self.line.sendall(self.outgoing.popleft())
        except OSError:
            pass  # the driver does not read any more
        os._exit(0)

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
