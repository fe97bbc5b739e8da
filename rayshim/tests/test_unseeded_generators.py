"""`init(seed=)` and generators that the program makes without a seed: the same numbers in each run and placement."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.timeout(300)

PROGRAM = """
import json, random, sys
import ray

if "driver" in sys.argv[3:]:
    import numpy, gymnasium

def numpy_generator():
    import numpy as np
    return float(np.random.default_rng().random())

def numpy_state():
    import numpy as np
    return float(np.random.RandomState().rand())

def pythons():
    class Own(random.Random):
        def __init__(self):
            super().__init__()
    return [random.Random().random(), Own().random()]

def environment():
    import gymnasium
    env = gymnasium.make("CartPole-v1")
    return [float(x) for x in env.reset()[0]] + [int(env.action_space.sample())]

MAKERS = (numpy_generator, numpy_state, pythons, environment)

@ray.remote
class Actor:
    def draw(self):
        return [maker() for maker in MAKERS for _ in range(2)]

    def given(self):
        return random.Random(0).random()

@ray.remote
def task():
    return [maker() for maker in MAKERS for _ in range(2)]

ray.init(num_cpus=2, seed=int(sys.argv[1]), log_to_driver=False, logging_level="ERROR", **json.loads(sys.argv[2]))
actors = [Actor.remote() for _ in range(2)]
drawn = [ray.get(actor.draw.remote()) for actor in (*actors, actors[0])]
drawn += ray.get([task.remote() for _ in range(2)])
assert ray.get(actors[0].given.remote()) == random.Random(0).random()
print(json.dumps(drawn))
"""


def drawn(seed, placement, *more, **environment):
    ran = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "rayshim",
            "-c",
            PROGRAM,
            str(seed),
            json.dumps({"placement": placement}),
            *more,
        ],
        capture_output=True,
        text=True,
        timeout=140,
        env={**os.environ, **environment},
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_each_begins_with_numbers_of_its_own_that_depend_on_the_seed_alone():
    first = drawn(1, "isolated")
    numbers = [json.dumps(number) for caller in first for number in caller]
    assert len(set(numbers)) == len(numbers)
    for placement in ("packed", "inline"):
        assert drawn(1, placement) == first
    assert drawn(1, "packed", "driver") == first
    other = [json.dumps(number) for caller in drawn(2, "isolated") for number in caller]
    assert not set(other) & set(numbers)


def test_they_can_be_left_to_the_operating_system():
    assert drawn(1, "packed", REACTOR_SEED_UNSEEDED="0") != drawn(1, "packed", RAYSHIM_SEED_UNSEEDED="0")


def test_names_of_temporary_files_are_not_drawn_from_the_seed(tmp_path):
    program = (
        "import ray, tempfile\nray.init(num_cpus=1, seed=1, log_to_driver=False, logging_level='ERROR')\n"
        "@ray.remote\ndef name():\n  return next(tempfile._get_candidate_names())\nprint(ray.get(name.remote()))"
    )
    names = {
        subprocess.run(
            [sys.executable, "-m", "rayshim", "-c", program], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(names) == 2


def test_without_a_seed_nothing_is_replaced():
    program = (
        "import ray, random, numpy.random.bit_generator as bits\nray.init(num_cpus=1, log_to_driver=False, logging_level='ERROR')\n"
        "@ray.remote\ndef where():\n  return random.Random.seed.__module__, type(bits.randbits).__name__\nprint(ray.get(where.remote()))"
    )
    ran = subprocess.run([sys.executable, "-m", "rayshim", "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "('random', 'method')\n"
