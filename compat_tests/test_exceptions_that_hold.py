"""Exceptions that hold refs, handles and other things, on their way to who gets the result."""

import threading

import numpy as np
import pytest


@pytest.fixture
def counter(ray):
    @ray.remote
    class Counter:
        def hit(self):
            return 7

        def fail_with_itself(self):
            raise ValueError(ray.get_runtime_context().current_actor)

    return Counter.remote()


def failure(ray, raising, *args):
    """The exception that `get` raises of a task which runs `raising`."""
    task = ray.remote(max_retries=0)(raising)
    with pytest.raises(ray.exceptions.RayError) as caught:
        ray.get(task.remote(*args), timeout=60)
    return caught.value


def check_is(ray, error, cls):
    assert isinstance(error, ray.exceptions.RayTaskError) and isinstance(error, cls)
    return error.cause.args[0]


def test_a_ref_in_the_arguments(ray):
    def fail():
        raise ValueError(ray.put(41))

    assert ray.get(check_is(ray, failure(ray, fail), ValueError)) == 41


def test_a_ref_that_the_task_was_given(ray):
    def fail(box):
        raise ValueError(box[0])

    assert ray.get(check_is(ray, failure(ray, fail, [ray.put(43)]), ValueError)) == 43


def test_a_ref_in_an_attribute(ray):
    def fail():
        error = KeyError("x")
        error.ref = ray.put(42)
        raise error

    error = failure(ray, fail)
    check_is(ray, error, KeyError)
    assert ray.get(error.ref) == 42


def test_a_ref_in_a_slot_and_in_a_reduce_of_its_own(ray):
    class Own(Exception):
        def __init__(self, one, two):
            super().__init__(one)
            self.two = two

        def __reduce__(self):
            return Own, (self.args[0], self.two)

    def fail():
        raise Own(1, ray.put(44))

    error = failure(ray, fail)
    assert isinstance(error, ray.exceptions.RayTaskError) and type(error.cause).__name__ == "Own"
    assert ray.get(error.two) == 44


def test_a_ref_of_a_failure_within_a_failure(ray):
    @ray.remote(max_retries=0)
    def inner():
        raise ValueError(ray.put(45))

    def fail():
        ray.get(inner.remote())

    assert ray.get(check_is(ray, failure(ray, fail), ValueError)) == 45


def test_a_ref_in_the_exception_before(ray):
    def fail():
        try:
            raise KeyError(ray.put(5))
        except KeyError as error:
            raise ValueError("outer") from error

    assert check_is(ray, failure(ray, fail), ValueError) == "outer"


def test_a_handle_that_the_task_was_given(ray, counter):
    def fail(counter):
        raise ValueError(counter)

    assert ray.get(check_is(ray, failure(ray, fail, counter), ValueError).hit.remote()) == 7


def test_a_handle_of_an_actor_that_the_task_made(ray):
    @ray.remote
    class Other:
        def hit(self):
            return 8

    def fail():
        raise ValueError(Other.remote())

    assert ray.get(check_is(ray, failure(ray, fail), ValueError).hit.remote()) == 8


def test_a_handle_of_the_actor_that_fails(ray, counter):
    with pytest.raises(ValueError) as caught:
        ray.get(counter.fail_with_itself.remote())
    assert ray.get(check_is(ray, caught.value, ValueError).hit.remote()) == 7


def test_a_function_a_remote_one_and_an_array(ray):
    @ray.remote
    def nine():
        return 9

    def fail(kind):
        raise ValueError({"lambda": lambda: 3, "remote": nine, "array": np.arange(500_000)}[kind])

    assert check_is(ray, failure(ray, fail, "lambda"), ValueError)() == 3
    assert ray.get(check_is(ray, failure(ray, fail, "remote"), ValueError).remote()) == 9
    assert check_is(ray, failure(ray, fail, "array"), ValueError).sum() == 124999750000


def test_what_cannot_be_pickled_is_told_as_text(ray):
    def fail(where):
        error = ValueError(threading.Lock() if where == "argument" else "word")
        if where == "attribute":
            error.lock = threading.Lock()
        raise error

    for where in ("argument", "attribute"):
        error = failure(ray, fail, where)
        assert type(error) is ray.exceptions.RayTaskError and not isinstance(error, ValueError)
        assert type(error.cause) is ray.exceptions.RayError
        assert "isn't serializable" in str(error.cause) and "ValueError" in str(error)


def test_what_cannot_be_unpickled_is_told_as_text(ray):
    class Two(Exception):
        def __init__(self, one, two):
            super().__init__(f"{one} and {two}")

    def fail():
        raise Two("this", "that")

    error = failure(ray, fail)
    assert type(error) is ray.exceptions.UnserializableException
    assert "Two: this and that" in str(error)


def test_an_argument_that_cannot_be_unpickled(ray, counter):
    def no():
        raise RuntimeError("cannot come back")

    class Never:
        def __reduce__(self):
            return no, ()

    def take(value):
        return 1

    error = failure(ray, take, Never())
    assert isinstance(error, ray.exceptions.RaySystemError)
    assert "At least one of the input arguments for this task could not be computed" in str(error)
    assert "ray.exceptions.RaySystemError: System error: cannot come back" in str(error)
    assert ", in no" in str(error) and "pickle.loads" not in str(error)


def test_the_constructor_of_a_class_with_an_argument_that_cannot_be_unpickled(ray):
    def no():
        raise RuntimeError("cannot come back")

    class Never:
        def __reduce__(self):
            return no, ()

    @ray.remote
    class Taking:
        def __init__(self, value):
            pass

        def hit(self):
            return 1

    with pytest.raises(ray.exceptions.ActorDiedError) as caught:
        ray.get(Taking.remote(Never()).hit.remote())
    assert "At least one of the input arguments for this task could not be computed" in str(caught.value)
    assert "Taking.__init__()" in str(caught.value)
