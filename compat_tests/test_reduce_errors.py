"""Values and exceptions whose pickling or unpickling raises an error of a class of its own."""

import pickle

import pytest


class Refused(TypeError):
    pass


class Value:
    """Its `__reduce__` raises an instance of a class."""

    def __init__(self, error):
        self.error = error

    def __reduce__(self):
        raise self.error("no pickle")


class TwoArguments(Exception):
    """Cannot be unpickled."""

    def __init__(self, a, b):
        super().__init__(a)


ERRORS = [Refused, ValueError, AttributeError, pickle.PicklingError]


def test_a_result(ray):
    @ray.remote
    def give(error):
        return Value(error)

    for error in ERRORS:
        with pytest.raises(error, match="no pickle") as caught:
            ray.get(give.remote(error))
        assert isinstance(caught.value, ray.exceptions.RayTaskError) and type(caught.value.cause) is error


@pytest.mark.parametrize("give", ["argument", "in a list", "put"])
def test_what_a_program_gives_away(ray, give):
    @ray.remote
    def take(x):
        return x

    giving = {"argument": take.remote, "in a list": lambda value: take.remote([value]), "put": ray.put}[give]
    for error in ERRORS[1:]:
        with pytest.raises(error, match="no pickle"):
            giving(Value(error))
    with pytest.raises(TypeError, match="Could not serialize") as caught:
        giving(Value(Refused))
    assert type(caught.value) is TypeError and type(caught.value.__cause__) is Refused


def test_a_constructor_raises_what_cannot_be_unpickled(ray):
    @ray.remote
    class Broken:
        def __init__(self):
            raise TwoArguments(1, 2)

        def ping(self):
            pass

    broken = Broken.remote()
    for _ in range(2):
        with pytest.raises(ray.exceptions.UnserializableException, match="TwoArguments"):
            ray.get(broken.ping.remote())
