"""What `rayshim.util` does on top of get and wait, tried on a stand-in for the runtime."""

import io
import threading

import pytest

from rayshim import api, util
from rayshim.exceptions import ActorDiedError
from rayshim.util import debug
from rayshim.util.check_serialize import FailureTuple


class Ref:
    """A result; ready once `world` says so."""

    def __init__(self, value, world):
        self.value, self.world = value, world


class World:
    """Refs that are ready; None means all."""

    def __init__(self):
        self.ready = None

    def get(self, refs, timeout=None):
        if isinstance(refs, list):
            return [self.get(ref) for ref in refs]
        if isinstance(refs.value, Exception):
            raise refs.value
        return refs.value

    def wait(self, refs, num_returns=1, timeout=None):
        ready = [ref for ref in refs if self.ready is None or ref.value in self.ready][:num_returns]
        return ready, [ref for ref in refs if ref not in ready]


@pytest.fixture
def world(monkeypatch):
    world = World()
    monkeypatch.setattr(api, "get", world.get)
    monkeypatch.setattr(api, "wait", world.wait)
    return world


@pytest.fixture
def pool(world):
    return util.ActorPool(["a", "b"])


@pytest.fixture
def work(world):
    return lambda actor, value: Ref(value, world)


def test_map_keeps_the_order(pool, work):
    assert list(pool.map(work, range(5))) == [0, 1, 2, 3, 4]
    assert sorted(pool.map_unordered(work, range(5))) == [0, 1, 2, 3, 4]


def test_work_waits_for_a_free_actor(pool, work):
    for value in range(3):
        pool.submit(work, value)
    assert not pool.has_free() and pool.pop_idle() is None
    assert [pool.get_next() for _ in range(3)] == [0, 1, 2]
    assert not pool.has_next() and pool.has_free()
    with pytest.raises(StopIteration, match="No more results to get"):
        pool.get_next()
    with pytest.raises(StopIteration, match="No more results to get"):
        pool.get_next_unordered()


def test_timeouts(pool, work, world):
    world.ready = {1}
    pool.submit(work, 0)
    pool.submit(work, 1)
    with pytest.raises(TimeoutError, match="Timed out waiting for result"):
        pool.get_next(timeout=0)
    assert pool.has_next()
    with pytest.raises(TimeoutError, match="has been ignored"):
        pool.get_next(timeout=0, ignore_if_timedout=True)
    assert pool.get_next() == 1


def test_results_as_they_come(pool, work, world):
    world.ready = {1}
    pool.submit(work, 0)
    pool.submit(work, 1)
    assert pool.get_next_unordered() == 1
    with pytest.raises(TimeoutError):
        pool.get_next_unordered(timeout=0)
    with pytest.raises(ValueError, match="not allowed to call get_next.. after get_next_unordered"):
        pool.get_next()
    with pytest.raises(TimeoutError, match="has been ignored"):
        pool.get_next_unordered(timeout=0, ignore_if_timedout=True)
    assert not pool.has_next() and pool.has_free()


def test_an_actor_goes_on_after_an_error_but_not_after_its_death(pool, work):
    for value in (ValueError("bad"), ActorDiedError(), 3, 4):
        pool.submit(work, value)
    with pytest.raises(ValueError, match="bad"):
        pool.get_next()
    with pytest.raises(ActorDiedError):
        pool.get_next()
    assert [pool.get_next(), pool.get_next()] == [3, 4]
    assert pool.pop_idle() is not None and pool.pop_idle() is None


def test_work_with_several_results(pool, world):
    pool.submit(lambda actor, value: [Ref(value, world), Ref(-value, world)], 3)
    assert pool.get_next(timeout=1) == [3, -3]


def test_actors_join_and_leave(pool, work):
    pool.submit(work, 1)
    for known in ("a", "b"):
        with pytest.raises(ValueError, match="Actor already belongs to current ActorPool"):
            pool.push(known)
    pool.push("c")
    assert {pool.pop_idle(), pool.pop_idle()} == {"a", "c"}


def test_map_drops_what_nobody_asked_for(pool, work):
    pool.submit(work, 100)
    assert list(pool.map(work, [1])) == [1]


def test_as_completed(world):
    refs = [Ref(value, world) for value in range(5)]
    assert list(util.as_completed(refs, chunk_size=2)) == [0, 1, 2, 3, 4]
    assert list(util.as_completed(refs, yield_obj_refs=True)) == refs
    with pytest.raises(ValueError, match="`chunk_size` must be >= 1"):
        list(util.as_completed(refs, chunk_size=0))
    with pytest.raises(ValueError, match="instead of `num_returns`"):
        list(util.as_completed(refs, num_returns=1))


def test_map_unordered_limits_what_is_under_way(world):
    class Function:
        started = 0

        def remote(self, item):
            self.started += 1
            return Ref(item, world)

    function = Function()
    results = util.map_unordered(function, range(10), backpressure_size=3, chunk_size=1)
    assert next(results) == 0 and function.started == 3
    assert list(results) == list(range(1, 10))
    assert sorted(util.map_unordered(function, range(4), backpressure_size=None)) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="backpressure_size must be positive"):
        list(util.map_unordered(function, [], backpressure_size=0))


def test_log_once(monkeypatch):
    monkeypatch.setattr(debug, "_seen", set())
    assert [debug.log_once("x"), debug.log_once("x"), debug.log_once("y")] == [True, False, True]
    debug.reset_log_once("x")
    assert debug.log_once("x")
    monkeypatch.setattr(debug, "_disabled", True)
    assert not debug.log_once("z")


def test_the_nodes_address_is_an_ip():
    assert len(util.get_node_ip_address().split(".")) == 4
    assert util.get_node_ip_address("not an address") == "127.0.0.1"


def test_a_name_that_is_not_there_is_said():
    with pytest.raises(AttributeError, match="rayshim does not provide ray.util.nothing. It provides ActorPool"):
        util.nothing
    assert not hasattr(util, "nothing") and "ActorPool" in dir(util)


lock = threading.Lock()


def uses_global():
    return lock


class Holder:
    def __init__(self):
        self.inner = threading.Lock()


def enclosing():
    held = threading.Lock()

    def uses_nonlocal():
        return held

    return uses_nonlocal


@pytest.mark.parametrize(
    "obj, name, path",
    [
        (uses_global, "f", ("f", "lock")),
        (Holder(), None, ("inner",)),
        (enclosing(), "g", ("g", "held")),
        (lock, "l", ("l",)),
    ],
)
def test_what_cannot_be_pickled_is_found(obj, name, path, monkeypatch):
    import sys

    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr(api, "get", None)
    try:
        printed = io.StringIO()
        good, failures = util.inspect_serializability(obj, name=name, print_file=printed)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert not good
    [failure] = failures
    assert isinstance(failure, FailureTuple) and failure.path == path
    text = printed.getvalue()
    assert text.startswith("=") and "Checking Serializability of" in text and "was found to be non-serializable" in text
    assert f"FailTuple({path[-1]} [path={' -> '.join(path)}, obj=" in text


def test_what_can_be_pickled():
    printed = io.StringIO()
    assert util.inspect_serializability(3, print_file=printed) == (True, set())
    assert printed.getvalue().splitlines() == ["=" * 29, "Checking Serializability of 3", "=" * 29]


def test_what_comes_from_rays_own_module_leaves_this_one_in_its_place():
    import importlib.util
    import sys

    if importlib.util.find_spec("ray") is None:
        pytest.skip("real Ray is not installed")
    assert debug.Suspect.__name__ == "Suspect"
    assert sys.modules["rayshim.util.debug"] is debug
