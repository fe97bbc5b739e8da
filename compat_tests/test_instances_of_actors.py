"""How an actor's instance is made: by `__new__` without arguments and then by `__init__`, not by a call of the class, so without `__call__` of its metaclass."""

import pytest


class Doubling(type):
    def __call__(cls, number):
        return super().__call__(2 * number)


class Factory(type):
    def __call__(cls, *args):
        return {"not": "an instance"}


class Number:
    def __init__(self, number):
        self.number = number

    def get(self):
        return self.number, getattr(self, "arguments", None)


class Doubled(Number, metaclass=Doubling):
    pass


class Made(Number, metaclass=Factory):
    pass


class WithoutArguments(Number):
    def __new__(cls):
        instance = super().__new__(cls)
        instance.arguments = "none"
        return instance


class WithArguments(Number):
    def __new__(cls, *args, **kwargs):
        instance = super().__new__(cls)
        instance.arguments = args, kwargs
        return instance


class WithCoroutine(WithArguments):
    async def __init__(self, number):
        self.number = number

    async def get(self):
        return self.number, self.arguments


class OnlyNew:
    def __new__(cls):
        instance = super().__new__(cls)
        instance.number = 4
        return instance

    def get(self):
        return self.number


@pytest.mark.parametrize("cls", [Doubled, Made])
def test_a_metaclass_has_no_part_in_it(ray, cls):
    assert ray.get(ray.remote(cls).remote(3).get.remote()) == (3, None)


@pytest.mark.parametrize(
    ("cls", "arguments"), [(WithoutArguments, "none"), (WithArguments, ((), {})), (WithCoroutine, ((), {}))]
)
def test_new_gets_no_arguments(ray, cls, arguments):
    assert ray.get(ray.remote(cls).remote(3).get.remote()) == (3, arguments)


def test_a_class_may_have_new_alone(ray):
    assert ray.get(ray.remote(OnlyNew).remote().get.remote()) == 4


def test_an_init_that_returns_a_value_is_an_error(ray):
    class Returning:
        def __init__(self):
            return 5  # noqa: PLE0101  a mistake, to see its error

        def get(self):
            return 1

    with pytest.raises(ray.exceptions.ActorDiedError, match="TypeError"):
        ray.get(ray.remote(Returning).remote().get.remote())
