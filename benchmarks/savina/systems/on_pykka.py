"""The actor programs on pykka: a thread per actor."""

import queue

import pykka

from benchmarks.savina.actor import System
from benchmarks.savina.systems.hosting import make


class _Host(pykka.ThreadingActor):
    use_daemon_thread = True

    def __init__(self, actor_class, args, finish):
        super().__init__()
        self._actor = make(actor_class, args, send, finish)

    def on_receive(self, message):
        method, args = message
        return getattr(self._actor, method)(*args)


def send(actor, method, *args):
    actor.tell((method, args))


class PykkaSystem(System):
    def __init__(self):
        self._results = queue.SimpleQueue()

    send = staticmethod(send)

    def spawn(self, actor_class, *args):
        return _Host.start(actor_class, args, self._results.put)

    def ask_all(self, calls):
        return [future.get() for future in [actor.ask((method, args), block=False) for actor, method, *args in calls]]

    def result(self):
        return self._results.get()

    def end_program(self):
        pykka.ActorRegistry.stop_all()
