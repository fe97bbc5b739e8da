"""The environment of a task or an actor whose function is a generator holds until the generator ends."""

import os

import pytest

VARIABLE = "COMPAT_GENERATOR_ENV"
pytestmark = pytest.mark.filterwarnings("ignore:num_returns='dynamic'")


def all_of(ray, made):
    if isinstance(made, ray.ObjectRef):
        made = ray.get(made)
    return [ray.get(ref) for ref in made]


@pytest.mark.parametrize("number", ["streaming", 2, "dynamic"])
def test_variables_hold_in_the_body_of_a_generator(ray, number):
    def read():
        yield os.environ.get("COMPAT_GENERATOR_ENV")
        yield os.environ.get("COMPAT_GENERATOR_ENV")

    @ray.remote
    class Reader:
        def read(self):
            yield from read()

    env = {"env_vars": {VARIABLE: "1"}}
    assert all_of(ray, ray.remote(read).options(runtime_env=env, num_returns=number).remote()) == ["1", "1"]
    actor = Reader.options(runtime_env=env).remote()
    assert all_of(ray, actor.read.options(num_returns=number).remote()) == ["1", "1"]
    assert VARIABLE not in os.environ
    assert all_of(ray, Reader.remote().read.remote()) == [None, None]


def test_an_error_of_a_generator_with_an_environment_shows_the_actor(ray):
    @ray.remote
    class Fails:
        def read(self):
            yield 1
            raise ValueError(os.environ.get("COMPAT_GENERATOR_ENV"))

        def __repr__(self):
            return "Fails(here)"

    first, second = Fails.options(runtime_env={"env_vars": {VARIABLE: "1"}}).remote().read.remote()
    assert ray.get(first) == 1
    with pytest.raises(ValueError, match=r"repr=Fails\(here\)") as caught:
        ray.get(second)
    assert str(caught.value.cause) == "1"
    assert VARIABLE not in os.environ
