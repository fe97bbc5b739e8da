"""The actors and tasks of the random programs, and their callers.

Each result says what it is: ("result", call, index, pid, n, parts), where `n` counts the calls of an actor's present life (0 for tasks)
and `parts` has for each argument what the callee found it to be. Arrays have a pattern that names the call that made them.
"""

import asyncio
import functools
import os
import threading
import time
import zlib
from typing import Any, NamedTuple

import numpy as np

import rayshim as ray
from benchmarks.faults import trace


class Friend(NamedTuple):
    """An actor's handle with what the trace must tell of calls to it."""

    name: str
    retries: int
    handle: Any


class Given(NamedTuple):
    """A result with refs inside, and the names of the put and the call that they are of."""

    result: tuple
    names: list
    refs: list


class Caller:
    """Makes calls and tells the trace of each before it is made. `prefix` begins the names of the calls."""

    def __init__(self, prefix=""):
        self.prefix = prefix
        self.calls_named = 0

    def name(self):
        self.calls_named += 1
        return f"{self.prefix}{self.calls_named}"

    def task(self, function, arguments=(), retries=3, told=(), own_interpreter=False):
        """(name, what `.remote()` gave)"""
        name = self.name()
        trace.write("call", name, None, function, retries, list(told))
        options = {"max_retries": retries, **OPTIONS.get(function, {}), **_environment(own_interpreter)}
        return name, _remote(function).options(**options).remote(name, *arguments)

    def method(self, friend, method, arguments=(), retries=None, told=()):
        name = self.name()
        trace.write("call", name, friend.name, method, friend.retries if retries is None else retries, list(told))
        options = {} if retries is None else {"max_task_retries": retries}
        if method == "two":
            options["num_returns"] = 2
        bound = getattr(friend.handle, method)
        return name, (bound.options(**options) if options else bound).remote(name, *arguments)

    def create(
        self, name, kind, max_restarts, max_task_retries, arguments=(), registered=False, told=(), own_interpreter=False
    ):
        trace.write("actor", name, kind, max_restarts, max_task_retries, list(told))
        options = {"max_restarts": max_restarts, "max_task_retries": max_task_retries, "num_cpus": 0}
        options |= _environment(own_interpreter)
        if registered:
            options["name"] = name
        if kind == "threaded":
            options["max_concurrency"] = 3
        return Friend(name, max_task_retries, _actor_class(kind).options(**options).remote(name, *arguments))


def _environment(own_interpreter):
    """Options of a task or actor; with a variable that Python reads only at its start, the worker starts an interpreter."""
    return {"runtime_env": {"env_vars": {"PYTHONHASHSEED": "7"}}} if own_interpreter else {}


