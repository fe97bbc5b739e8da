"""Generators with a fixed number of results that end their actor or task after the last one, are cancelled, or are to give no result."""

import sys

import pytest

from compat_tests.dying import death
from compat_tests.processes import wait_until
from compat_tests.test_generators import outcomes


@pytest.fixture
def ends(ray):
    @ray.remote
    class Ends:
        def two(self, how):
            yield 1
            yield 2
            if how == "exit_actor":
                ray.actor.exit_actor()
            sys.exit(3)

        def ping(self):
            return "pong"

    return Ends


@pytest.mark.parametrize("how", ["exit_actor", "sys.exit"])
def test_an_actor_that_ends_after_the_last_value_has_given_them_all(ray, ends, how):
    actor = ends.remote()
    assert ray.get(actor.two.options(num_returns=2).remote(how)) == [1, 2]
    assert isinstance(death(ray, actor.ping.remote), ray.exceptions.ActorDiedError)


@pytest.mark.parametrize("how", ["exit_actor", "sys.exit"])
def test_an_actor_that_ends_before_the_last_value_has_given_none(ray, ends, how):
    actor = ends.remote()
    assert outcomes(ray, actor.two.options(num_returns=3).remote(how)) == [ray.exceptions.ActorDiedError] * 3


def test_a_task_that_exits_after_the_last_value_has_given_them_all(ray):
    @ray.remote(num_returns=2, max_retries=1)
    def two():
        yield 1
        yield 2
        sys.exit(3)

    assert ray.get(two.remote()) == [1, 2]
    assert ray.get(two.remote()) == [1, 2]


def test_a_generator_of_which_no_result_is_wanted_does_not_begin(ray, tmp_path):
    @ray.remote
    class Writer:
        def values(self):
            (tmp_path / "generator").touch()
            yield 1

        def value(self):
            (tmp_path / "plain").touch()
            return 1

        def written(self):
            return sorted(path.name for path in tmp_path.iterdir())

    writer = Writer.remote()
    assert writer.values.options(num_returns=0).remote() is None
    assert writer.value.options(num_returns=0).remote() is None
    assert ray.get(writer.written.remote()) == ["plain"]


@pytest.fixture
def slow(ray, gate):
    """Gives generators, of a task and of an actor, that yield two values and wait at the gate after `before` of them."""

    def values(before):
        yield 1
        if before == 1:
            gate.enter()
        yield 2
        if before == 2:
            gate.enter()

    @ray.remote
    class Slow:
        def values(self, before):
            yield from values(before)

        def ping(self):
            return "pong"

    return ray.remote(values), Slow


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("before", [1, 2])
def test_a_task_is_interrupted_where_its_generator_is(ray, slow, gate, before):
    refs = slow[0].options(num_returns=2).remote(before)
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(refs[0])
    found = outcomes(ray, refs)
    gate.open()  # only now: the interruption may come after cancel() has returned
    assert found[0] == 1
    assert found[1] == 2 if before == 2 else issubclass(found[1], ray.exceptions.TaskCancelledError)


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("before", [1, 2])
@pytest.mark.parametrize("number", [2, "dynamic"])
@pytest.mark.filterwarnings("ignore:num_returns='dynamic'")
def test_a_cancelled_method_has_no_result_however_far_its_generator_was(ray, slow, gate, before, number):
    actor = slow[1].remote()
    refs = actor.values.options(num_returns=number).remote(before)
    refs = refs if number == 2 else [refs]
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(refs[0])
    gate.open()
    assert outcomes(ray, refs) == [ray.exceptions.TaskCancelledError] * len(refs)
    assert ray.get(actor.ping.remote()) == "pong"
