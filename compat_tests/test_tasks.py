import os

import numpy as np
import pytest


def test_a_task_returns_what_its_function_returns(ray):
    @ray.remote
    def add(a, b):
        return a + b

    assert ray.get(add.remote(1, 2)) == 3


def test_arguments_are_passed_as_to_a_function(ray):
    @ray.remote
    def show(a, b=2, *rest, key, other="o", **more):
        return a, b, rest, key, other, more

    assert ray.get(show.remote(1, key="k")) == (1, 2, (), "k", "o", {})
    assert ray.get(show.remote(1, 3, 4, 5, key="k", other="x", z=9)) == (1, 3, (4, 5), "k", "x", {"z": 9})


def test_a_task_without_a_return_gives_none(ray):
    @ray.remote
    def nothing():
        pass

    assert ray.get(nothing.remote()) is None


def test_remote_takes_a_lambda(ray):
    assert ray.get(ray.remote(lambda x: x + 1).remote(1)) == 2


def test_a_result_is_an_argument_of_the_next_task(ray):
    @ray.remote
    def increment(x):
        return x + 1

    ref = increment.remote(0)
    for _ in range(20):
        ref = increment.remote(ref)
    assert ray.get(ref) == 21


def test_parameters_may_have_any_name(ray):
    @ray.remote
    def clash(self, args, kwargs, /, options, name=None, function=None):
        return self, args, kwargs, options, name, function

    assert ray.get(clash.remote(1, 2, 3, options=4, name=5, function=6)) == (1, 2, 3, 4, 5, 6)
    with pytest.raises(TypeError):
        clash.remote(self=1, args=2, kwargs=3, options=4)

    @ray.remote
    def by_keyword(self, args, kwargs):
        return self, args, kwargs

    assert [ray.get(by_keyword.remote(self=i, args=2, kwargs=3)) for i in range(2)] == [(0, 2, 3), (1, 2, 3)]


def test_functions_of_one_name_are_kept_apart(ray):
    def make(factor):
        @ray.remote
        def scale(x):
            return factor * x
        return scale

    scales = [make(factor) for factor in range(5)]
    assert ray.get([scale.remote(10) for scale in scales]) == [0, 10, 20, 30, 40]


def test_a_function_brings_the_array_that_it_closes_over(ray):
    array = np.arange(200_000)

    @ray.remote
    def total():
        return int(array.sum())

    assert ray.get([total.remote(), total.remote()]) == [int(array.sum())] * 2


def test_a_thousand_tasks_give_their_results_in_order(ray):
    @ray.remote
    def square(x):
        return x * x

    assert ray.get([square.remote(i) for i in range(1000)]) == [i * i for i in range(1000)]


def test_a_task_starts_once_its_arguments_are_there(ray, tmp_path):
    @ray.remote
    def produce(path):
        open(path, "w").close()
        return path

    @ray.remote
    def found(path, *_):
        return os.path.exists(path)

    refs = [produce.remote(str(tmp_path / str(i))) for i in range(5)]
    assert ray.get(found.remote(str(tmp_path / "4"), *refs))


def test_tasks_call_tasks_and_get_their_results(ray):
    @ray.remote
    def fibonacci(n):
        if n < 2:
            return n
        return sum(ray.get([fibonacci.remote(n - 1), fibonacci.remote(n - 2)]))

    assert ray.get(fibonacci.remote(5)) == 5


def test_a_task_returns_a_ref_unresolved(ray):
    @ray.remote
    def inner():
        return 7

    @ray.remote
    def outer():
        return inner.remote()

    ref = ray.get(outer.remote())
    assert isinstance(ref, ray.ObjectRef)
    assert ray.get(ref) == 7


def test_a_function_keeps_what_it_closed_over_at_its_first_call(ray):
    factor = 2

    @ray.remote
    def scale(x):
        return factor * x

    assert ray.get(scale.remote(10)) == 20
    factor = 3
    assert ray.get(scale.remote(10)) == 20


def test_a_task_changes_no_variable_of_the_driver(ray):
    seen = []

    @ray.remote
    def see(argument):
        seen.append(1)
        argument.append(1)
        return len(seen), argument

    argument = []
    assert ray.get(see.remote(argument))[1] == [1]
    assert seen == []
    assert argument == []


def test_the_plain_function_stays_within_reach(ray):
    @ray.remote
    def double(x):
        return 2 * x

    assert double._function(3) == 6


def test_a_remote_function_travels_as_an_argument(ray):
    @ray.remote
    def square(x):
        return x * x

    @ray.remote
    def apply(function, x):
        return ray.get(function.remote(x))

    assert ray.get(apply.remote(square, 4)) == 16


@pytest.mark.needs_processes
def test_a_task_runs_in_another_process(ray):
    @ray.remote
    def pid():
        return os.getpid()

    assert ray.get(pid.remote()) != os.getpid()


@pytest.mark.needs_concurrency
def test_tasks_run_side_by_side(ray, gate):
    @ray.remote
    def meet(me, other):
        gate.touch(me)
        gate.wait_for(other)
        return me

    assert ray.get([meet.remote("a", "b"), meet.remote("b", "a")]) == ["a", "b"]


@pytest.mark.needs_concurrency
def test_remote_does_not_wait_for_the_task(ray, gate):
    @ray.remote
    def stay():
        gate.enter()
        return "left"

    ref = stay.remote()
    gate.open()
    assert ray.get(ref) == "left"


def test_a_task_that_may_be_retried_runs_again_after_its_exception(ray, tmp_path):
    @ray.remote(max_retries=2, retry_exceptions=True)
    def third_time_lucky():
        attempt = len(os.listdir(tmp_path))
        (tmp_path / str(attempt)).touch()
        if attempt < 2:
            raise ValueError("not yet")
        return attempt

    assert ray.get(third_time_lucky.remote()) == 2


def test_an_exception_is_not_retried_unasked(ray, tmp_path):
    @ray.remote
    def fail():
        (tmp_path / str(len(os.listdir(tmp_path)))).touch()
        raise ValueError

    with pytest.raises(ValueError):
        ray.get(fail.remote())
    assert len(os.listdir(tmp_path)) == 1
