"""Drivers that join a session from outside: the supervisor's side.

The supervisor listens on the session's socket. A driver of the same user that connects gets the heap, the socket of the control messages and an entry in
the table of processes, like a worker. The actors and tasks that it starts belong to its *scope*, (number of the driver,), and end when the driver
leaves or dies. The session's own driver has no scope: None. A detached actor begins a scope of its own, (number, number of the actor), so the actors
and tasks that it starts live as long as it does.

The connection is the driver's line. It transfers the output of workers. When the driver closes it, the driver leaves. A driver that was killed is found
by its pidfd, because a child that it has forked may keep the connection open.
"""

import os
import select
import signal
import socket
from typing import NamedTuple

from reactor import _core
from reactor.runtime.messages import frames, output
from reactor.runtime.messages.peers import credentials
from reactor.runtime.spawning import descriptors
from reactor.runtime.spawning.preloading import preload
from reactor.runtime.supervisor.relay import KEPT_BYTES
from reactor.runtime.supervisor.visitors import Refused, Visitors

KEEPS = b"k"  # a driver that leaves still has arrays over the heap


class Setting(NamedTuple):
    """The start-up data of task workers in sessions with scopes: the plugin's data, and the scope of the worker."""

    of: object
    scope: tuple


class Guest:
    """A driver from outside."""

    def __init__(self, number, slot, pid, pidfd, connection, about):
        self.about = about  # what the driver tells of itself, for all who ask
        self.number, self.slot, self.pid, self.pidfd = number, slot, pid, pidfd
        self.connection = connection  # None: nobody reads there any more
        self.outgoing, self.dropped = bytearray(), 0
        self.leaving = False  # its scope is being ended
        self.keeps = False  # it has arrays over the heap until its process ends
        self.dead = False
        self.over = False  # nothing of its scope is left

    @property
    def scope(self):
        return (self.number,)


