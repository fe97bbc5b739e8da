"""The store is full of values in use, and the disk is full, too: what is small comes through, what is large is an error, and nothing waits for ever."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

SMALL, LARGE = 50_000, 150_000
FULL = {"local_fs_capacity_threshold": 0, "oom_grace_period_s": 0}  # the disk counts as full from the beginning


@pytest.fixture
def ray(bare_ray, backend):
    backend.init(num_cpus=4, object_store_memory=80 << 20, log_to_driver=False, _system_config=FULL)
    return bare_ray


def fill(ray):
    """Arrays in use that leave no room in the store."""
    arrays = []
    for size in (20 << 20, 1 << 20, 100_000, 20_000, 2000):
        with pytest.raises(ray.exceptions.OutOfDiskError):
            while True:
                ref = ray.put(np.ones(size, np.uint8))
                arrays.append((ref, ray.get(ref)))
    return arrays


class Methods:
    def make(self, size):
        return bytes(size)

    def take(self, data):
        return len(data)

    def put(self, ray, size):
        ray.put(bytes(size))

    def fail(self, size):
        raise ValueError("x" * size)

    def values(self, size):
        yield bytes(10)
        yield bytes(size)
        yield bytes(10)


class Coroutines(Methods):
    async def make(self, size):
        return bytes(size)

    async def fail(self, size):
        raise ValueError("x" * size)


def callers(ray):
    """Things with the remote functions `make`, `take`, `put`, `fail`, `values`: tasks, a plain, a threaded and an async actor."""
    @ray.remote
    def values(size):
        yield from Methods().values(size)

    def task(name):
        return ray.remote(lambda *arguments: getattr(Methods(), name)(*arguments))

    tasks = SimpleNamespace(values=values, **{name: task(name) for name in ("make", "take", "put", "fail")})
    actors = [ray.remote(Methods).remote(), ray.remote(Methods).options(max_concurrency=2).remote(), ray.remote(Coroutines).remote()]
    ray.get([caller.make.remote(1) for caller in [tasks, *actors]])
    return [tasks, *actors]


def test_small_results_arguments_and_errors_come_through(ray):
    them, arrays = callers(ray), fill(ray)
    for caller in them:
        assert ray.get(caller.make.remote(SMALL)) == bytes(SMALL)
        assert ray.get(caller.take.remote(bytes(SMALL))) == SMALL
        with pytest.raises(ValueError, match="x{5000}"):
            ray.get(caller.fail.remote(5000))
    assert len(arrays) > 3


def test_what_is_large_is_an_error_until_there_is_room(ray):
    them, arrays = callers(ray), fill(ray)
    for caller in them:
        with pytest.raises(ray.exceptions.OutOfDiskError) as caught:
            ray.get(caller.make.remote(LARGE))
        assert isinstance(caught.value, ray.exceptions.RayTaskError)
        with pytest.raises(ray.exceptions.OutOfDiskError) as caught:
            ray.get(caller.put.remote(ray, LARGE))
        assert isinstance(caught.value, ray.exceptions.RayTaskError)
        with pytest.raises(ray.exceptions.OutOfDiskError) as caught:
            caller.take.remote(bytes(LARGE))
        assert not isinstance(caught.value, ray.exceptions.RayTaskError)
    del arrays[:], caught
    for caller in them:
        assert ray.get(caller.make.remote(LARGE)) == bytes(LARGE)
        assert ray.get(caller.take.remote(bytes(LARGE))) == LARGE
    assert ray.get(ray.put(np.ones(20 << 20, np.uint8))).all()


def test_a_value_of_a_generator_that_has_no_room_is_an_error(ray):
    them, arrays = callers(ray), fill(ray)
    for caller in them:
        small, failed = caller.values.options(num_returns="streaming").remote(LARGE)  # the generator ends there
        assert ray.get(small) == bytes(10)
        with pytest.raises(ray.exceptions.OutOfDiskError):
            ray.get(failed)
    for caller in them[:3]:
        small, *failed = caller.values.options(num_returns=3).remote(LARGE)
        for ref in failed:
            with pytest.raises(ray.exceptions.OutOfDiskError):
                ray.get(ref)
        assert ray.get(small) == bytes(10)
    arrays.clear()
    del failed, ref
    assert [len(ray.get(ref)) for ref in them[1].values.options(num_returns="streaming").remote(LARGE)] == [10, LARGE, 10]


def test_actors_are_made_and_die_as_ever(ray):
    @ray.remote
    class Mortal:
        def __init__(self, text=""):
            if text:
                raise ValueError(text)

        def ping(self):
            return "pong"

        def leave(self):
            ray.actor.exit_actor()

    actors, arrays = [Mortal.remote() for _ in range(2)], fill(ray)
    late = Mortal.options(name="late").remote()
    assert ray.get([ray.get_actor("late").ping.remote(), *(actor.ping.remote() for actor in actors)]) == ["pong"] * 3
    ray.kill(actors[0])
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actors[0].ping.remote())
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actors[1].leave.remote())
    with pytest.raises(ray.exceptions.ActorDiedError, match="x{5000}"):
        ray.get(Mortal.remote("x" * 5000).ping.remote())
    assert ray.get(late.ping.remote()) == "pong" and arrays


@pytest.mark.needs_own_processes
def test_a_worker_that_dies_is_told_and_an_actor_is_restarted(ray):
    @ray.remote(max_restarts=1)
    class Mortal:
        def pid(self):
            return os.getpid()

        def die(self):
            os._exit(3)

    actor, arrays = Mortal.remote(), fill(ray)
    before = ray.get(actor.pid.remote())
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(actor.die.remote())
    assert ray.get(actor.pid.options(max_task_retries=-1).remote()) != before
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(ray.remote(max_retries=0)(lambda: os._exit(3)).remote())
    assert arrays


@pytest.mark.rayshim_only
def test_an_error_that_has_no_room_is_told_by_the_beginning_of_its_text(ray):
    them, arrays = callers(ray), fill(ray)
    for caller in them:
        with pytest.raises(ray.exceptions.OutOfDiskError, match=r"raised builtins\.ValueError: x{500} \.\.\. \(400000 char") as caught:
            ray.get(caller.fail.remote(400_000))
        assert isinstance(caught.value, ray.exceptions.RayTaskError) and len(str(caught.value)) < 5000
    arrays.clear()
    with pytest.raises(ValueError, match="x{400000}"):
        ray.get(them[1].fail.remote(400_000))


@pytest.mark.rayshim_only
def test_values_that_only_garbage_holds_make_room(ray):
    class Cycle:
        def __init__(self):
            self.me = self
            self.ref = ray.put(np.ones(20 << 20, np.uint8))
            self.array = ray.get(self.ref)

    for _ in range(3):
        Cycle()
    assert ray.get(ray.put(np.ones(40 << 20, np.uint8))).all()


@pytest.mark.rayshim_only
@pytest.mark.needs_processes
def test_a_call_that_waits_for_room_can_be_cancelled_and_gets_what_becomes_free(bare_ray, backend):
    ray = bare_ray
    backend.init(num_cpus=4, object_store_memory=80 << 20, _system_config={**FULL, "oom_grace_period_s": 30})
    make = ray.remote(lambda size: np.ones(size, np.uint8))
    arrays = [ray.get(ray.put(np.ones(20 << 20, np.uint8))) for _ in range(3)]
    waiting, cancelled = make.remote(30 << 20), make.remote(30 << 20)
    assert ray.wait([waiting, cancelled], timeout=0.2)[0] == []
    ray.cancel(cancelled)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(cancelled)
    arrays.clear()
    assert ray.get(waiting).all()


@pytest.mark.rayshim_only
def test_a_program_that_ends_so_leaves_nothing_and_prints_no_pickled_bytes(scripts):
    script = scripts.write("full.py", f"""
        import ray, numpy
        INIT
        @ray.remote
        def fail(size):
            raise ValueError("x" * size)
        arrays = []
        try:
            while True:
                ref = ray.put(numpy.ones({LARGE}, numpy.uint8))
                arrays.append((ref, ray.get(ref)))
        except ray.exceptions.OutOfDiskError:
            print("full")
        for size in (10, 400_000):
            try:
                ray.get(fail.remote(size))
            except ray.exceptions.RayTaskError as error:
                print(type(error.cause).__name__)
    """, object_store_memory=10 << 20, _system_config=FULL)
    driver = scripts.start(script)
    assert driver.finish() == 0, driver.err
    assert driver.out.split()[-3:] == ["full", "ValueError", "OutOfDiskError"]
    assert "Exception ignored" not in driver.out + driver.err
