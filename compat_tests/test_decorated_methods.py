"""Methods that are more than a plain `def`: decorated, inherited, static, partial, abstract."""

import abc
import dataclasses
import functools

import pytest


def logged(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        return "logged", function(self, *args, **kwargs)

    return wrapper


def silently_wrapped(function):
    def wrapper(self, *args, **kwargs):
        return "wrapped", function(self, *args, **kwargs)

    return wrapper


class Base:
    def inherited(self):
        return "base"

    def overridden(self):
        return "base"

    @classmethod
    def of_class(cls, x):
        return x

    @staticmethod
    def static(x, y=2):
        return x, y

    @logged
    def decorated(self, x, y=2):
        return x, y


def remote_class(ray):
    @ray.remote
    class Many(Base):
        constant = 3
        partial = functools.partialmethod(Base.decorated, 4)

        def overridden(self):
            return "derived", super().overridden()

        @silently_wrapped
        def opaque(self, x):
            return x

        @logged
        @ray.method(num_returns=2)
        def two(self):
            return 1

        @property
        def size(self):
            return 7

        def _private(self):
            return "private"

        def __mangled(self):
            return "mangled"

        def __call__(self, x):
            return x

    return Many


def test_methods_that_are_decorated_inherited_static_or_partial_are_called(ray):
    many = remote_class(ray).remote()
    calls = [
        many.inherited.remote(), many.overridden.remote(), many.of_class.remote(1), many.static.remote(1), many.decorated.remote(1, y=3),
        many.partial.remote(), many.opaque.remote(5), many._private.remote(), many._Many__mangled.remote(), many.__call__.remote(6),
    ]
    assert ray.get(calls) == [
        "base", ("derived", "base"), 1, (1, 2), ("logged", (1, 3)), ("logged", (4, 2)), ("wrapped", 5), "private", "mangled", 6,
    ]


def test_a_decorated_methods_arguments_are_checked_by_what_it_wraps(ray):
    many = remote_class(ray).remote()
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        many.decorated.remote()
    with pytest.raises(TypeError, match="too many positional arguments"):
        many.decorated.remote(1, 2, 3)
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        many.static.remote()


def test_options_of_the_method_below_a_decorator_hold(ray):
    refs = remote_class(ray).remote().two.remote()
    assert ray.get(refs) == ["logged", 1]


@pytest.mark.parametrize("name", ["size", "constant", "nothing"])
def test_what_is_no_method_is_no_attribute_of_a_handle(ray, name):
    many = remote_class(ray).remote()
    with pytest.raises(AttributeError, match=f"'ActorHandle' object has no attribute '{name}'"):
        getattr(many, name)


def test_the_plain_class_is_there_and_so_are_its_attributes(bare_ray):
    Many = remote_class(bare_ray)
    assert Many.__ray_actor_class__.__name__ == "Many" and issubclass(Many.__ray_actor_class__, Base)
    assert Many.__ray_actor_class__.static(1) == (1, 2)
    assert Many.constant == 3 and Many.static(1) == (1, 2) and Many.of_class(1) == 1
    assert isinstance(Many, bare_ray.actor.ActorClass) and Many.__ray_metadata__.class_name == "remote_class.<locals>.Many"


def test_an_abstract_class_cannot_be_remote_and_its_subclass_can(ray):
    class Abstract(abc.ABC):
        @abc.abstractmethod
        def work(self): ...

    class Concrete(Abstract):
        def work(self):
            return 1

    with pytest.raises(TypeError, match="Can't instantiate abstract class"):
        ray.remote(Abstract).remote()
    assert ray.get(ray.remote(Concrete).remote().work.remote()) == 1


def test_a_dataclass_can_be_an_actor(ray):
    @dataclasses.dataclass
    class Data:
        x: int = 1

        def get(self):
            return self.x

    assert ray.get(ray.remote(Data).remote(x=4).get.remote()) == 4
    with pytest.raises(TypeError):
        ray.remote(Data).remote(y=4)


def test_a_method_in_a_group_that_the_class_has_not_is_refused_when_the_actor_is_made(ray):
    @ray.remote(concurrency_groups={"io": 2})
    class Wrong:
        @ray.method(concurrency_group="nope")
        def work(self):
            pass

    with pytest.raises(AssertionError):
        Wrong.remote()


def test_a_decorated_function_is_a_task(ray):
    def doubled(function):
        @functools.wraps(function)
        def wrapper(*args):
            return 2 * function(*args)

        return wrapper

    @ray.remote
    @doubled
    def work(x):
        return x

    assert ray.get(work.remote(3)) == 6
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        work.remote()
