"""The tasks and actors of the sessions whose processes are struck at their system calls."""

import asyncio
import contextlib
import importlib
import os

import numpy as np

import rayshim as ray

SIZE = 40_000  # of the arrays, in numbers: larger than what lies in a channel


def array(key):
    return np.arange(key, key + SIZE, dtype=np.int64)


@ray.remote(max_retries=5)
def echo(value):
    return value


@ray.remote(max_retries=5)
def large(key):
    return array(key)


@ray.remote(max_retries=5)
def stream(count):
    yield from range(count)


@ray.remote(max_retries=5)
def parts(count):
    for key in range(count):
        yield array(key)


@ray.remote(num_cpus=0)
class Helper:
    def echo(self, value):
        return value

    def pid(self):
        return os.getpid()


def nested():
    return ray.get([echo.remote(echo.remote(4)), echo.remote(5)])


def spawn():
    helper = Helper.remote()
    return ray.get([helper.echo.remote(6), helper.echo.remote(7)])


def stored():
    return [ray.put(array(8)), echo.remote(9)]


def waits():
    ready, rest = ray.wait([echo.remote(1), large.remote(2)], num_returns=2)
    return len(ready) + len(rest)


def named():
    return ray.get(ray.get_actor("known").echo.remote(3))


def reads():
    return [ray.get(ref) for ref in stream.remote(5)]


def group():
    made = ray.util.placement_group([{"CPU": 0.1}])
    ray.get(made.ready())
    value = ray.get(echo.options(num_cpus=0.1, placement_group=made).remote(11))
    ray.util.remove_placement_group(made)
    return value


def cancels():
    ref = echo.remote(1)
    ray.cancel(ref)
    with contextlib.suppress(ray.exceptions.RayError):
        ray.get(ref)
    helper = Helper.remote()
    ray.get(helper.echo.remote(1))
    ray.kill(helper)
    return 12


CALLS = {nested: [4, 5], spawn: [6, 7], waits: 2, named: 3, reads: list(range(5)), group: 11, cancels: 12}


class Plain:
    def __init__(self, given):
        self.given = given

    def echo(self, value):
        return value

    def large(self, key):
        return array(key)

    def stream(self, count):
        yield from range(count)

    def parts(self, count):
        for key in range(count):
            yield array(key)

    def run(self, name):
        return globals()[name]()

    def stored(self):
        return stored()


class Async(Plain):
    async def echo(self, value):
        await asyncio.sleep(0)
        return value

    async def stream(self, count):
        for index in range(count):
            await asyncio.sleep(0)
            yield index

    async def nested(self):
        return await echo.remote(4)


@ray.remote(max_retries=5)
def run(name):
    return getattr(importlib.import_module("benchmarks.faults.syscall_cast"), name)()  # a task's globals are copies


@ray.remote(max_retries=5)
def run_stored():
    return stored()
