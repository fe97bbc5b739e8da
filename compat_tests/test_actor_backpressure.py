"""`_actor_generator_backpressure_num_objects`: how many values of all generators of an actor may be unread at once."""

import pytest

from compat_tests.processes import wait_until

pytestmark = [pytest.mark.needs_processes, pytest.mark.needs_concurrency]
MOST = 3


def plain(ray):
    @ray.remote
    class Maker:
        def __init__(self):
            self.made = 0

        def values(self, n):
            for i in range(n):
                self.made += 1
                yield i

        def count(self):
            return self.made

    return Maker.options(max_concurrency=4, _actor_generator_backpressure_num_objects=MOST).remote()


def asynchronous(ray):
    @ray.remote
    class Maker:
        def __init__(self):
            self.made = 0

        async def values(self, n):
            for i in range(n):
                self.made += 1
                yield i

        async def count(self):
            return self.made

    return Maker.options(_actor_generator_backpressure_num_objects=MOST).remote()


@pytest.fixture(params=[plain, asynchronous], ids=["threads", "async"])
def maker(ray, request):
    return request.param(ray)


def test_two_generators_share_the_room(ray, maker):
    one, other = maker.values.remote(10), maker.values.remote(10)
    wait_until(lambda: ray.get(maker.count.remote()) >= MOST, 20.0, "as many as may be unread are made")
    assert [ray.get(maker.count.remote()) for _ in range(20)] == [MOST] * 20
    del one, other


def test_what_is_read_makes_room(ray, maker):
    values = maker.values.remote(10)
    wait_until(lambda: ray.get(maker.count.remote()) == MOST, 20.0, "as many as may be unread are made")
    assert ray.get(next(values)) == 0
    wait_until(lambda: ray.get(maker.count.remote()) == MOST + 1, 20.0, "one more is made")
    assert [ray.get(ref) for ref in values] == list(range(1, 10))


def test_a_generator_nobody_reads_any_more_takes_no_room(ray, maker):
    forgotten = maker.values.remote(MOST)
    wait_until(lambda: ray.get(maker.count.remote()) == MOST, 20.0, "as many as may be unread are made")
    del forgotten
    assert [ray.get(ref) for ref in maker.values.remote(10)] == list(range(10))
