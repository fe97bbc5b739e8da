"""Packed placement: each actor of a worker has its own random state."""

import functools
import random
import select
import time

import pytest

import rayshim as ray
from rayshim.placement.packed import packed


@pytest.fixture
def one_worker():
    ray.init(placement=packed(1), num_cpus=8, seed=7, log_to_driver=False)
    yield
    ray.shutdown()


@ray.remote
class Drawer:
    def draw(self, kind):
        import numpy as np

        return {
            "random": random.random,
            "gauss": lambda: random.gauss(0, 1),
            "numpy": lambda: float(np.random.random()),
            "numpy gauss": lambda: float(np.random.randn()),
            # As many words as the generator has: its position is as before, all words are others.
            "random, all words": lambda: [random.getrandbits(32) for _ in range(624)][-1],
            "numpy, all words": lambda: int(np.random.randint(2**32, size=624, dtype=np.uint32)[-1]),
        }[kind]()

    def draw_slowly(self):
        drawn = []
        for _ in range(100):
            time.sleep(0.002)
            drawn.append(random.random() + random.gauss(0, 1))
        return drawn

    def draw_in_one_operation(self):
        steps = [functools.partial(select.select, [], [], [], 0.001), functools.partial(random.random)] * 40
        return list(map(functools.partial.__call__, steps))[1::2]

    def draw_around(self, refs):
        before = random.random()
        ray.get(refs)
        return before, random.random()


def drawn_in_turn(kind):
    actors = [Drawer.remote() for _ in range(3)]
    return [ray.get([actor.draw.remote(kind) for actor in actors]) for _ in range(5)]


@pytest.mark.parametrize("kind", ["random", "gauss", "numpy", "numpy gauss", "random, all words", "numpy, all words"])
def test_random_states_are_those_of_isolated_actors(kind):
    import numpy  # noqa: F401  so that the workers are born with it

    outcomes = []
    for placement in ("isolated", packed(1), packed(2), "inline"):
        ray.init(placement=placement, num_cpus=8, seed=3)
        outcomes.append(drawn_in_turn(kind))
        ray.shutdown()
    assert outcomes[1:] == outcomes[:1] * 3
    assert len({value for row in outcomes[0] for value in row}) == 15


def test_random_states_are_kept_apart_by_the_functions_of_the_libraries_where_that_is_asked_for(monkeypatch):
    import numpy  # noqa: F401

    kinds, outcomes = ("random", "gauss", "numpy", "numpy gauss"), []
    for placement, how in (("isolated", "memory"), (packed(1), "functions")):
        monkeypatch.setenv("REACTOR_RANDOM_STATES", how)
        ray.init(placement=placement, num_cpus=8, seed=3)
        outcomes.append([drawn_in_turn(kind) for kind in kinds])
        ray.shutdown()
    assert outcomes[0] == outcomes[1]


def test_an_interrupted_call_goes_on_with_its_own_random_state(one_worker):
    long, other = Drawer.remote(), Drawer.remote()
    going = long.draw_slowly.remote()
    others = []
    while not ray.wait([going], timeout=0)[0]:
        others.append(ray.get(other.draw.remote("gauss")))
    found = ray.get(going)
    ray.shutdown()
    ray.init(placement="isolated", num_cpus=8, seed=7)
    long, other = Drawer.remote(), Drawer.remote()
    assert ray.get(long.draw_slowly.remote()) == found
    assert ray.get([other.draw.remote("gauss") for _ in others]) == others
    assert len(others) > 1


def test_an_operation_without_bytecodes_draws_from_its_own_random_state():
    """On a busy machine, a sleep of 1 ms may take so long that the worker passes over the call (see `packed`): then once more."""

    def drawn(placement):
        ray.init(placement=placement, num_cpus=8, seed=7)
        try:
            return ray.get([Drawer.remote().draw_in_one_operation.remote() for _ in range(6)])
        finally:
            ray.shutdown()

    alone = drawn("isolated")
    assert any(drawn(packed(1)) == alone for _ in range(4))


def test_a_call_that_waited_goes_on_with_its_own_random_state(one_worker):
    first, second, third = (Drawer.remote() for _ in range(3))
    refs = [second.draw.remote("random") for _ in range(3)]
    found = ray.get(first.draw_around.remote(refs))
    again = [ray.get(first.draw.remote("random")), ray.get(third.draw.remote("random"))]
    ray.shutdown()
    ray.init(placement="isolated", num_cpus=8, seed=7)
    alone, _, last = (Drawer.remote() for _ in range(3))
    expected = [ray.get(alone.draw.remote("random")) for _ in range(3)]
    assert list(found) == expected[:2]
    assert again == [expected[2], ray.get(last.draw.remote("random"))]
