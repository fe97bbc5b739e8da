"""`retry_exceptions` with a list and `UserCodeException`: the list names the classes of its cause."""

import pytest


def _wrapped(kind, cause):
    error = kind("wrapped")
    error.__cause__ = cause
    return error


class Fails:
    """Raises a UserCodeException (`kind`) with the cause `error` (in a tuple: its cause has it), as often as told, then returns."""

    def __init__(self, times, kind, error):
        self.left, self.kind, self.error = times, kind, error

    def check(self):
        if self.left:
            self.left -= 1
            nested = isinstance(self.error, tuple)
            raise _wrapped(self.kind, _wrapped(self.kind, self.error[0]) if nested else self.error)


class Actor:
    def __init__(self, *given):
        self.fails = Fails(*given)

    def plain(self):
        self.fails.check()
        return "done"

    def values(self):
        yield "first"
        self.fails.check()
        yield "done"


class Async:
    def __init__(self, *given):
        self.fails = Fails(*given)

    async def plain(self):
        self.fails.check()
        return "done"

    async def values(self):
        yield "first"
        self.fails.check()
        yield "done"


@pytest.fixture(params=[Actor, Async], ids=["plain", "async"])
def make(request, ray):
    actor = ray.remote(max_task_retries=2)(request.param)
    return lambda times, error: actor.remote(times, ray.exceptions.UserCodeException, error)


def test_a_cause_of_a_class_in_the_list_is_retried(ray, make):
    assert ray.get(make(2, KeyError("k")).plain.options(retry_exceptions=[LookupError]).remote()) == "done"


def test_a_generator_goes_on_after_such_a_cause(ray, make):
    method = make(2, KeyError("k")).values.options(num_returns="streaming", retry_exceptions=[KeyError])
    assert [ray.get(ref) for ref in method.remote()] == ["first", "done"]


def test_a_cause_of_another_class_is_not_retried(ray, make):
    with pytest.raises(ray.exceptions.UserCodeException):
        ray.get(make(1, KeyError("k")).plain.options(retry_exceptions=[ValueError]).remote())


@pytest.mark.parametrize("error", [None, KeyError("k")], ids=["no cause", "a cause"])
def test_its_own_class_in_the_list_does_not_count(ray, make, error):
    with pytest.raises(ray.exceptions.UserCodeException):
        ray.get(make(1, error).plain.options(retry_exceptions=[ray.exceptions.UserCodeException]).remote())


@pytest.mark.parametrize("error", [None, KeyError("k")], ids=["no cause", "a cause"])
def test_true_retries_it_whatever_its_cause(ray, make, error):
    assert ray.get(make(2, error).plain.options(retry_exceptions=True).remote()) == "done"


def test_a_cause_of_a_cause_does_not_count(ray, make):
    nested = (KeyError("k"),)
    with pytest.raises(ray.exceptions.UserCodeException):
        ray.get(make(1, nested).plain.options(retry_exceptions=[KeyError]).remote())


@pytest.mark.parametrize(
    "classes, done", [([LookupError], True), ([ValueError], False), ([], False), (True, True)]
)
def test_tasks_follow_the_same_rule(ray, tmp_path, classes, done):
    seen, kind = tmp_path / "seen", ray.exceptions.UserCodeException

    @ray.remote(max_retries=1, retry_exceptions=classes)
    def task():
        first = not seen.exists()
        seen.touch()
        Fails(first, kind, KeyError("k")).check()
        return "done"

    if done:
        assert ray.get(task.remote()) == "done"
    else:
        with pytest.raises(ray.exceptions.UserCodeException):
            ray.get(task.remote())
