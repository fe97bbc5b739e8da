"""Options with a value that Ray refuses: the error, and whether it comes with the decorator or `options`, or only with the call."""

import pytest

TOO_LARGE_FOR_LONG = [2**63, 2**64]


class Actor:
    def ping(self):
        return "pong"


def function():
    return 1


def given_both_ways(ray, target, options):
    """Two functions that each give `target` with these options: by the decorator, and by `options`."""
    return [lambda: ray.remote(**options)(target), lambda: ray.remote(target).options(**options)]


def refused_at_call(ray, target, error, text, **options):
    for given in given_both_ways(ray, target, options):
        made = given()
        for _ in range(2):  # not only the first call
            with pytest.raises(error, match=text):
                made.remote()


def refused_at_once(ray, target, error, text, **options):
    for given in given_both_ways(ray, target, options):
        with pytest.raises(error, match=text or None):
            given()


@pytest.mark.parametrize(
    ["option", "kind"], [("max_retries", "int"), ("num_returns", "int")],
)
def test_a_number_of_a_task_that_is_too_large(ray, option, kind):
    refused_at_call(ray, function, OverflowError, f"value too large to convert to {kind}", **{option: 2**31})
    for number in TOO_LARGE_FOR_LONG:
        refused_at_call(ray, function, OverflowError, "int too large to convert to C long", **{option: number})


@pytest.mark.parametrize(
    ["option", "kind"], [("max_pending_calls", "int32_t"), ("max_concurrency", "int32_t")],
)
def test_a_number_of_an_actor_that_is_too_large(ray, option, kind):
    refused_at_call(ray, Actor, OverflowError, f"value too large to convert to {kind}", **{option: 2**31})
    for number in TOO_LARGE_FOR_LONG:
        refused_at_call(ray, Actor, OverflowError, "int too large to convert to C long", **{option: number})


def test_the_retries_of_an_actor_are_refused_with_its_first_call(ray):
    actor = ray.remote(Actor).options(max_task_retries=2**31).remote()
    with pytest.raises(OverflowError, match="value too large to convert to int"):
        actor.ping.remote()


def test_more_retries_of_an_actor_are_refused_when_it_is_made(ray):
    refused_at_call(ray, Actor, OverflowError, "int too large to convert to C long", max_task_retries=2**64)


def test_none_is_no_number(ray):
    refused_at_call(ray, function, TypeError, "an integer is required", max_retries=None)
    refused_at_call(ray, Actor, TypeError, "an integer is required", max_task_retries=None)
    refused_at_call(ray, Actor, TypeError, "an integer is required", max_pending_calls=None)


def test_none_where_it_stands_for_the_default(ray):
    assert ray.get(ray.remote(num_returns=None)(function).remote()) == 1
    actor = ray.remote(Actor).options(max_concurrency=None).remote()
    assert ray.get(actor.ping.remote()) == "pong"


def test_max_restarts(ray):
    with pytest.raises(TypeError, match="'<' not supported between instances of 'int' and 'NoneType'"):
        ray.remote(max_restarts=None)(Actor)
    with pytest.raises(TypeError, match="'>' not supported between instances of 'NoneType' and 'int'"):
        ray.remote(Actor).options(max_restarts=None).remote()
    with pytest.raises(OverflowError, match="int too large to convert to C long"):
        ray.remote(Actor).options(max_restarts=2**63).remote()
    for actor in [ray.remote(max_restarts=2**64)(Actor).remote(), ray.remote(Actor).options(max_restarts=2**31).remote()]:
        assert ray.get(actor.ping.remote()) == "pong"


@pytest.mark.parametrize("number", [1.5, "x"])
@pytest.mark.parametrize("option", ["max_retries", "max_calls"])
def test_what_is_no_integer_is_refused_at_once(ray, option, number):
    refused_at_once(ray, function, TypeError, f"The type of keyword '{option}' must be", **{option: number})


def test_text_as_num_returns(ray):
    refused_at_once(ray, function, TypeError, "'>=' not supported between instances of 'str' and 'int'", num_returns="x")


@pytest.mark.parametrize("target", [function, Actor])
class TestResources:
    @pytest.mark.parametrize("name", [1, b"x"])
    def test_a_name_that_is_no_text(self, ray, target, name):
        refused_at_call(ray, target, AttributeError, "object has no attribute 'encode'", resources={name: 1})

    @pytest.mark.parametrize("name", [1, "", b"x"])
    def test_a_name_of_which_nothing_is_asked(self, ray, target, name):
        for given in given_both_ways(ray, target, {"resources": {name: 0}}):
            made = given().remote()
            assert ray.get(made.ping.remote() if target is Actor else made) in (1, "pong")

    @pytest.mark.parametrize(["amount", "error"], [(None, TypeError), ("1", TypeError), (-1, ValueError), (float("nan"), ValueError)])
    def test_an_amount(self, ray, target, amount, error):
        refused_at_once(ray, target, error, "", resources={"a": amount})

    def test_names_of_other_options(self, ray, target):
        refused_at_once(ray, target, ValueError, "num_cpus", resources={"CPU": 1})
        refused_at_call(ray, target, ValueError, "must not contain the key", resources={"memory": 1})


@pytest.mark.parametrize("target", [function, Actor])
def test_a_scheduling_strategy_that_is_none(ray, target):
    refused_at_call(ray, target, ValueError, "Invalid scheduling_strategy value x", scheduling_strategy="x")
    refused_at_once(ray, target, TypeError, "The type of keyword 'scheduling_strategy'", scheduling_strategy=1)


@pytest.mark.parametrize("target", [function, Actor])
def test_labels(ray, target):
    refused_at_call(ray, target, ValueError, "Label value must be string", _labels={"a": 1})
    refused_at_once(ray, target, TypeError, "", label_selector={1: "a"})
    refused_at_once(ray, target, TypeError, "", label_selector={"a": 1})


@pytest.mark.parametrize("target", [function, Actor])
def test_a_field_of_the_environment_that_is_no_text(ray, target):
    refused_at_once(ray, target, TypeError, "keywords must be strings", runtime_env={1: 2})


def test_empty_names(ray):
    refused_at_call(ray, Actor, ValueError, "Actor name cannot be an empty string", name="")
    refused_at_call(ray, Actor, ValueError, '"" is not a valid namespace', namespace="")
    refused_at_once(ray, Actor, ValueError, "The actor name must be specified", get_if_exists=True)


@pytest.mark.parametrize(
    ["groups", "error", "text"],
    [
        ({"a": -1}, OverflowError, "can't convert negative value to uint32_t"),
        ({"a": "x"}, TypeError, "an integer is required"),
        ({"a": None}, TypeError, "an integer is required"),
        ({1: 1}, AttributeError, "object has no attribute 'encode'"),
    ],
)
def test_concurrency_groups(ray, groups, error, text):
    made = ray.remote(concurrency_groups=groups)(Actor)
    for _ in range(2):
        with pytest.raises(error, match=text):
            made.remote()
