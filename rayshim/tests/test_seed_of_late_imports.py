"""`init(seed=)` and random generators that are first imported inside an actor or a task: the same numbers in each run and placement."""

import subprocess
import sys
from collections import Counter

import pytest

pytestmark = pytest.mark.timeout(300)

PROGRAM = """
import importlib, json, sys, threading
import ray

def numpy_draws():
    import numpy as np
    return float(np.random.rand())

def torch_draws():
    torch = importlib.import_module("torch")
    return float(torch.rand(1))

def sympy_draws():
    from sympy.core.random import rng
    return rng.random()

@ray.remote
class InMethod:
    def draw(self, which):
        return which()

@ray.remote
class InConstructor:
    def __init__(self):
        self.drawn = [numpy_draws(), sympy_draws()]
    def draw(self):
        return self.drawn

@ray.remote
class InThread:
    def draw(self):
        drawn = []
        thread = threading.Thread(target=lambda: drawn.append(numpy_draws()))
        thread.start(); thread.join()
        return drawn + [numpy_draws()]

@ray.remote
def in_task(which):
    return which()

@ray.remote
def in_nested_task(which):
    return [ray.get(in_task.remote(which)), which()]

ray.init(num_cpus=3, seed=int(sys.argv[1]), log_to_driver=False, **json.loads(sys.argv[2]))
one, two, three = InMethod.remote(), InMethod.remote(), InThread.remote()
drawn = [ray.get(a.draw.remote(which)) for which in (numpy_draws, sympy_draws) for a in (one, two, one)]
drawn += ray.get(three.draw.remote()) + ray.get(InConstructor.remote().draw.remote())
if "runtime_env" in sys.argv[3:]:
    other = InMethod.options(runtime_env={"env_vars": {"OMP_NUM_THREADS": "1", "PYTHONOPTIMIZE": "1"}}).remote()
    drawn += [ray.get(other.draw.remote(numpy_draws))]
if "driver" in sys.argv[3:]:
    import numpy
drawn += [ray.get(in_task.remote(which)) for which in (torch_draws, numpy_draws) for _ in range(2)]
drawn += ray.get(in_nested_task.remote(numpy_draws)) + ray.get(in_nested_task.remote(sympy_draws))
print(json.dumps(drawn))
"""


@pytest.fixture
def drawn(tmp_path):
    """drawn(seed, how, *more): the numbers of a run of PROGRAM."""
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(seed, how='{"placement": "isolated"}', *more):
        found = subprocess.run(
            [sys.executable, "-m", "rayshim", "program.py", str(seed), how, *more],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert found.returncode == 0, found.stderr
        return eval(found.stdout)

    return run


@pytest.mark.parametrize("placement", ["isolated", "packed", "inline"])
def test_a_generator_imported_late_draws_the_same_numbers_in_each_run(drawn, placement):
    how = f'{{"placement": "{placement}"}}'
    found = drawn(3, how)
    assert drawn(3, how) == found
    assert drawn(3) == found  # isolated actors, each of which imports it itself
    assert not set(drawn(4, how)) & set(found)
    # Each actor and task has numbers of its own.
    assert max(Counter(found).values()) == 1


@pytest.mark.parametrize("more", ["runtime_env", "driver"])
def test_nor_does_it_matter_who_imports_it_first(drawn, more):
    found = drawn(3, '{"placement": "isolated"}', more)
    assert drawn(3, '{"placement": "isolated"}', more) == found
    if more == "driver":
        assert found == drawn(3)


def test_the_driver_draws_from_its_own_state(tmp_path):
    """In inline placement the driver's process is seeded for its actors."""
    (tmp_path / "program.py").write_text(
        "import ray\nray.init(placement='inline', seed=1)\n@ray.remote\ndef f():\n    import numpy; return float(numpy.random.rand())\n"
        "a = ray.get(f.remote())\nimport numpy\nprint([a, float(numpy.random.rand())])"
    )
    runs = [
        eval(
            subprocess.run(
                [sys.executable, "-m", "rayshim", "program.py"], cwd=tmp_path, capture_output=True, check=True
            ).stdout
        )
        for _ in range(2)
    ]
    assert runs[0][0] == runs[1][0]
    assert runs[0][1] != runs[1][1]


def test_children_that_an_actor_forks_do_not_draw_its_numbers(tmp_path):
    (tmp_path / "program.py").write_text(
        """
import multiprocessing, ray
def draw(queue):
    import numpy.random
    queue.put(float(numpy.random.rand()))
@ray.remote
class A:
    def draw(self):
        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        for _ in range(2):
            child = context.Process(target=draw, args=(queue,))
            child.start()
            child.join()
        draw(queue)
        return [queue.get() for _ in range(3)]
ray.init(seed=1)
print(ray.get(A.remote().draw.remote()))
"""
    )
    found = eval(
        subprocess.run(
            [sys.executable, "-m", "rayshim", "program.py"], cwd=tmp_path, capture_output=True, check=True
        ).stdout
    )
    assert len(set(found)) == 3


DRAWS = """
import random
import numpy
import ray
print(random.random(), numpy.random.rand(), numpy.random.default_rng().random())
ray.init(num_cpus=1, logging_level="ERROR")
import torch
print(torch.rand(1).item(), random.random())
"""


def test_the_option_seed_seeds_the_driver_too(tmp_path):
    program = tmp_path / "draws.py"
    program.write_text(DRAWS)

    def drawn(*options):
        command = [sys.executable, "-m", "rayshim", *options, str(program)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    one, again, other, none = drawn("--seed", "1"), drawn("--seed", "1"), drawn("--seed", "2"), drawn()
    assert one == again
    assert len({*one, *other, *none}) == 15