class Drivers:
    """Arguments: supervisor; facts, a dict for whoever asks what session this is (picklable)."""

    def __init__(self, supervisor, facts):
        self.supervisor, self.facts = supervisor, {**facts, "supervisor": os.getpid()}
        self.own_facts = {*self.facts, "drivers"}
        self.only_guests = supervisor.config["head"]  # the session has no driver of its own
        self.poll = supervisor.poll
        self.visitors = Visitors(socket.socket(fileno=descriptors.LISTEN_FD), self.poll, self._answer)
        self.guests = {}  # number -> Guest, also one that has left and keeps arrays
        self.by_fd = {}  # descriptor of a connection, or pidfd -> Guest
        self.configs = {}  # number -> what workers are born with, for as long as anything of that driver lives
        self.ending = set()  # scopes of which something still lives
        self.remembered = {}  # the facts of drivers that have left and asked for that: {"remember": key}, the last of each key
        self.last_guest = 0

    # ---- events

    def take(self, fd, event):
        """Handles what happened at a descriptor; False: it is none of these."""
        if fd in self.by_fd:
            guest = self.by_fd[fd]
            if fd == guest.pidfd:
                self._died(guest)
            else:
                self._heard(guest, event)
        else:
            return self.visitors.take(fd)
        return True

    def _answer(self, connection, kind, request):
        """The answer to a request, or None: the connection is a driver's line now."""
        if kind == frames.PICKLE:
            self._attach(connection, _checked(request))
            return None
        if request.get("what") == "tell":
            self._add_facts(request.get("facts"))
        return self._shown(self.facts)

    def _shown(self, facts):
        try:
            return frames.pack({**facts, "drivers": self._driver_facts()})
        except (TypeError, ValueError) as error:
            raise Refused(f"the facts of this session cannot be passed on: {error}") from None

    def _add_facts(self, more):
        """Adds something for all who will ask."""
        if not isinstance(more, dict) or self.own_facts & more.keys():
            raise Refused(f"facts of a session are a dict with names of their own, not {more!r:.80}")
        self._shown({**self.facts, **more})
        self.facts.update(more)

    def _attach(self, connection, request):
        pid, number = credentials(connection)[0], self.last_guest + 1
        config = self._config(request, number)
        answer = {**self.facts, "number": number, "settings": config["settings"]}
        try:
            frames.pack({**answer, "slot": 1 << 30}, frames.PICKLE)
            pidfd = os.pidfd_open(pid)
        except ValueError as error:
            raise Refused(f"the settings of this driver cannot be used: {error}") from None
        except OSError as error:  # it has ended, or is not among the processes that are seen from here
            raise Refused(f"process {pid} cannot be watched from there ({error.strerror})") from None
        slot = _core.new_proc(_core.ProcKind.DRIVER, 0)
        if slot < 0:
            os.close(pidfd)
            raise Refused("there are too many processes in this session")
        self.last_guest = number
        guest = self.guests[number] = Guest(number, slot, pid, pidfd, connection, request["about"])
        self.by_fd[pidfd] = self.by_fd[connection.fileno()] = guest
        self.configs[number] = config
        self.poll.register(pidfd, select.EPOLLIN)
        self.poll.register(connection, 0)
        fds = descriptors.of_workers.all()
        guest.outgoing += frames.pack({**answer, "slot": slot}, frames.PICKLE)
        try:
            sent = socket.send_fds(connection, [guest.outgoing], fds)
            del guest.outgoing[:sent]
        except OSError:  # it is gone, as its end of the connection will show
            guest.outgoing.clear()
        self._listen(guest)
        preload(request["preload"])  # before its first request is read

    def _driver_facts(self):
        living = [{"number": g.number, "pid": g.pid, **g.about} for g in self.guests.values() if not g.over]
        return [*self.remembered.values(), *living]

    def _config(self, request, number):
        own = self.supervisor.config
        job = number if self.only_guests else number + 1  # the first is that of the session's own driver
        try:
            settings = self.supervisor.plugin.changed(
                own["settings"], {**request["settings"], "job": job, "scope": (number,)}
            )
        except TypeError as error:  # a name that settings do not have
            raise Refused(f"the settings of this driver cannot be used: {error}") from None
        return {**own, "path": request["path"], "cwd": request["cwd"], "settings": settings, "scope": (number,)}

    def _in_scope(self, config, scope):
        settings = self.supervisor.plugin.changed(config["settings"], {"scope": scope})
        return {**config, "settings": settings, "scope": scope}

    def _heard(self, guest, event):
        if event & select.EPOLLOUT:
            self._flush(guest)
        if event & (select.EPOLLIN | select.EPOLLRDHUP) and not guest.leaving:
            try:
                data = guest.connection.recv(16)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if data:
                guest.keeps = data == KEEPS
                return
            self._end(guest)
        if event & (select.EPOLLHUP | select.EPOLLERR):
            self._close_line(guest)
            self._end(guest)

    def _died(self, guest):
        self._forget_pid(guest)
        guest.dead, guest.keeps = True, False
        if guest.over:
            self._bury(guest)
        else:
            self._end(guest)

    def _forget_pid(self, guest):
        self.poll.unregister(guest.pidfd)
        del self.by_fd[guest.pidfd]
        os.close(guest.pidfd)

    # ---- the end of a scope

    def _end(self, guest):
        """Ends what belongs to a driver that has left or died."""
        if guest.leaving:
            return
        guest.leaving = True
        self.supervisor.read_all()  # what it has asked for before
        if guest.connection is not None:
            self._listen(guest)
        self.end_scope(guest.scope)

    def end_scope(self, scope):
        """Ends all actors, tasks and reservations of a scope, except detached ones."""
        supervisor = self.supervisor
        self.ending.add(scope)
        for key, facts, *_ in supervisor.reservations.table():
            if _belongs(facts, scope):
                supervisor._release(key)
        for actor in list(supervisor.actors.values()):
            if _belongs(actor.facts, scope) and not actor.dead and not actor.killed:
                supervisor.kill_orphan(actor)
        for w in supervisor.workers.values():
            if w.runs_tasks and scope_of(supervisor.demands.settings[w.setting]) == scope:
                os.kill(w.pid, signal.SIGKILL)
        self.settle()

    def settle(self):
        """Goes on with scopes whose last process has ended meanwhile."""
        supervisor = self.supervisor
        for scope in list(self.ending):
            if any(
                _belongs(w.actor.facts, scope)
                if w.actor is not None
                else w.runs_tasks and scope_of(supervisor.demands.settings[w.setting]) == scope
                for w in supervisor.workers.values()
            ):
                continue
            self.ending.discard(scope)
            with supervisor.relay.for_scope(scope):  # nobody else gets its failures
                self._settle(scope)

    def _settle(self, scope):
        demands = self.supervisor.demands
        for number, setting in enumerate(demands.settings):
            if scope_of(setting) == scope and setting not in demands.unused:
                self.fail_tasks(number)
                demands.unused.add(setting)
        guest = self.guests.get(scope[0]) if len(scope) == 1 else None
        if guest is not None:
            guest.over = True
            if guest.about.get("remember"):
                self.remembered[guest.about["remember"]] = {
                    "number": guest.number,
                    "pid": guest.pid,
                    "over": True,
                    **guest.about,
                }
            self._close_line(guest)
            if not guest.keeps:
                self._bury(guest)
        self._forget_config(scope[0])

    def is_over(self, scope):
        """Whether nothing of this scope may begin any more."""
        if scope is None:
            return False
        if len(scope) == 1:
            guest = self.guests.get(scope[0])
            return guest is None or guest.leaving
        return not any(a.facts["number"] == scope[1] and not a.dead for a in self.supervisor.actors.values())

    def fail_tasks(self, number):
        """Fails the tasks with the setting of this number: their scope is gone."""
        _core.fail_tasks(_core.put(self.supervisor.plugin.died({**_death(0), "nobody_asks": True})), setting=number)

    def _close_line(self, guest):
        """A driver that still listens learns by this that all of its own has ended."""
        if guest.connection is None:
            return
        self._flush(guest)
        del self.by_fd[guest.connection.fileno()]
        self.poll.unregister(guest.connection)
        guest.connection.close()
        guest.connection = None

    def _bury(self, guest):
        del self.guests[guest.number]
        if not guest.dead:
            self._forget_pid(guest)
        _core.reap(guest.slot, _core.put(self.supervisor.plugin.died(_death(guest.pid))), None)
        self.supervisor.start_waiting()

    # ---- workers

    def config(self, facts, setting):
        """The start-up data of a worker: of an actor with these facts, or of a task worker with this setting."""
        scope = (facts or {}).get("scope") or scope_of(setting)
        if scope is None:
            return self.supervisor.config
        config = self.configs.get(scope[0], self.supervisor.config)
        if facts and facts.get("detached"):
            return self._in_scope(config, (scope[0], facts["number"]))
        return config if len(scope) == 1 else self._in_scope(config, scope)

    def actor_died(self, facts):
        if facts.get("detached") and facts.get("scope"):
            self.end_scope((facts["scope"][0], facts["number"]))

    def _forget_config(self, number):
        """Once the driver is gone and none of its actors is left."""
        living = (a.facts.get("scope") for a in self.supervisor.actors.values() if not a.dead)
        if number not in self.guests and number not in (scope and scope[0] for scope in living):
            self.configs.pop(number, None)

    # ---- output

    def send(self, scope, frames):
        """Hands lines to the driver of a scope, or, without one, to all; False: they are for the process that has started the session."""
        if not scope and not self.only_guests:
            return False
        guests = [g for g in self.guests.values() if g.connection is not None and (not scope or g.number == scope[0])]
        for guest in guests:
            self._send(guest, frames)
        return bool(guests) or not self.only_guests

    def send_to_all(self, frames):
        """Hands frames to every driver but the process that has started the session."""
        for guest in self.guests.values():
            if guest.connection is not None:
                self._send(guest, frames)

    def _send(self, guest, frames):
        for frame in frames:
            if len(guest.outgoing) > KEPT_BYTES:  # lines beyond it are dropped
                guest.dropped += 1
                continue
            if guest.dropped:
                text = f"{guest.dropped} lines of workers are not shown: this driver does not read its output"
                guest.outgoing += output.frame(2, "runtime", os.getpid(), text.encode())
                guest.dropped = 0
            guest.outgoing += frame
        self._flush(guest)
        self._listen(guest)

    @staticmethod
    def _flush(guest):
        try:
            while guest.outgoing:
                sent = guest.connection.send(guest.outgoing[: 1 << 18])
                del guest.outgoing[:sent]
        except BlockingIOError:
            pass
        except OSError:
            guest.outgoing.clear()

    def _listen(self, guest):
        wanted = 0 if guest.leaving else select.EPOLLIN | select.EPOLLRDHUP
        self.poll.modify(guest.connection, wanted | (select.EPOLLOUT if guest.outgoing else 0))


