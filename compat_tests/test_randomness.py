import random

import numpy as np
import pytest


@pytest.fixture
def drawer():
    """A class whose instances draw from each of the usual generators."""

    class Drawer:
        def draw(self):
            import random

            import numpy as np
            return random.random(), float(np.random.random())

    return Drawer


def test_workers_draw_different_numbers(ray, drawer):
    actors = [ray.remote(drawer).remote() for _ in range(3)]
    draws = [drawer().draw(), *ray.get([actor.draw.remote() for actor in actors])]
    for generator in range(2):
        assert len({draw[generator] for draw in draws}) == 4


def test_a_seed_set_in_an_actor_stays_in_it(ray):
    @ray.remote
    class Seeded:
        def __init__(self, seed):
            import random
            random.seed(seed)

        def draw(self):
            import random
            return random.random()

    actors = [Seeded.remote(seed) for seed in (1, 1, 2)]
    first, same, other = ([ray.get(actor.draw.remote()) for _ in range(3)] for actor in actors)
    assert first == same
    assert first != other


def test_a_seed_set_in_the_driver_gives_its_numbers_whoever_else_draws(ray, drawer):
    @ray.remote
    class Gaussian:
        def __init__(self):
            import random

            random.seed(3)

        def draw(self):
            import random

            return random.gauss(0, 1)

    @ray.remote
    def seeded():
        import numpy as np

        np.random.seed(1)
        return drawer().draw()

    def draws(ask):
        random.seed(1)
        np.random.seed(1)
        gaussian = Gaussian.remote()  # two come of each second draw
        drawn = []
        for _ in range(3):
            drawn += [random.random(), random.gauss(0, 1), float(np.random.random())]
            if ask:
                ray.get([actor.draw.remote(), gaussian.draw.remote(), seeded.remote()])
        return drawn

    actor = ray.remote(drawer).remote()
    assert draws(ask=True) == draws(ask=False)


@pytest.mark.rayshim_only
def test_the_same_seed_gives_the_same_draws(bare_ray, backend, drawer):
    def draws(seed):
        backend.init(num_cpus=2, seed=seed)
        actors = [bare_ray.remote(drawer).remote() for _ in range(2)]
        drawn = bare_ray.get([actor.draw.remote() for actor in actors] + [actors[0].draw.remote()])
        bare_ray.shutdown()
        return drawn

    assert draws(5) == draws(5)
    assert draws(5) != draws(6)
    assert len(set(draws(5))) == 3


@pytest.mark.rayshim_only
def test_with_a_seed_tasks_and_what_they_make_draw_the_same_in_every_run_and_placement(bare_ray, backend, drawer):
    def draws(**how):
        bare_ray.init(**{**backend.choice, "num_cpus": 4, "seed": 5, **how})
        actor = bare_ray.remote(drawer)

        @bare_ray.remote
        def task(depth):
            made = actor.remote()
            below = bare_ray.get([task.remote(depth - 1) for _ in range(2)]) if depth else []
            return drawer().draw(), bare_ray.get(made.draw.remote()), below

        class Maker:
            def make(self):
                return bare_ray.get(actor.remote().draw.remote()), bare_ray.get(task.remote(0))

        drawn = bare_ray.get([task.remote(1), task.remote(1), bare_ray.remote(Maker).remote().make.remote()])
        bare_ray.shutdown()
        return drawn

    first = draws()
    assert first == draws() == draws(placement="inline")
    assert first[0] != first[1]
