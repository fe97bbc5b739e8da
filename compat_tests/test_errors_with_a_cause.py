"""Exceptions whose class has an attribute `cause` of its own, and other classes with ways of their own."""

import pickle

import pytest


class Given(Exception):
    def __init__(self, cause):
        super().__init__("given")
        self.cause = cause


class ReadOnly(Exception):
    @property
    def cause(self):
        return "mine"


class Settable(Exception):
    code = 7

    @property
    def cause(self):
        return self.kept

    @cause.setter
    def cause(self, value):
        self.kept = value


class Slotted(Exception):
    __slots__ = ("cause", "other")

    def __init__(self, cause):
        super().__init__(cause)
        self.cause, self.other = cause, 2


class Method(Exception):
    def cause(self):
        return "mine"


class Reduced(Exception):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __reduce__(self):
        return Reduced, (self.a, self.b)


class NotReduced(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a}-{b}")


def raised(ray, error):
    @ray.remote(max_retries=0)
    def fail():
        raise error

    with pytest.raises(ray.exceptions.RayError) as caught:
        ray.get(fail.remote())
    return caught.value


@pytest.mark.parametrize("error", [Given("why"), Slotted("why"), Settable("why"), Method("why")], ids=lambda error: type(error).__name__)
def test_cause_is_the_users_exception(ray, error):
    found = raised(ray, error)
    assert isinstance(found, type(error)) and isinstance(found, ray.exceptions.RayTaskError)
    assert type(found.cause) is type(error) and found.cause.args == error.args
    assert type(pickle.loads(ray.cloudpickle.dumps(found)).cause) is type(error)


def test_other_attributes_stay(ray):
    assert raised(ray, Settable("why")).code == 7
    assert raised(ray, Slotted("why")).other == 2
    assert raised(ray, Given("why")).cause.cause == "why"


def test_a_cause_that_cannot_be_set_leaves_a_plain_error_of_the_task(ray):
    found = raised(ray, ReadOnly("why"))
    assert type(found) is ray.exceptions.RayTaskError
    assert type(found.cause) is ReadOnly and found.cause.cause == "mine"


def test_a_class_with_arguments_of_its_own_keeps_its_attributes_by_its_reduce(ray):
    found = raised(ray, Reduced(1, 2))
    assert isinstance(found, Reduced) and (found.a, found.b) == (1, 2)


def test_a_class_that_cannot_be_read_again_gives_the_text_alone(ray):
    @ray.remote(max_retries=0)
    def fail():
        raise NotReduced(1, 2)

    with pytest.raises(ray.exceptions.UnserializableException, match="NotReduced: 1-2"):
        ray.get(fail.remote())
