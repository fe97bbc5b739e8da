import importlib
import os
import queue

import pytest


@pytest.fixture
def multiprocessing(ray):
    return importlib.import_module(f"{ray.__name__}.util.multiprocessing")


@pytest.fixture
def pool(multiprocessing):
    pool = multiprocessing.Pool(2)
    yield pool
    pool.terminate()


def double(x):
    return 2 * x


def test_apply_calls_a_function_with_its_arguments(pool):
    assert pool.apply(lambda a, b=0: (a, b), (1,), {"b": 2}) == (1, 2)


def test_map_keeps_the_order(pool):
    assert pool.map(double, range(10)) == [2 * i for i in range(10)]
    assert pool.map(double, range(10), chunksize=3) == [2 * i for i in range(10)]
    assert pool.map(double, iter([1, 2])) == [2, 4]
    assert pool.map(double, []) == []


def test_starmap_unpacks(pool):
    assert pool.starmap(lambda a, b: a - b, [(3, 1), (5, 2)]) == [2, 3]
    assert pool.starmap_async(lambda a, b: a - b, [(3, 1), (5, 2)]).get() == [2, 3]


def test_imap_gives_one_by_one(pool):
    results = pool.imap(double, range(5))
    assert next(results) == 0
    assert results.next(timeout=10) == 2
    assert list(results) == [4, 6, 8]
    with pytest.raises(StopIteration):
        next(results)
    assert list(pool.imap(double, iter(range(7)), chunksize=2)) == [2 * i for i in range(7)]
    assert list(pool.imap(double, range(6), chunksize=3)) == [2 * i for i in range(6)]
    assert sorted(pool.imap_unordered(double, range(5))) == [0, 2, 4, 6, 8]
    assert list(pool.imap(double, [])) == []


@pytest.mark.needs_concurrency
def test_imap_unordered_gives_what_is_done_first(pool, gate):
    def enter(name):
        gate.wait_for(name)
        return name

    results = pool.imap_unordered(enter, ["first", "second"])
    gate.touch("second")
    assert next(results) == "second"
    gate.touch("first")
    assert next(results) == "first"


@pytest.mark.needs_concurrency
def test_what_is_late_times_out(pool, multiprocessing, gate):
    result = pool.apply_async(gate.enter)
    assert not result.ready()
    with pytest.raises(multiprocessing.TimeoutError):
        result.get(timeout=0.1)
    with pytest.raises(ValueError, match="not ready"):
        result.successful()
    result.wait(timeout=0.1)
    with pytest.raises(multiprocessing.TimeoutError):
        pool.imap(lambda _: gate.enter(), [0]).next(timeout=0.1)
    gate.open()
    result.get(timeout=10)
    assert result.ready() and result.successful()


def test_an_error_is_raised_by_get(pool):
    def fail(x):
        if x == 1:
            raise ValueError("one")
        return x

    with pytest.raises(ValueError, match="one"):
        pool.apply(fail, (1,))
    with pytest.raises(ValueError, match="one"):
        pool.map(fail, range(3))
    result = pool.map_async(fail, range(3))
    result.wait()
    assert not result.successful()


def test_imap_gives_an_error_in_its_place(pool):
    def fail(x):
        if x == 1:
            raise ValueError("one")
        return x

    results = list(pool.imap(fail, range(3)))
    assert (results[0], results[2]) == (0, 2)
    assert isinstance(results[1], Exception) and isinstance(results[1].underlying, ValueError)


def test_callbacks_get_the_result_or_the_error(pool):
    def fail(x):
        raise ValueError(x)

    seen, failed = queue.Queue(), queue.Queue()
    pool.apply_async(double, (4,), callback=seen.put, error_callback=failed.put).get()
    assert seen.get(timeout=10) == 8
    pool.map_async(double, [1, 2], callback=seen.put, error_callback=failed.put).get()
    assert sorted(seen.get(timeout=10)) == [2, 4]  # Ray gives it the batches as they came
    pool.map_async(fail, [1, 2], callback=seen.put, error_callback=failed.put).wait()
    assert isinstance(failed.get(timeout=10), Exception)
    assert seen.empty() and failed.empty()


@pytest.mark.needs_processes
def test_its_functions_run_in_as_many_processes_as_asked_for(pool):
    pids = set(pool.map(lambda _: os.getpid(), range(20), chunksize=1))
    assert len(pids) == 2 and os.getpid() not in pids


@pytest.mark.needs_processes
def test_processes_are_replaced_after_their_share(multiprocessing):
    pool = multiprocessing.Pool(1, maxtasksperchild=2)
    pids = [pool.apply(os.getpid) for _ in range(6)]
    assert pids[0] == pids[1] and pids[2] == pids[3] and len(set(pids)) == 3
    pool.terminate()


@pytest.mark.needs_processes
def test_a_dead_process_is_an_error(ray, pool):
    with pytest.raises(ray.exceptions.RayError):
        pool.apply(os._exit, (1,))


@pytest.mark.needs_processes
def test_each_process_is_initialised(multiprocessing):
    def initialise(a, b):
        os.environ["POOL_TEST"] = a + b

    pool = multiprocessing.Pool(2, initializer=initialise, initargs=("x", "y"))
    assert pool.map(lambda _: os.environ["POOL_TEST"], range(4)) == ["xy"] * 4
    pool.terminate()


def test_its_actors_take_options(ray, multiprocessing):
    pool = multiprocessing.Pool(2, ray_remote_args={"resources": {"lamp": 1}})
    assigned = pool.apply(lambda: ray.get_runtime_context().get_assigned_resources())
    assert assigned["lamp"] == 1
    pool.terminate()


def test_how_many_processes_there_can_be(multiprocessing):
    with pytest.raises(ValueError, match="only 4 CPUs"):
        multiprocessing.Pool(5)
    with pytest.raises(ValueError, match="must be >0"):
        multiprocessing.Pool(0)


def test_a_closed_pool_does_what_it_has_and_takes_no_more(multiprocessing):
    pool = multiprocessing.Pool(2)
    result = pool.map_async(double, range(4))
    with pytest.raises(ValueError, match="still running"):
        pool.join()
    pool.close()
    for call in (lambda: pool.apply(double, (1,)), lambda: pool.map(double, [1]), lambda: pool.imap(double, [1])):
        with pytest.raises(ValueError, match="not running"):
            call()
    pool.join()
    assert result.get() == [0, 2, 4, 6]


def test_as_a_context_manager_it_ends(multiprocessing):
    with multiprocessing.Pool(2) as pool:
        assert pool.map(double, [1]) == [2]
    with pytest.raises(ValueError, match="not running"):
        pool.apply(double, (1,))


def test_without_a_session_it_starts_one(bare_ray, backend):
    if backend.is_serial:
        return
    pool = importlib.import_module(f"{bare_ray.__name__}.util.multiprocessing").Pool(2)
    assert pool.map(double, [1, 2]) == [2, 4]
    assert bare_ray.cluster_resources()["CPU"] == 2
    pool.terminate()
