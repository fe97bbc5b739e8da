"""`retry_exceptions` with a list and `UserCodeException`: the list names the classes of its cause."""

import pytest
import ray
from ray.exceptions import UserCodeException


def _wrapped(cause):
    error = UserCodeException("wrapped")
    error.__cause__ = cause
    return error


class Fails:
    """Raises a UserCodeException with the cause `error` (in a tuple: its cause has it), as often as told, then returns."""

    def __init__(self, times, error):
        self.left, self.error = times, error

    def check(self):
        if self.left:
            self.left -= 1
            raise _wrapped(_wrapped(self.error[0]) if isinstance(self.error, tuple) else self.error)


@ray.remote
class Actor:
    def __init__(self, times, error):
        self.fails = Fails(times, error)

    def plain(self):
        self.fails.check()
        return "done"

    def values(self):
        yield "first"
        self.fails.check()
        yield "done"


@ray.remote
class Async:
    def __init__(self, times, error):
        self.fails = Fails(times, error)

    async def plain(self):
        self.fails.check()
        return "done"

    async def values(self):
        yield "first"
        self.fails.check()
        yield "done"


@pytest.fixture(params=[Actor, Async], ids=["plain", "async"])
def made(request):
    return request.param.options(max_task_retries=2)


def test_a_cause_of_a_class_in_the_list_is_retried(backend, made):
    assert ray.get(made.remote(2, KeyError("k")).plain.options(retry_exceptions=[LookupError]).remote()) == "done"


def test_a_generator_goes_on_after_such_a_cause(backend, made):
    method = made.remote(2, KeyError("k")).values.options(num_returns="streaming", retry_exceptions=[KeyError])
    assert [ray.get(ref) for ref in method.remote()] == ["first", "done"]


def test_a_cause_of_another_class_is_not_retried(backend, made):
    with pytest.raises(UserCodeException):
        ray.get(made.remote(1, KeyError("k")).plain.options(retry_exceptions=[ValueError]).remote())


@pytest.mark.parametrize("error", [None, KeyError("k")], ids=["no cause", "a cause"])
def test_its_own_class_in_the_list_does_not_count(backend, made, error):
    with pytest.raises(UserCodeException):
        ray.get(made.remote(1, error).plain.options(retry_exceptions=[UserCodeException]).remote())


@pytest.mark.parametrize("error", [None, KeyError("k")], ids=["no cause", "a cause"])
def test_true_retries_it_whatever_its_cause(backend, made, error):
    assert ray.get(made.remote(2, error).plain.options(retry_exceptions=True).remote()) == "done"


def test_a_cause_of_a_cause_does_not_count(backend, made):
    nested = (KeyError("k"),)
    with pytest.raises(UserCodeException):
        ray.get(made.remote(1, nested).plain.options(retry_exceptions=[KeyError]).remote())


@pytest.mark.parametrize(
    "classes, done", [([LookupError], True), ([ValueError], False), ([UserCodeException], False), (True, True)]
)
def test_tasks_follow_the_same_rule(backend, tmp_path, classes, done):
    seen = tmp_path / "seen"

    @ray.remote(max_retries=1, retry_exceptions=classes)
    def task():
        first = not seen.exists()
        seen.touch()
        Fails(first, KeyError("k")).check()
        return "done"

    if done:
        assert ray.get(task.remote()) == "done"
    else:
        with pytest.raises(UserCodeException):
            ray.get(task.remote())
