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


def test_a_class_that_extends_the_pool_keeps_its_own_work_in_it(ray, pool):
    class Named(ray.util.ActorPool):
        def __init__(self, actors):
            super().__init__(actors)
            self.done = {}
            self.returned = 0

        def submit(self, fn, value):
            actor = self._idle_actors.pop()
            self._future_to_actor[fn(actor, value)] = (self._next_task_index, actor, value)
            self._next_task_index += 1

        def submit_or_queue(self, fn, value):
            if self._idle_actors:
                self.submit(fn, value)
            else:
                self._pending_submits.append((fn, value))

        def take_all(self):
            while self.has_next():
                [ref], _ = ray.wait(list(self._future_to_actor), num_returns=1)
                _, actor, value = self._future_to_actor.pop(ref)
                self._return_actor(actor)
                self.done[value] = ray.get(ref)

    own = Named([pool.pop_idle(), pool.pop_idle()])
    for x in range(5):
        own.submit_or_queue(lambda actor, x: actor.square.remote(x), x)
    own.take_all()
    assert own.done == {0: 0, 1: 1, 2: 4, 3: 9, 4: 16}
    assert len(own._idle_actors) == 2
    assert own.has_free()


def test_a_class_that_extends_the_pool_is_asked_for_each_result(ray, pool):
    class Counting(ray.util.ActorPool):
        def _get_result(self, future, actor):
            results.append(self._index_to_future == {})
            return -super()._get_result(future, actor)

        def _return_actor(self, actor, is_alive=True):
            returned.append(is_alive)
            super()._return_actor(actor, is_alive)

    results, returned = [], []
    own = Counting([pool.pop_idle()])
    assert list(own.map(lambda actor, x: actor.square.remote(x), [2, 3])) == [-4, -9]
    assert results == [True, True]
    assert returned == [True, True]
