"""After how many calls the process of a task ends: `max_calls` belongs to the function, whatever options a call has."""

import os

import pytest

pytestmark = pytest.mark.needs_processes


def processes(ray, function, calls=3):
    """The number of processes in which `calls` calls run, one after the other."""
    return len({ray.get(function.remote()) for _ in range(calls)})


def pid():
    return os.getpid()


def test_max_calls_also_counts_for_calls_with_other_options(ray):
    once = ray.remote(max_calls=1)(pid)
    assert processes(ray, once.options(num_cpus=0.5)) == 3
    assert processes(ray, once.options(name="named")) == 3
    assert len({ray.get(once._remote(num_cpus=0.5)) for _ in range(3)}) == 3


def test_max_calls_of_a_generator_with_other_options(ray):
    @ray.remote(max_calls=1)
    def once():
        yield os.getpid()

    assert len({ray.get(next(once.options(num_cpus=0.5).remote())) for _ in range(3)}) == 3


def test_a_program_may_set_it_before_the_first_call(ray):
    function = ray.remote(pid)
    function._max_calls = 1
    assert processes(ray, function) == 3
    assert processes(ray, function.options(num_cpus=0.5)) == 3
    kept = ray.remote(max_calls=1)(pid)
    kept._max_calls = 0
    assert processes(ray, kept) < 3


def test_it_is_passed_on_with_the_function(ray):
    @ray.remote
    def call(function):
        return [ray.get(function.remote()) for _ in range(3)]

    once = ray.remote(max_calls=1)(pid)
    set_to_one = ray.remote(pid)
    set_to_one._max_calls = 1
    assert len(set(ray.get(call.remote(once)))) == 3
    assert len(set(ray.get(call.remote(set_to_one)))) == 3


@pytest.mark.parametrize(("given", "of_the_call", "ends"), [
    ({"num_gpus": 1}, {}, True),
    ({"num_gpus": 1}, {"num_gpus": 0}, True),
    ({"num_gpus": 1, "max_calls": 0}, {}, False),
    ({"num_gpus": 1, "max_calls": None}, {}, True),
    ({"num_cpus": 0}, {"num_gpus": 1}, False),
], ids=["with the function", "not with the call", "but max_calls=0", "and max_calls=None", "with the call alone"])
def test_the_process_of_a_function_that_was_given_a_gpu_ends(bare_ray, backend, given, of_the_call, ends):
    backend.init(num_cpus=2, num_gpus=1)
    function = bare_ray.remote(**given)(pid)
    called = function.options(**of_the_call) if of_the_call else function
    assert (processes(bare_ray, called, 4) == 4) == ends
