"""More objects than the store holds: those that nobody reads go to the disk, and are there when they are read."""

import os
import signal

import numpy as np
import pytest

from compat_tests.processes import wait_until

SIZE = 20 << 20  # six of them fit into the store of the suite's clusters
COUNT = 16


def value(i, size=SIZE):
    array = np.full(size, i, np.uint8)
    array[::4096] = np.arange(len(array[::4096])) % 251
    return array


def put_many(ray, count=COUNT):
    return [ray.put(value(i)) for i in range(count)]


def test_more_than_the_store_holds_is_read_back(ray):
    refs = put_many(ray)
    for i in [*range(COUNT), *reversed(range(COUNT))]:
        assert np.array_equal(ray.get(refs[i]), value(i))


def test_more_than_the_store_holds_can_be_had_at_once(ray):
    arrays = ray.get(put_many(ray))
    assert all(np.array_equal(array, value(i)) for i, array in enumerate(arrays))


def test_arrays_in_use_stay_as_they_are_while_others_are_moved(ray):
    held = ray.get([ray.put(value(100 + i)) for i in range(5)])
    refs = put_many(ray)
    again = ray.get(refs[0])
    more = put_many(ray)
    assert all(np.array_equal(array, value(100 + i)) for i, array in enumerate(held))
    assert np.array_equal(again, value(0)) and np.array_equal(ray.get(more[-1]), value(COUNT - 1))


def test_an_array_from_the_disk_outlives_its_ref_and_cannot_be_written_to(ray):
    refs = put_many(ray)
    array = ray.get(refs[0])
    del refs
    put_many(ray)
    assert np.array_equal(array, value(0))
    with pytest.raises(ValueError):
        array[0] = 1


def test_an_object_may_be_larger_than_the_store(ray):
    assert np.array_equal(ray.get(ray.put(value(3, 200 << 20))), value(3, 200 << 20))


def test_results_and_arguments_of_tasks_go_to_the_disk_too(ray):
    @ray.remote
    def make(i):
        return value(i)

    @ray.remote
    def same(array, i):
        return np.array_equal(array, value(i))

    made = [make.remote(i) for i in range(COUNT)]
    assert all(ray.get([same.remote(ref, i) for i, ref in enumerate(made)]))
    assert all(ray.get([same.remote(value(i), i) for i in range(COUNT)]))


def test_an_actor_keeps_more_than_the_store_holds(ray):
    @ray.remote
    class Buffer:
        def __init__(self):
            self.refs = []

        def add(self, ref):
            self.refs += ref

        def total(self, i):
            return int(ray.get(self.refs[i]).sum())

    buffer = Buffer.remote()
    for i in range(COUNT):
        ray.get(buffer.add.remote([ray.put(value(i))]))
    assert ray.get([buffer.total.remote(i) for i in range(COUNT)]) == [int(value(i).sum()) for i in range(COUNT)]


def test_what_a_moved_value_refers_to_stays_and_goes_with_it(ray):
    inner = [ray.put(f"inner {i}") for i in range(COUNT)]
    outer = [ray.put({"inner": ref, "array": value(i)}) for i, ref in enumerate(inner)]
    del inner
    for i, ref in enumerate(outer):
        found = ray.get(ref)
        assert ray.get(found["inner"]) == f"inner {i}" and np.array_equal(found["array"], value(i))


@pytest.mark.parametrize("make", [
    lambda i: bytes([i]) * SIZE,
    lambda i: [f"{i}-{k}" for k in range(300_000)],
    lambda i: {"a": (i, "x" * SIZE), "b": {i}},
], ids=["bytes", "strings", "pickled"])
def test_values_of_any_type_come_back(ray, make):
    refs = [ray.put(make(i)) for i in range(COUNT)]
    assert all(ray.get(ref) == make(i) for i, ref in enumerate(refs))


def test_room_on_the_disk_is_used_again(ray):
    kept = put_many(ray, 8)
    for round_number in range(6):
        refs = put_many(ray, 8)
        assert np.array_equal(ray.get(refs[round_number]), value(round_number))
    assert np.array_equal(ray.get(kept[0]), value(0))


@pytest.mark.rayshim_only
@pytest.mark.needs_processes
@pytest.mark.parametrize("threshold, told", [(1, True), (0, False)])
def test_the_user_is_told_unless_they_do_not_want_to_be(scripts, threshold, told):
    script = scripts.write("spills.py", """
        import ray, numpy
        INIT
        refs = [ray.put(numpy.ones(16 << 20, numpy.uint8)) for _ in range(12)]
        ray.get(ray.remote(lambda: 0).remote())
    """, object_store_memory=64 << 20, _system_config={"verbose_spill_logs": threshold})
    driver = scripts.start(script)
    assert driver.finish() == 0, driver.err
    assert ("Spilled " in driver.out + driver.err) == told


@pytest.mark.rayshim_only
@pytest.mark.parametrize("end", ["kill", "exit"])
def test_nothing_is_left_on_the_disk(scripts, tmp_path, end):
    directory = tmp_path / "spilled"
    script = scripts.write("spills.py", """
        import ray, numpy, sys
        INIT
        refs = [ray.put(numpy.ones(16 << 20, numpy.uint8)) for _ in range(12)]
        arrays = ray.get(refs)
        print("full", flush=True)
        sys.stdin.read()
    """, object_store_memory=64 << 20, object_spilling_directory=str(directory))
    reading, writing = os.pipe()
    driver = scripts.start(script, stdin=reading)
    os.close(reading)
    driver.wait_for("full")
    assert os.listdir(directory) == []
    if end == "kill":
        driver.process.kill()
    os.close(writing)
    driver.finish()
    wait_until(lambda: os.listdir(directory) == [], 5.0, "the directory is empty")


@pytest.mark.rayshim_only
def test_a_full_disk_is_an_error_with_both_facts(ray):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    refs = put_many(ray, 6)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with pytest.raises(ray.exceptions.OutOfDiskError, match=r"\d+ bytes[\s\S]*disk"):
            put_many(ray, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert all(np.array_equal(ray.get(ref), value(i)) for i, ref in enumerate(refs))
    assert np.array_equal(ray.get(ray.put(value(9))), value(9))


@pytest.mark.needs_processes
def test_workers_that_are_killed_while_values_are_moved_lose_nothing_of_others(ray):
    """Many processes make, move, read and free values at once, and some of them are killed meanwhile."""
    size = 3 << 20

    @ray.remote(max_restarts=-1, max_task_retries=-1)
    class Churner:
        def pid(self):
            return os.getpid()

        def churn(self, shared, rounds):
            mine = []
            for i in range(rounds):
                mine.append(ray.put(value(i % 200, size)))
                k = (7 * i) % len(mine)
                if not np.array_equal(ray.get(mine[k]), value(k % 200, size)):
                    return f"own value {k}"
                k = i % len(shared)
                if not np.array_equal(ray.get(shared[k]), value(k, size)):
                    return f"shared value {k}"
            return "done"

    shared = [ray.put(value(i, size)) for i in range(40)]
    churners = [Churner.remote() for _ in range(3)]
    pids = ray.get([c.pid.remote() for c in churners])
    for round_number in range(4):
        results = [c.churn.remote(shared, 26) for c in churners]
        victim = pids[round_number % 3]
        os.kill(victim, signal.SIGKILL)
        assert set(ray.get(results)) == {"done"}
        pids = ray.get([c.pid.remote() for c in churners])
    assert all(np.array_equal(ray.get(ref), value(i, size)) for i, ref in enumerate(shared))
