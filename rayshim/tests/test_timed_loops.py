"""Timed order: asyncio in the driver, in tasks and in actors that are not async, and waits for several generators."""

import asyncio
import os
import signal
import threading
import time

import pytest

from rayshim.tests.runs import Log, Slow, outcome, some_time, value


@pytest.fixture(params=["isolated", "packed"])
def how(request, tmp_path):
    return {"ordering": "timed", "timing": tmp_path / "run.timing", "placement": request.param, "seed": 1}


def an_asynchronous_trainer(ray):
    """Rollouts, a trainer and an evaluator as coroutines of the driver: timeouts, a queue, a semaphore, `asyncio.sleep`, `asyncio.wait`."""
    workers, log = [ray.remote(Slow).remote() for _ in range(3)], ray.remote(Log).remote()

    async def main():
        await asyncio.gather(*(worker.work.remote(0) for worker in workers))
        samples, free, done, seen = asyncio.Queue(4), asyncio.Semaphore(5), asyncio.Event(), []

        async def roll_out(number):
            async with free:
                try:
                    await asyncio.wait_for(asyncio.shield(_awaited(workers[number % 3].work.remote(number))), 0.02)
                except asyncio.TimeoutError:
                    return number, "late"
                await samples.put(number)
                return number, "there"

        async def train():
            while not done.is_set() or not samples.empty():
                try:
                    seen.append(await asyncio.wait_for(samples.get(), 0.006))
                except asyncio.TimeoutError:
                    seen.append("idle")
                    continue
                await log.add.remote(seen[-1])

        async def evaluate():
            while not done.is_set():
                seen.append(("log", len(await log.all.remote())))
                await asyncio.sleep(0.005)

        beside = [asyncio.create_task(train()), asyncio.create_task(evaluate())]
        rollouts = [asyncio.create_task(roll_out(number)) for number in range(1, 25)]
        first, _ = await asyncio.wait(rollouts, return_when=asyncio.FIRST_COMPLETED)
        outcomes = await asyncio.gather(*rollouts)
        done.set()
        await asyncio.gather(*beside)
        return [rollouts.index(task) for task in first], outcomes, seen

    return asyncio.run(main()), ray.get(log.all.remote())


def loops_of_calls(ray):
    """Tasks, and a method, run event loops of their own."""
    log = ray.remote(Log).remote()

    async def tell(name):
        for number in range(8):
            time.sleep(some_time())  # noqa: ASYNC251  work that takes another time in each run
            await asyncio.sleep(0.002)
            await log.add.remote((name, number))

    @ray.remote
    def task(name):
        asyncio.run(tell(name))

    @ray.remote
    class Teller:
        def tell(self, name):
            asyncio.run(tell(name))

    ray.get([task.remote("a"), task.remote("b"), Teller.remote().tell.remote("c")])
    return ray.get(log.all.remote())


def waits_for_generators(ray):
    """Whichever generator has its next value, in the driver by `wait` and by `async for`."""

    @ray.remote
    def count(start):
        for number in range(start, start + 8):
            time.sleep(some_time())
            yield number

    order, left = [], [count.remote(100 * k) for k in range(3)]
    while left:
        ready, _ = ray.wait(left)
        for generator in ready:
            try:
                order.append(ray.get(next(generator)))
            except StopIteration:
                left.remove(generator)

    async def read(start):
        async for ref in count.remote(start):
            order.append(await ref)

    async def main():
        await asyncio.gather(*(read(1000 * k) for k in range(3)))

    asyncio.run(main())
    polled, generator = [], count.remote(0)
    while not generator.is_finished():
        polled.append(generator.next_ready())
        if polled[-1]:
            next(generator)
        else:
            time.sleep(0.001)
    return order, polled


@pytest.mark.parametrize("program", [an_asynchronous_trainer, loops_of_calls, waits_for_generators])
def test_what_event_loops_do_repeats(program, how):
    measured = outcome(program, **how)
    assert outcome(program, **how) == measured
    assert outcome(program, **how) == measured


def test_threads_descriptors_and_signals_reach_an_ordered_loop(tmp_path):
    """And the session begins and ends while the loop runs."""

    async def main():
        import rayshim as ray

        ray.init(num_cpus=2, logging_level="ERROR", ordering="timed", timing=tmp_path / "run.timing")
        worker, loop, signals = ray.remote(Slow).remote(), asyncio.get_running_loop(), []
        loop.add_signal_handler(signal.SIGUSR2, signals.append, "come")
        loop.call_later(0.01, os.kill, os.getpid(), signal.SIGUSR2)
        found = await asyncio.gather(asyncio.to_thread(time.sleep, 0.02), *(worker.work.remote(k) for k in range(3)))
        process = await asyncio.create_subprocess_exec("echo", "text", stdout=asyncio.subprocess.PIPE)
        text, _ = await process.communicate()
        found += await asyncio.gather(asyncio.to_thread(int, "7"), worker.work.remote(8))
        ray.shutdown()
        await asyncio.sleep(0.01)
        return found, text, signals

    for _ in range(2):
        assert asyncio.run(main()) == ([None, 0, 1, 2, 7, 8], b"text\n", ["come"])


def test_a_cancelled_wait_is_forgotten(tmp_path):
    def program(ray):
        worker = ray.remote(Slow).remote()

        async def main():
            waiting = asyncio.create_task(_awaited(worker.work.remote(1)))
            await asyncio.sleep(0)
            waiting.cancel()
            return await worker.work.remote(2), waiting.cancelled()

        return asyncio.run(main())

    how = {"ordering": "timed", "timing": tmp_path / "run.timing"}
    assert value(program, **how) == value(program, **how) == [2, True]


async def _awaited(ref):
    return await ref


def test_an_interrupt_ends_a_loop_that_waits(tmp_path):
    def program(ray):
        class Sleeper(Slow):
            def sleep(self, seconds):
                time.sleep(seconds)

        async def waits():
            await _awaited(ray.remote(Sleeper).remote().sleep.remote(60))

        timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
        timer.start()
        try:
            asyncio.run(waits())
        except KeyboardInterrupt:
            return "interrupted"

    assert value(program, ordering="timed", timing=tmp_path / "run.timing") == "interrupted"


def test_one_loop_for_two_sessions(tmp_path):
    async def main():
        import rayshim as ray

        found = []
        for name in ("first", "second"):
            ray.init(num_cpus=2, logging_level="ERROR", ordering="timed", timing=tmp_path / f"{name}.timing")
            worker = ray.remote(Slow).remote()
            found += await asyncio.gather(*(worker.work.remote(number) for number in range(3)))
            await asyncio.sleep(0.002)
            ray.shutdown()
        return found

    for _ in range(2):
        assert asyncio.run(main()) == [0, 1, 2, 0, 1, 2]
