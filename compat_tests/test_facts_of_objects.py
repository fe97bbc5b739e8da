"""What programs read of Ray's objects beside their use: names of their types, arguments of errors, defaults, and texts of refusals."""

import os

import pytest


@pytest.fixture
def Actor(ray):
    class Actor:
        def here(self):
            return True

        def numbers(self):
            yield 1

    return ray.remote(Actor)


def test_types_are_found_under_the_modules_that_programs_import(ray, Actor):
    function = ray.remote(lambda: 1)
    actor = Actor.remote()
    for value, name in [
        (function.remote(), "ray.ObjectRef"), (actor, "ray.actor.ActorHandle"),
        (actor.here, "ray.actor.ActorMethod"),
    ]:
        kind = type(value)
        assert f"{kind.__module__}.{kind.__name__}".replace("rayshim", "ray") == name
    assert type(actor.numbers).__module__.replace("rayshim", "ray") == "ray.actor"


def test_a_missing_attribute_of_an_actor_class_is_told_with_the_name_of_its_type(ray, Actor):
    with pytest.raises(AttributeError, match=r"^'ActorClass\(Actor\)' object has no attribute 'missing'"):
        _ = Actor.missing


def test_a_function_without_options_has_their_defaults(ray):
    function = ray.remote(lambda: 1)
    assert (function._num_cpus, function._num_gpus, function._memory, function._max_retries) == (1, None, None, 3)


def test_the_error_of_a_dead_actor_has_no_arguments(ray, Actor):
    actor = Actor.remote()
    ray.get(actor.here.remote())
    ray.kill(actor)
    with pytest.raises(ray.exceptions.ActorDiedError) as caught:
        ray.get(actor.here.remote())
    assert caught.value.args == () and repr(caught.value) == "ActorDiedError()"
    assert caught.value.actor_id == actor._actor_id.hex() and not caught.value.actor_init_failed


def test_arguments_of_errors_are_those_given_by_position(ray):
    errors = ray.exceptions
    assert errors.ActorUnavailableError(error_message="m", actor_id=None).args == ()
    assert errors.ActorUnavailableError("m", None).args == ("m", None)
    assert errors.ActorDiedError(cause=None).args == ()


@pytest.mark.parametrize("amount, error", [(float("inf"), OverflowError), (float("nan"), ValueError)])
@pytest.mark.parametrize("name", ["num_cpus", "num_gpus", "memory"])
def test_an_amount_that_is_no_number_is_refused(ray, Actor, name, amount, error):
    for misuse in (Actor.options, ray.remote(lambda: 1).options):
        with pytest.raises(error, match="cannot convert float"):
            misuse(**{name: amount})


def test_the_number_of_objects_per_yield_is_not_for_one_call(ray, Actor):
    @ray.remote
    def numbers():
        yield 1

    with pytest.raises(ValueError, match="_num_objects_per_yield cannot be overridden per task call"):
        numbers.options(_num_objects_per_yield=2)
    numbers.options(_num_objects_per_yield=1)
    with pytest.raises(ValueError, match="_num_objects_per_yield cannot be overridden per actor method call"):
        Actor.remote().numbers.options(_num_objects_per_yield=1)


def test_the_name_of_an_actor_may_be_bytes(ray, Actor):
    name = f"named {os.getpid()}"
    actor = Actor.options(name=name).remote()
    assert ray.get_actor(name.encode()) == actor
    ray.kill(actor)


@pytest.mark.needs_concurrency
def test_recursive_of_cancel_is_true_or_false_as_python_takes_it(ray, gate):
    @ray.remote(num_cpus=0)
    def inner():
        gate.touch("begun")
        gate.wait_for("open")
        gate.touch("done")

    @ray.remote(num_cpus=0)
    def outer():
        ray.get(inner.remote())

    ref = outer.remote()
    gate.wait_for("begun")
    ray.cancel(ref, recursive=None)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref, timeout=15)
    gate.open()
    gate.wait_for("done", 15)


def test_equal_options_of_different_types_are_not_the_same(ray):
    function = ray.remote(lambda: 1)
    function.options(num_returns=1)
    with pytest.raises(TypeError, match="num_returns"):
        function.options(num_returns=1.0)
