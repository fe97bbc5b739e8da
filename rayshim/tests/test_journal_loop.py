"""Async actors of a recorded run: their event loops do the same again."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import rayshim
from rayshim.tests import runs
from rayshim.tests.runs import some_time
from rayshim.tests.runs import value as outcome


def every_way_to_wait(ray):
    @ray.remote
    class Loop:
        def __init__(self):
            self.log, self.lock = [], asyncio.Lock()
            self.background = asyncio.get_event_loop().create_task(self.count())

        async def count(self):
            while True:
                await asyncio.sleep(some_time())
                self.log.append("count")

        async def part(self, n, k):
            await asyncio.sleep(some_time())
            async with self.lock:
                self.log.append((n, k))
                await asyncio.sleep(some_time() / 4)
            return len(self.log)

        async def work(self, n, refs):
            self.log.append(n)
            lengths = await asyncio.gather(*(self.part(n, k) for k in range(3)))
            await refs[0]
            done, _ = await asyncio.wait(
                [asyncio.ensure_future(self.part(n, k)) for k in (3, 4)], return_when=asyncio.FIRST_COMPLETED
            )
            try:
                late = await asyncio.wait_for(self.part(n, 5), some_time())
            except asyncio.TimeoutError:
                late = "late"
            return lengths, len(done), late

        def plain(self, n):
            self.log.append(n)
            return len(self.log)

        async def values(self):
            for _ in range(4):
                await asyncio.sleep(some_time())
                yield len(self.log)

        async def all(self):
            return self.log

    @ray.remote
    def slow():
        time.sleep(some_time())

    @ray.remote
    def caller(loop, n):
        return ray.get(loop.work.remote(n, [slow.remote()])), ray.get(loop.plain.remote(n))

    loop = Loop.remote()
    refs = [caller.remote(loop, n) for n in range(5)]
    values = [ray.get(ref) for ref in loop.values.options(num_returns="streaming").remote()]
    return ray.get(refs), values, ray.get(loop.all.remote())


def test_coroutines_go_on_in_their_recorded_order(tmp_path, monkeypatch):
    runs.differs_and_is_replayed(every_way_to_wait, tmp_path, monkeypatch)


@rayshim.remote
class Looping:
    """Its log is what depends on the order of things."""

    def __init__(self):
        self.log = []

    async def all(self):
        return self.log

    async def pause(self, what):
        await asyncio.sleep(some_time())
        self.log.append(what)
        return what

    async def with_timeouts(self, n):
        for k in range(6):
            try:
                async with asyncio.timeout(some_time()):
                    await self.pause((n, k))
            except TimeoutError:
                self.log.append((n, k, "late"))

    async def with_groups(self, n):
        async def fail():
            await asyncio.sleep(some_time())
            raise KeyError(n)

        try:
            async with asyncio.TaskGroup() as group:
                for k in range(3):
                    group.create_task(self.pause((n, k)))
                group.create_task(fail())
        except Exception as failed:  # an ExceptionGroup
            if failed.subgroup(KeyError) is None:
                raise
            self.log.append((n, "failed"))

    async def with_callbacks(self, n):
        for k in range(4):
            task = asyncio.create_task(self.pause((n, k)))
            task.add_done_callback(lambda task: self.log.append((task.result(), "callback")))
            asyncio.get_running_loop().call_later(some_time(), self.log.append, (n, k, "later"))
        await asyncio.sleep(0.015)

    async def with_threads(self, n):
        def slow(k):
            time.sleep(some_time())
            return k

        with ThreadPoolExecutor(4) as pool:
            loop = asyncio.get_running_loop()
            futures = [loop.run_in_executor(pool, slow, k) for k in range(4)]
            done, _ = await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
            self.log.append((n, sorted(future.result() for future in done)))
            for future in asyncio.as_completed(futures):
                self.log.append((n, await future))

    async def with_a_chain(self, n, length=30):
        await self.pause((n, length))
        if length:
            await asyncio.create_task(self.with_a_chain(n, length - 1))

    async def with_values(self, n):
        for k in range(5):
            await self.pause((n, k))
            yield len(self.log)


HAS = {"with_timeouts": hasattr(asyncio, "timeout"), "with_groups": hasattr(asyncio, "TaskGroup")}
WAYS = [name for name in vars(Looping._cls) if name.startswith("with_") and HAS.get(name, True)]


@pytest.mark.parametrize("way", WAYS)
def test_whatever_its_coroutines_wait_for(tmp_path, way):
    def program(ray):
        loop = Looping.remote()
        refs = [getattr(loop, way).remote(n) for n in range(3)]
        if way == "with_values":
            first, second, _ = refs
            refs = [next(first) for _ in range(2)] + list(second)
            del first  # two of its values are not read
        values = ray.get(refs)
        return values, ray.get(loop.all.remote())

    recorded = outcome(program, record=tmp_path / "run")
    for _ in range(3):
        assert outcome(program, replay=tmp_path / "run") == recorded


@pytest.mark.skipif(not HAS["with_timeouts"], reason="asyncio.timeout is there from Python 3.11 on")
def test_a_timeout_that_is_over_before_it_begins_in_one_run_only(tmp_path):
    late = tmp_path / "late"
    late.touch()

    def program(ray):
        @ray.remote
        class Hasty:
            async def work(self, late):
                found = []
                for k in range(3):
                    end = asyncio.get_running_loop().time() + 0.005
                    if late.exists():
                        time.sleep(0.01)  # noqa: ASYNC251  the whole loop is late
                    try:
                        async with asyncio.timeout_at(end):
                            for i in range(100):
                                found.append((k, i))
                                await asyncio.sleep(0.001)
                    except TimeoutError:
                        found.append("late")
                return found

        return ray.get(Hasty.remote().work.remote(late))

    recorded = outcome(program, record=tmp_path / "run")
    late.unlink()
    assert outcome(program, replay=tmp_path / "run") == recorded


@pytest.mark.parametrize("seconds", [0, 0.1])
def test_a_call_is_cancelled_where_it_was(tmp_path, seconds):
    def program(ray):
        loop = Looping.remote()
        going, other = loop.with_a_chain.remote(0, 300), loop.with_a_chain.remote(1)
        behind = Looping.options(max_concurrency=1).remote()
        refs = [going, behind.with_a_chain.remote(2, 3), behind.pause.remote("behind")]
        ray.get(other) if Pace.seconds is None else time.sleep(Pace.seconds)
        for ref in (refs[0], refs[2]):
            ray.cancel(ref)
        return runs.outcomes(ray, refs), ray.get([loop.all.remote(), behind.all.remote()])

    Pace.seconds = None
    recorded = outcome(program, record=tmp_path / "run")
    assert "TaskCancelledError" in recorded[0][0]
    Pace.seconds = seconds
    for _ in range(2):
        assert outcome(program, replay=tmp_path / "run") == recorded


def test_a_call_is_cancelled_before_it_begins(tmp_path):
    def program(ray):
        loop = Looping.options(max_concurrency=1).remote()
        refs = [loop.with_a_chain.remote(0), loop.pause.remote("behind"), loop.pause.remote("further behind")]
        time.sleep(Pace.seconds)
        ray.cancel(refs[1])
        return runs.outcomes(ray, refs), ray.get(loop.all.remote())

    Pace.seconds = 0.03
    recorded = outcome(program, record=tmp_path / "run")
    assert recorded[0] == [None, "TaskCancelledError", "further behind"]
    for Pace.seconds in (0, 0.1):
        assert outcome(program, replay=tmp_path / "run") == recorded


def test_those_of_each_concurrency_group_do(tmp_path):
    def program(ray):
        @ray.remote(concurrency_groups={"io": 3})
        class Loop:
            def __init__(self):
                self.log = {"io": [], "": []}

            async def work(self, group, n):
                for k in range(4):
                    await asyncio.sleep(some_time())
                    self.log[group].append((n, k))

            async def all(self):
                return self.log

        loop = Loop.remote()
        ray.get(
            [
                loop.work.options(concurrency_group=group).remote(group or "", n)
                for n in range(5)
                for group in ("io", None)
            ]
        )
        return ray.get(loop.all.remote())

    recorded = outcome(program, record=tmp_path / "run")
    for _ in range(2):
        assert outcome(program, replay=tmp_path / "run") == recorded


class Pace:
    """What a program does otherwise in its replays."""

    seconds = awaits = None


def test_an_actor_that_is_killed_has_gone_on_as_far_as_then(tmp_path):
    def program(ray):
        @ray.remote
        class Log(runs.Log):
            def add(self, line):
                super().add(line)
                if len(self.lines) == 20:
                    (tmp_path / "twenty").touch()

        @ray.remote
        class Loop:
            async def send(self, log, n):
                k = 0
                while True:
                    await asyncio.sleep(some_time())
                    await log.add.remote((n, k))
                    k += 1

        log, loop = Log.remote(), Loop.remote()
        for n in range(3):
            loop.send.remote(log, n)
        while not (tmp_path / "twenty").exists():
            time.sleep(0.001)
        time.sleep(Pace.seconds)
        ray.kill(loop)
        return ray.get(log.all.remote())

    Pace.seconds = 0.1
    recorded = outcome(program, record=tmp_path / "run")
    assert len(recorded) >= 20
    for Pace.seconds in (0, 0.4):
        assert outcome(program, replay=tmp_path / "run") == recorded


def test_calls_that_it_makes_while_others_come_to_it(tmp_path):
    """A call's place in the serial run goes by the last call that had begun: it is the recorded one again."""

    def program(ray):
        @ray.remote
        class Loop:
            async def send(self, log, n):
                for k in range(6):
                    await asyncio.sleep(some_time() / 2)
                    await log.add.remote((n, k))

        log, loop, refs = ray.remote(runs.Log).remote(), Loop.remote(), []
        for n in range(6):
            time.sleep(some_time())
            refs.append(loop.send.remote(log, n))
        ray.get(refs)
        return ray.get(log.all.remote())

    recorded = outcome(program, record=tmp_path / "run")
    for _ in range(3):
        assert outcome(program, replay=tmp_path / "run") == recorded


def awaiting(ray):
    @ray.remote
    class Loop:
        async def work(self, awaits):
            for _ in range(awaits):
                await asyncio.sleep(0.001)

    loop = Loop.remote()
    ray.get([loop.work.remote(Pace.awaits) for _ in range(3)])
    ray.get(loop.work.remote(Pace.awaits))


def test_a_program_whose_coroutines_wait_less_often_is_told(tmp_path):
    Pace.awaits = 3
    outcome(awaiting, record=tmp_path / "run")
    Pace.awaits = 2
    with pytest.raises(
        rayshim.exceptions.ReplayError, match="no longer matches its journal: in the actor's event loop, "
    ):
        outcome(awaiting, replay=tmp_path / "run")
