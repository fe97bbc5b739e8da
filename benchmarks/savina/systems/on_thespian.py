"""The actor programs on thespian: in this process, which is its default, or on a process per actor."""

from datetime import timedelta

from thespian.actors import Actor, ActorSystem

from benchmarks.savina.actor import System
from benchmarks.savina.systems.hosting import make

_LONG = timedelta(minutes=10)


class Host(Actor):
    def receiveMessage(self, message, sender):  # noqa: N802 (its name)
        if not isinstance(message, tuple):
            return  # of the library itself
        method, args, answered = message
        if method == "make":
            self._driver = sender
            self._actor = make(*args, self._send, self._finish)
            self.send(sender, "made")
            return
        value = getattr(self._actor, method)(*args)
        if answered:
            self.send(sender, (value,))

    def _send(self, actor, method, *args):
        self.send(actor, (method, args, False))

    def _finish(self, value):
        self.send(self._driver, (value,))


class ThespianSystem(System):
    """`base` is one of thespian's system bases."""

    def __init__(self, base):
        self._base, self._system, self._results = base, None, []

    def spawn(self, actor_class, *args):
        if self._system is None:
            self._system = ActorSystem(self._base)
        actor = self._system.createActor(Host)
        self._ask(actor, ("make", (actor_class, args), False))
        return actor

    def send(self, actor, method, *args):
        self._system.tell(actor, (method, args, False))

    def ask_all(self, calls):
        return [self._ask(actor, (method, args, True))[0] for actor, method, *args in calls]

    def result(self):
        found = self._system.listen(_LONG)
        if not isinstance(found, tuple):
            raise RuntimeError(f"thespian gave {found!r} where the program's result should come")
        return found[0]

    def end_program(self):
        self._system.shutdown()
        self._system = None

    def _ask(self, actor, message):
        found = self._system.ask(actor, message, _LONG)
        if found is None:
            raise RuntimeError(f"thespian's actor {actor} does not answer {message[0]!r}")
        return found