def pattern(call, size):
    """The array of `size` bytes that the call or put of this name makes."""
    key = zlib.crc32(call.encode())
    return np.arange(key, key + max(size // 8, 2), dtype=np.int64)


def identity(value):
    """A short description of a value, for the trace."""
    if isinstance(value, np.ndarray):
        start = int(value[0])
        return ["array", start, 8 * len(value), bool((value == np.arange(start, start + len(value))).all())]
    if isinstance(value, Given):
        return identity(value.result)
    if isinstance(value, tuple):
        return [identity(part) for part in value]
    if isinstance(value, list):
        return [identity(part) for part in value]
    return value


def told(error):
    """An exception for the trace: its class, those that it is also an instance of, what it says."""
    return ["error", [kind.__name__ for kind in type(error).__mro__], str(error)[-600:]]


def outcome(get):
    try:
        return ["value", identity(get())]
    except ray.exceptions.RayError as error:
        return told(error)


def parts(call, arguments):
    """A description of each argument. Gets the values of refs in a list; calls an actor."""
    caller = None
    found = []
    for argument in arguments:
        if isinstance(argument, Friend):
            caller = caller or _inner_caller(call)
            name, ref = caller.method(argument, "add")
            found.append(["called", name, outcome(lambda ref=ref: ray.get(ref))])
        elif isinstance(argument, list):
            found.append([outcome(lambda ref=ref: ray.get(ref)) for ref in argument])
        else:
            found.append(identity(argument))
    return found


async def awaited_parts(call, arguments):
    found = []
    for argument in arguments:
        if isinstance(argument, Friend):
            name, ref = _inner_caller(call).method(argument, "add")
            found.append(["called", name, await _awaited(ref)])
        elif isinstance(argument, list):
            found.append([await _awaited(ref) for ref in argument])
        else:
            found.append(identity(argument))
    return found


async def _awaited(ref):
    try:
        return ["value", identity(await ref)]
    except ray.exceptions.RayError as error:
        return told(error)


def nested(call):
    """Two tasks inside of a call, one of which needs the other."""
    caller = _inner_caller(call)
    first, one = caller.task("slow", (2,), 3, [["number", 2]])
    second, other = caller.task("add", (one, 7), -1, [["ref", first, 0], ["number", 7]])
    return [["called", second, outcome(lambda: ray.get(other))], ["called", first, outcome(lambda: ray.get(one))]]


def spawn(call):
    """An actor that is made inside of a call and ends with it."""
    caller = _inner_caller(call)
    friend = caller.create(f"{caller.prefix}actor", "plain", 1, -1, told=[["maker", call]])
    refs = [caller.method(friend, "add") for _ in range(2)]
    return [["called", name, outcome(lambda ref=ref: ray.get(ref))] for name, ref in refs]


def give(call, pid, n):
    """A result with two refs: of an array, and of a task that may still run."""
    caller = _inner_caller(call)
    put, size = caller.name(), 200_000
    trace.write("put", put, size)
    stored = ray.put(pattern(put, size))
    task, ref = caller.task("slow", (3,), 3, [["number", 3]])
    return Given(("result", call, 0, pid, n, []), [put, task], [stored, ref])


def _inner_caller(call):
    # A call that runs again makes new calls.
    return Caller(f"{call}/{os.urandom(3).hex()}.")


# ---- tasks


def _ran(call):
    trace.write("run", call, None, "", 0)
    return os.getpid(), 0


def _add(call, *arguments):
    pid, n = _ran(call)
    return "result", call, 0, pid, n, parts(call, arguments)


def _slow(call, milliseconds):
    pid, n = _ran(call)
    time.sleep(milliseconds / 1000)
    return "result", call, 0, pid, n, [milliseconds]


def _big(call, size):
    _ran(call)
    return pattern(call, size)


def _two(call):
    pid, n = _ran(call)
    return tuple(("result", call, index, pid, n, []) for index in range(2))


def _stream(call, count):
    pid, n = _ran(call)
    for index in range(count):
        yield "result", call, index, pid, n, []


def _nested(call):
    pid, n = _ran(call)
    return "result", call, 0, pid, n, nested(call)


def _spawn(call):
    pid, n = _ran(call)
    return "result", call, 0, pid, n, spawn(call)


def _give(call):
    return give(call, *_ran(call))


TASKS = {"add": _add, "slow": _slow, "big": _big, "two": _two, "stream": _stream, "dynamic": _stream, "nested": _nested, "spawn": _spawn,
         "give": _give}  # fmt: skip
OPTIONS = {"two": {"num_returns": 2}, "dynamic": {"num_returns": "dynamic"}}


@functools.cache
def _remote(function):
    return ray.remote(TASKS[function])


# ---- actors


class Plain:
    def __init__(self, name, *arguments):
        self.name, self.n = name, 0
        self.life = os.urandom(4).hex()
        self.lock = threading.Lock()
        trace.write("life", name, self.life, [identity(a) for a in arguments if isinstance(a, np.ndarray)])
        self.friend = next((a for a in arguments if isinstance(a, Friend)), None)

    def ran(self, call):
        with self.lock:
            self.n += 1
            trace.write("run", call, self.name, self.life, self.n)
            return os.getpid(), self.n

    def add(self, call, *arguments):
        pid, n = self.ran(call)
        return "result", call, 0, pid, n, parts(call, arguments)

    def slow(self, call, milliseconds):
        pid, n = self.ran(call)
        time.sleep(milliseconds / 1000)
        return "result", call, 0, pid, n, [milliseconds]

    def big(self, call, size):
        self.ran(call)
        return pattern(call, size)

    def two(self, call):
        pid, n = self.ran(call)
        return tuple(("result", call, index, pid, n, []) for index in range(2))

    def stream(self, call, count):
        pid, n = self.ran(call)
        for index in range(count):
            yield "result", call, index, pid, n, []

    def nested(self, call):
        pid, n = self.ran(call)
        return "result", call, 0, pid, n, nested(call)

    def spawn(self, call):
        pid, n = self.ran(call)
        return "result", call, 0, pid, n, spawn(call)

    def give(self, call):
        return give(call, *self.ran(call))


class Async(Plain):
    async def add(self, call, *arguments):
        pid, n = self.ran(call)
        return "result", call, 0, pid, n, await awaited_parts(call, arguments)

    async def slow(self, call, milliseconds):
        pid, n = self.ran(call)
        await asyncio.sleep(milliseconds / 1000)
        return "result", call, 0, pid, n, [milliseconds]

    async def stream(self, call, count):
        pid, n = self.ran(call)
        for index in range(count):
            await asyncio.sleep(0)
            yield "result", call, index, pid, n, []

    async def spawn(self, call):
        pid, n = self.ran(call)
        caller = _inner_caller(call)
        friend = caller.create(f"{caller.prefix}actor", "plain", 1, -1, told=[["maker", call]])
        name, ref = caller.method(friend, "add")
        return "result", call, 0, pid, n, [["called", name, await _awaited(ref)]]


@functools.cache
def _actor_class(kind):
    return ray.remote(Async if kind == "async" else Plain)
