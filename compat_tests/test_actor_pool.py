import pytest


@pytest.fixture
def pool(ray):
    """Two actors that square."""

    @ray.remote
    class Squarer:
        def square(self, x):
            return x * x

        def enter(self, gate, name):
            gate.wait_for(name)
            return name

    return ray.util.ActorPool([Squarer.remote(), Squarer.remote()])


def test_map_keeps_the_order(pool):
    assert list(pool.map(lambda actor, x: actor.square.remote(x), range(6))) == [0, 1, 4, 9, 16, 25]


def test_map_unordered_gives_every_result(pool):
    assert sorted(pool.map_unordered(lambda actor, x: actor.square.remote(x), range(6))) == [0, 1, 4, 9, 16, 25]


def test_submit_and_get_next_go_in_order(pool):
    for x in (1, 2, 3):
        pool.submit(lambda actor, x: actor.square.remote(x), x)
    results = []
    while pool.has_next():
        results.append(pool.get_next())
    assert results == [1, 4, 9]


@pytest.mark.needs_concurrency
def test_get_next_unordered_gives_what_is_done_first(pool, gate):
    pool.submit(lambda actor, name: actor.enter.remote(gate, name), "first")
    pool.submit(lambda actor, name: actor.enter.remote(gate, name), "second")
    gate.touch("second")
    assert pool.get_next_unordered() == "second"
    gate.touch("first")
    assert pool.get_next_unordered() == "first"


@pytest.mark.needs_concurrency
def test_get_next_with_a_timeout_gives_up(pool, gate):
    pool.submit(lambda actor, name: actor.enter.remote(gate, name), "late")
    with pytest.raises(TimeoutError):
        pool.get_next(timeout=0.1)
    gate.touch("late")
    assert pool.get_next() == "late"


def test_get_next_without_work_is_an_error(pool):
    assert not pool.has_next()
    with pytest.raises(StopIteration):
        pool.get_next()


def test_actors_enter_and_leave_the_pool(ray, pool):
    assert pool.has_free()
    first, second = pool.pop_idle(), pool.pop_idle()
    assert not pool.has_free() and pool.pop_idle() is None
    pool.push(first)
    with pytest.raises(ValueError):
        pool.push(first)
    assert list(pool.map(lambda actor, x: actor.square.remote(x), [3])) == [9]
    assert ray.get(second.square.remote(2)) == 4
