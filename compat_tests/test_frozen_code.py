"""A remote function or class stays what it was at its first call, also where it is passed on, captured, or called with other options."""

import pytest


@pytest.fixture
def made(ray):
    """(a dict that a remote function and a remote class have captured, the function, the class)"""
    box = {"x": 1}

    @ray.remote
    def function():
        box["x"] += 10
        return box["x"] - 10

    @ray.remote(num_cpus=0)
    class Actor:
        def value(self):
            return box["x"]

    return box, function, Actor


def call(ray):
    @ray.remote
    def call(functions):
        return ray.get(functions[0].remote())

    return call


def create(ray):
    @ray.remote
    def create(classes):
        return ray.get(classes[0].remote().value.remote())

    return create


def plain(value):
    """What the function gave, without what earlier calls in the same worker added."""
    return value % 10


def test_a_called_function_is_passed_on_as_it_was(ray, made):
    box, function, _ = made
    assert plain(ray.get(function.remote())) == 1
    box["x"] = 2
    renamed = function.options(name="renamed")
    passed = [ray.get(call(ray).remote(given)) for given in ([function], [renamed], ray.put([function]))]
    assert [plain(value) for value in [*passed, ray.get(ray.get(ray.put(function)).remote())]] == [1, 1, 1, 1]


def test_a_called_function_with_other_options_is_as_it_was(ray, made):
    box, function, _ = made
    ray.get(function.remote())
    box["x"] = 2
    given = [{"name": "other"}, {"retry_exceptions": True}, {"num_cpus": 0.5}, {"runtime_env": {"env_vars": {"A": "1"}}}]
    assert [plain(ray.get(function.options(**options).remote())) for options in given] == [1, 1, 1, 1]


def test_a_worker_has_a_function_once_whatever_the_options_of_a_call(bare_ray, backend):
    ray = bare_ray
    backend.init(num_cpus=1)
    count = [0]

    @ray.remote
    def counted():
        count[0] += 1
        return count[0]

    assert ray.get(counted.remote()) == 1
    assert ray.get(counted.options(name="other").remote()) == 2
    assert ray.get(counted.options(retry_exceptions=True).remote()) == 3
    assert ray.get(counted.remote()) == 4


def test_a_worker_has_a_function_once_also_if_its_first_call_has_options(bare_ray, backend):
    ray = bare_ray
    backend.init(num_cpus=1)
    count = [0]

    @ray.remote
    def counted():
        count[0] += 1
        return count[0]

    named = counted.options(name="other")
    assert ray.get([named.remote(), counted.remote(), named.remote(), counted.remote()]) == [1, 2, 3, 4]


def test_a_called_function_that_is_captured_later_is_as_it_was(ray, made):
    box, function, Actor = made
    ray.get([function.remote(), Actor.remote().value.remote()])
    box["x"] = 2

    @ray.remote
    def captures():
        return ray.get(function.remote()), ray.get(Actor.remote().value.remote())

    @ray.remote(num_cpus=0)
    class Captures:
        def __init__(self):
            self.actor, self.function = Actor.remote(), function

        def values(self):
            return ray.get([self.function.remote(), self.actor.value.remote()])

    assert [plain(value) for value in ray.get(captures.remote())] == [1, 1]
    assert [plain(value) for value in ray.get(Captures.remote().values.remote())] == [1, 1]


def test_what_was_not_called_is_passed_on_as_it_is(ray, made):
    box, function, Actor = made
    box["x"] = 2
    assert plain(ray.get(call(ray).remote([function]))) == 2
    assert ray.get(create(ray).remote([Actor])) == 2


def test_a_class_of_which_there_is_an_actor_is_passed_on_as_it_was(ray, made):
    box, _, Actor = made
    assert ray.get(Actor.remote().value.remote()) == 1
    box["x"] = 2
    assert ray.get(Actor.options(max_restarts=1).remote().value.remote()) == 1
    assert ray.get(create(ray).remote([Actor])) == 1
    assert ray.get(create(ray).remote([Actor.options(max_restarts=1)])) == 1
    assert Actor.__ray_actor_class__().value() == 2


def test_a_function_that_was_passed_on_can_be_passed_on(ray, made):
    box, function, _ = made
    ray.get(function.remote())
    box["x"] = 2
    call_ = call(ray)

    @ray.remote
    def hand_on(functions):
        return ray.get(call_.remote(functions))

    assert plain(ray.get(hand_on.remote([function]))) == 1


def test_a_function_that_calls_itself_is_as_it_was(ray):
    box = {"x": 1}

    @ray.remote
    def down(n):
        return box["x"] if n == 0 else ray.get(down.remote(n - 1))

    assert ray.get(down.remote(2)) == 1
    box["x"] = 2
    assert ray.get(down.remote(2)) == 1
