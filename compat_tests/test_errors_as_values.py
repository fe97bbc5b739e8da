"""An exception of Ray's own that is a value itself: `get` raises it, and a call that is given it fails, as if it had been raised."""

import pytest


def failing(ray):
    @ray.remote
    def fail():
        raise KeyError("apple")

    return fail


def caught(ray):
    """The RayTaskError of a task, which is a KeyError, too."""
    with pytest.raises(KeyError) as raised:
        ray.get(failing(ray).remote())
    assert isinstance(raised.value, ray.exceptions.RayTaskError)
    return raised.value


def test_returned(ray):
    @ray.remote
    def careful():
        try:
            return ray.get(failing(ray).remote())
        except Exception as error:
            return error

    ref = careful.remote()
    assert ray.wait([ref], timeout=20)[0] == [ref]
    with pytest.raises(KeyError, match="apple"):
        ray.get(ref)


@pytest.mark.parametrize("kind", ["plain", "async", "threaded"])
def test_returned_by_a_method(ray, kind):
    class Careful:
        def call(self, refs):
            try:
                return ray.get(refs[0])
            except Exception as error:
                return error

    class AsyncCareful:
        async def call(self, refs):
            try:
                return await refs[0]
            except Exception as error:
                return error

    cls = ray.remote(AsyncCareful if kind == "async" else Careful)
    actor = cls.options(max_concurrency=2).remote() if kind == "threaded" else cls.remote()
    with pytest.raises(KeyError, match="apple"):
        ray.get(actor.call.remote([failing(ray).remote()]))


def test_another_exception_is_a_value(ray):
    @ray.remote
    def value():
        return KeyError("pear")

    assert isinstance(ray.get(value.remote()), KeyError)
    assert isinstance(ray.get(ray.put(KeyError("pear"))), KeyError)


@pytest.mark.parametrize("kind", ["GetTimeoutError", "TaskCancelledError", "ActorDiedError"])
def test_an_error_of_ray_that_is_no_task_error(ray, kind):
    error = getattr(ray.exceptions, kind)()

    @ray.remote
    def same(value):
        return value

    @ray.remote
    def first(values):
        return values[0]

    for ref in ray.put(error), first.remote([error]), same.remote(error), same.remote(ray.put(error)):
        with pytest.raises(getattr(ray.exceptions, kind)):
            ray.get(ref)


def test_the_cause_is_a_value(ray):
    cause = caught(ray).cause
    assert isinstance(ray.get(ray.put(cause)), KeyError)


def test_inside_a_list_it_is_a_value(ray):
    found, number = ray.get(ray.put([caught(ray), 1]))
    assert isinstance(found, ray.exceptions.RayTaskError)
    assert isinstance(found, KeyError)
    assert number == 1


def test_put(ray):
    ref = ray.put(caught(ray))
    for _ in range(2):
        with pytest.raises(KeyError, match="apple"):
            ray.get(ref)


def test_get_of_a_list_raises_it(ray):
    with pytest.raises(KeyError, match="apple"):
        ray.get([ray.put(1), ray.put(caught(ray))])


def test_one_of_two_results(ray):
    error = caught(ray)

    @ray.remote(num_returns=2)
    def two(errors):
        return errors[0], 2

    first, second = two.remote([error])
    assert ray.get(second) == 2
    with pytest.raises(KeyError, match="apple"):
        ray.get(first)


def test_one_of_two_yielded(ray):
    error = caught(ray)

    @ray.remote(num_returns=2)
    def two(errors):
        yield errors[0]
        yield 2

    first, second = two.remote([error])
    assert ray.get(second) == 2
    with pytest.raises(KeyError, match="apple"):
        ray.get(first)


def test_streamed(ray):
    error = caught(ray)

    @ray.remote
    def stream(errors):
        yield 1
        yield errors[0]
        yield 3

    refs = list(stream.remote([error]))
    assert len(refs) == 3
    assert ray.get(refs[0]) == 1
    assert ray.get(refs[2]) == 3
    with pytest.raises(KeyError, match="apple"):
        ray.get(refs[1])


@pytest.mark.parametrize("how", ["positional", "keyword", "ref", "after_others"])
def test_argument_of_a_task(ray, how):
    @ray.remote
    def given(first=None, error=None):
        return "began"

    error = caught(ray)
    for _ in range(3):
        ref = {
            "positional": lambda: given.remote(error),
            "keyword": lambda: given.remote(error=error),
            "ref": lambda: given.remote(ray.put(error)),
            "after_others": lambda: given.remote(ray.put(1), error),
        }[how]()
        with pytest.raises(KeyError, match="apple"):
            ray.get(ref)


def test_argument_of_a_method(ray):
    @ray.remote
    class Actor:
        def given(self, value):
            return value

    actor = Actor.remote()
    error = caught(ray)
    for _ in range(3):
        assert ray.get(actor.given.remote(1)) == 1
        with pytest.raises(KeyError, match="apple"):
            ray.get(actor.given.remote(error))
        assert isinstance(ray.get(actor.given.remote([error]))[0], KeyError)


def test_argument_of_a_constructor(ray):
    @ray.remote
    class Actor:
        def __init__(self, value):
            self.value = value

        def ready(self):
            return True

    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(Actor.remote(caught(ray)).ready.remote())


def test_is_not_retried(ray, tmp_path):
    error = caught(ray)

    @ray.remote(max_retries=3, retry_exceptions=True)
    def counting(errors):
        with open(tmp_path / "calls", "a") as file:
            file.write("x")
        return errors[0]

    with pytest.raises(KeyError, match="apple"):
        ray.get(counting.remote([error]))
    assert (tmp_path / "calls").read_text() == "x"


def test_its_text_names_the_first_function(ray):
    with pytest.raises(KeyError) as raised:
        ray.get(ray.put(caught(ray)))
    assert "ray::" in str(raised.value)
    assert "fail" in str(raised.value)
