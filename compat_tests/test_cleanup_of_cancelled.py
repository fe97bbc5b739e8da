"""What a cancelled call of an async actor calls to clean up is not cancelled with it; what it had called before is."""

import asyncio
import time

import pytest

pytestmark = pytest.mark.needs_concurrency


def test_calls_of_the_cleanup_run(ray):
    @ray.remote
    class Log:
        def __init__(self):
            self.lines = []

        def add(self, line):
            self.lines.append(line)

        def take(self):
            lines, self.lines = self.lines, []
            return lines

    @ray.remote
    class Worker:
        async def work(self, log):
            try:
                ray.get(log.add.remote("begun"))
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ray.get(log.add.remote("cleaned up"))
                raise

    log, worker = Log.remote(), Worker.remote()
    for _ in range(20):
        result = worker.work.remote(log)
        lines = []
        while not lines:
            lines = ray.get(log.take.remote())
            time.sleep(0.1)  # it waits in sleep by now
        assert lines == ["begun"]
        ray.cancel(result)
        with pytest.raises(ray.exceptions.TaskCancelledError):
            ray.get(result)
        assert ray.get(log.take.remote()) == ["cleaned up"]


def test_calls_made_before_are_cancelled(ray):
    @ray.remote
    class Sleeper:
        async def sleep(self):
            await asyncio.sleep(60)

    @ray.remote
    class Worker:
        async def work(self, sleeper, slept):
            slept.append(sleeper.sleep.remote())
            await slept[0]

        async def outcome(self, sleeper):
            slept = []
            task = asyncio.ensure_future(self.work(sleeper, slept))
            try:
                await task
            except asyncio.CancelledError:
                try:
                    await slept[0]
                except ray.exceptions.TaskCancelledError:
                    self.told = "cancelled"
                raise

        async def what_was_told(self):
            return self.told

    sleeper, worker = Sleeper.remote(), Worker.remote()
    result = worker.outcome.remote(sleeper)
    ray.wait([result], timeout=1)
    ray.cancel(result)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(result)
    assert ray.get(worker.what_was_told.remote()) == "cancelled"
