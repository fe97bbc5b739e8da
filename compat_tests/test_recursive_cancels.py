"""`cancel` cancels what the call has called, too, whatever it and they are: tasks, methods of plain, threaded and async actors."""

import asyncio
import threading
import time

import pytest

pytestmark = pytest.mark.needs_concurrency


@pytest.fixture
def leaves(ray, gate):
    """{"task", "actor", "stream"}: functions that start a call, which notes with the gate that it has begun, and how it ends."""

    @ray.remote(num_cpus=0)
    def task():
        try:
            gate.touch("begun")
            while not gate.is_open():
                time.sleep(0.01)
        except KeyboardInterrupt:
            gate.touch("cancelled")
            raise
        gate.touch("done")

    @ray.remote(num_cpus=0, max_concurrency=4)
    class Leaf:
        async def run(self):
            try:
                gate.touch("begun")
                while not gate.is_open():
                    await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                gate.touch("cancelled")
                raise
            gate.touch("done")

        async def stream(self):
            yield 1
            await self.run()

    leaf = Leaf.remote()
    return {
        "task": lambda: task.remote(),
        "actor": lambda: leaf.run.remote(),
        "stream": lambda: leaf.stream.options(num_returns="streaming").remote(),
    }


@pytest.fixture
def callers(ray):
    """{name: function(start) that makes a call which starts a leaf and goes on for long}."""

    @ray.remote(num_cpus=0)
    def task(start):
        started = start()
        time.sleep(0.2)
        for _ in range(3000):
            time.sleep(0.01)
        return started

    @ray.remote(num_cpus=0)
    class Plain:
        def run(self, start):
            started = start()
            for _ in range(3000):
                time.sleep(0.01)
            return started

        def get(self, start):
            return ray.get(start())

    @ray.remote(num_cpus=0, max_concurrency=4)
    class Threaded(Plain.__ray_actor_class__):
        pass

    @ray.remote(num_cpus=0, max_concurrency=4)
    class Async:
        async def run(self, start):
            self.started = start()
            await asyncio.sleep(30)

        async def drop(self, start):
            start()
            await asyncio.sleep(30)

        async def in_a_task(self, start):
            async def call():
                self.started = start()

            await asyncio.create_task(call())
            await asyncio.sleep(30)

        async def in_a_thread(self, start):
            self.started = await asyncio.to_thread(start)
            await asyncio.sleep(30)

        async def in_another_loop(self, start):
            async def call():
                return start()

            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, daemon=True).start()
            self.started = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(), loop))
            await asyncio.sleep(30)

        async def stream(self, start):
            self.started = start()
            yield 1
            await asyncio.sleep(30)

        async def twice(self, start):
            self.started = task.remote(start)
            await asyncio.sleep(30)

    plain, threaded, concurrent = Plain.remote(), Threaded.remote(), Async.remote()
    return {
        "task": task.remote,
        "method": plain.run.remote,
        "method that gets": plain.get.remote,
        "threaded method": threaded.run.remote,
        "threaded method that gets": threaded.get.remote,
        "coroutine": concurrent.run.remote,
        "coroutine that drops the ref": concurrent.drop.remote,
        "coroutine in a task": concurrent.in_a_task.remote,
        "coroutine in a thread": concurrent.in_a_thread.remote,
        "coroutine in another loop": concurrent.in_another_loop.remote,
        "generator": concurrent.stream.options(num_returns="streaming").remote,
        "grandchild": concurrent.twice.remote,
    }


CALLERS = [
    "task",
    "method",
    "method that gets",
    "threaded method",
    "threaded method that gets",
    "coroutine",
    "coroutine that drops the ref",
    "coroutine in a task",
    "coroutine in a thread",
    "coroutine in another loop",
    "generator",
    "grandchild",
]


@pytest.mark.parametrize("caller", CALLERS)
def test_what_an_actors_method_does_for_a_call_is_cancelled_with_it(ray, gate, leaves, callers, caller):
    call = callers[caller](leaves["actor"])
    gate.wait_for("begun")
    ray.cancel(call)
    gate.wait_for("cancelled", 15)


@pytest.mark.parametrize("caller", ["method", "threaded method", "coroutine"])
@pytest.mark.parametrize("leaf", ["task", "stream"])
def test_tasks_and_streams_are_cancelled_with_the_call(ray, gate, leaves, callers, leaf, caller):
    call = callers[caller](leaves[leaf])
    gate.wait_for("begun")
    ray.cancel(call)
    gate.wait_for("cancelled", 15)


@pytest.mark.parametrize("caller", ["task", "method", "threaded method", "coroutine"])
def test_not_if_only_the_call_itself_is_meant(ray, gate, leaves, callers, caller):
    call = callers[caller](leaves["actor"])
    gate.wait_for("begun")
    ray.cancel(call, recursive=False)
    time.sleep(0.5)
    gate.open()
    gate.wait_for("done", 15)


def test_calls_of_other_calls_go_on(ray, gate, tmp_path, leaves):
    @ray.remote(num_cpus=0, max_concurrency=4)
    class Two:
        async def run(self, start, begun):
            self.started = start() if start else None
            gate.touch(begun)
            await asyncio.sleep(30)

    two = Two.remote()
    kept, cancelled = two.run.remote(leaves["actor"], "kept"), two.run.remote(None, "other")
    for name in ("kept", "other", "begun"):
        gate.wait_for(name)
    ray.cancel(cancelled)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(cancelled, timeout=15)
    gate.open()
    gate.wait_for("done", 15)
    assert ray.wait([kept], timeout=0)[0] == []


def test_messages_to_an_actor_that_is_free_arrive(ray, gate):
    @ray.remote
    class Log:
        def __init__(self):
            self.lines = []

        def add(self, line):
            self.lines.append(line)

        def all(self):
            return sorted(self.lines)

    log = Log.remote()
    ray.get(log.all.remote())

    @ray.remote(num_cpus=0)
    def task(n):
        log.add.remote(n)
        time.sleep(0.5)  # it arrives meanwhile
        gate.touch(f"sent {n}")
        for _ in range(3000):
            time.sleep(0.01)

    calls = [task.remote(n) for n in range(4)]
    for n in range(4):
        gate.wait_for(f"sent {n}")
    for call in reversed(calls):
        ray.cancel(call)
    for call in calls:
        with pytest.raises(ray.exceptions.TaskCancelledError):
            ray.get(call, timeout=15)
    assert ray.get(log.all.remote()) == [0, 1, 2, 3]


@pytest.mark.parametrize("caller", ["coroutine", "generator"])
def test_what_a_call_has_only_just_called_is_cancelled_with_it(ray, gate, caller):
    @ray.remote(num_cpus=0, max_concurrency=4)
    class Leaf:
        async def run(self, number):
            try:
                gate.touch(f"begun {number}")
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                gate.touch(f"cancelled {number}")
                raise

    @ray.remote(num_cpus=0, max_concurrency=4)
    class Caller:
        async def coroutine(self, leaf, number):
            self.started = leaf.run.remote(number)
            await asyncio.sleep(30)

        async def generator(self, leaf, number):
            self.started = leaf.run.remote(number)
            yield 1
            await asyncio.sleep(30)

    leaf, actor = Leaf.remote(), Caller.remote()
    options = {"num_returns": "streaming"} if caller == "generator" else {}
    for number in range(150):  # the call may see that it is cancelled before its process is told
        call = getattr(actor, caller).options(**options).remote(leaf, number)
        gate.wait_for(f"begun {number}")
        ray.cancel(call)
        gate.wait_for(f"cancelled {number}", 15)
