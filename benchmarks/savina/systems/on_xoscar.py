"""The actor programs on xoscar: all actors in this process, or on some processes."""

import asyncio

import xoscar

from benchmarks.savina.actor import System
from benchmarks.savina.systems.hosting import make


class Host(xoscar.Actor):
    def __init__(self, actor_class, args, result):
        self._sent, self._result = [], result
        self._actor = make(actor_class, args, self._send, self._finish)

    async def deliver(self, method, args):
        value = getattr(self._actor, method)(*args)
        while self._sent:
            sent, self._sent = self._sent, []
            for actor, *message in sent:
                await actor.deliver.tell(*message)
        return value

    def _send(self, actor, method, *args):
        self._sent.append((actor, method, args))

    def _finish(self, value):
        self._sent.append((self._result, "put", (value,)))


class Result(xoscar.Actor):
    """Takes the program's result; asked for it until it is there."""

    def __init__(self):
        self._value = ()

    def deliver(self, _, args):
        self._value = args

    def value(self):
        return self._value


class XoscarSystem(System):
    """`processes`: besides this one; 0 for none."""

    def __init__(self, processes):
        self._processes, self._loop = processes, asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._pool, self._spawned = None, 0

    def spawn(self, actor_class, *args):
        return self._loop.run_until_complete(self._spawn(actor_class, args))

    async def _spawn(self, actor_class, args):
        if self._pool is None:
            self._pool = await xoscar.create_actor_pool("127.0.0.1:0", n_process=self._processes)
            self._result = await xoscar.create_actor(Result, address=self._pool.external_address)
        places = list(self._pool.sub_processes) if self._processes else [self._pool.external_address]
        self._spawned += 1
        place = places[self._spawned % len(places)]
        return await xoscar.create_actor(Host, actor_class, args, self._result, address=place)

    def send(self, actor, method, *args):
        self._loop.run_until_complete(actor.deliver.tell(method, args))

    def ask_all(self, calls):
        async def ask():
            return await asyncio.gather(*(actor.deliver(method, args) for actor, method, *args in calls))

        return self._loop.run_until_complete(ask())

    def result(self):
        async def wait():
            while not (found := await self._result.value()):
                await asyncio.sleep(0.001)
            return found[0]

        return self._loop.run_until_complete(wait())

    def end_program(self):
        if self._pool is not None:
            self._loop.run_until_complete(self._pool.stop())
        self._pool, self._spawned = None, 0

    def close(self):
        self._loop.close()
