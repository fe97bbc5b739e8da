"""The actor programs on Ray's API: on Ray itself and on rayshim."""

import asyncio
import functools

from benchmarks.savina.actor import System


class Result:
    """Takes the program's result, and gives it to the driver."""

    def __init__(self):
        self._found = asyncio.Event()

    async def put(self, value):
        self._value = value
        self._found.set()

    async def wait(self):
        await self._found.wait()
        return self._value


class RaySystem(System):
    """`ray` is the module, initialised."""

    def __init__(self, ray):
        self._ray = ray
        self._remote = functools.cache(lambda actor_class: ray.remote(_with_messages(actor_class)))
        self._actors, self._result = [], None

    def spawn(self, actor_class, *args):
        if self._result is None:
            self._result = self._ray.remote(Result).remote()
        self._actors.append(self._remote(actor_class).remote(self._result, *args))
        return self._actors[-1]

    def send(self, actor, method, *args):
        getattr(actor, method).remote(*args)

    def ask_all(self, calls):
        return self._ray.get([getattr(actor, method).remote(*args) for actor, method, *args in calls])

    def result(self):
        return self._ray.get(self._result.wait.remote())

    def end_program(self):
        for actor in (*self._actors, self._result):
            self._ray.kill(actor)
        self._actors, self._result = [], None

    def close(self):
        self._ray.shutdown()


def _with_messages(actor_class):
    class Remote(actor_class):
        def __init__(self, result, *args):
            self._result = result
            super().__init__(*args)

        def send(self, actor, method, *args):
            getattr(actor, method).remote(*args)

        def finish(self, value):
            self._result.put.remote(value)

    Remote.__name__ = Remote.__qualname__ = actor_class.__name__
    return Remote