def scope_of(setting):
    return getattr(setting, "scope", None)


def _belongs(facts, scope):
    return facts.get("scope") == scope and not facts.get("detached")


def _death(pid):
    return {
        "pid": pid,
        "status": 0,
        "exit_reason": _core.ExitReason.UNKNOWN,
        "actor": None,
        "killed": None,
        "released": None,
    }


def _checked(request):
    """A request to attach. Refused: something in it is missing or wrong."""
    for name, is_right in _REQUEST.items():
        if name not in request or not is_right(request[name]):
            raise Refused(f"the request of a driver has no {name}, or a wrong one: {request.get(name)!r:.80}")
    try:
        frames.pack(request["about"])
    except (TypeError, ValueError) as error:
        raise Refused(f"the facts of a driver cannot be passed on: {error}") from None
    return request


def _is_text(value):
    return isinstance(value, str)


_REQUEST = {
    "settings": lambda value: isinstance(value, dict),
    "about": lambda value: isinstance(value, dict) and isinstance(value.get("remember"), (str, type(None))),
    "path": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "cwd": lambda value: value is None or _is_text(value),
    "preload": lambda value: (
        isinstance(value, list)
        and all(_is_text(one) or isinstance(one, tuple) and len(one) == 2 and all(map(_is_text, one)) for one in value)
    ),
}
