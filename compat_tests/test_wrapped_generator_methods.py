"""Generator methods under decorators made with `functools.wraps`: for an actor's methods, the function below all wrappers counts."""

import functools

import pytest


def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def silently_traced(function):
    def wrapper(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    return wrapper


def gathered(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return list(function(*args, **kwargs))

    return wrapper


def methods(ray):
    class Methods:
        def __init__(self):
            self.tries = 0

        @traced
        def once(self, n):
            for i in range(n):
                yield i

        @traced
        @traced
        def twice(self, n):
            for i in range(n):
                yield i

        @staticmethod
        @traced
        def static(n):
            for i in range(n):
                yield i

        @classmethod
        @traced
        def of_class(cls, n):
            for i in range(n):
                yield i

        @traced
        @ray.method(retry_exceptions=True, max_task_retries=2)
        def retried(self, n):
            self.tries += 1
            for i in range(n):
                if self.tries == 1 and i == 1:
                    raise ValueError("once")
                yield i

        @traced
        def plain(self, n):
            return n

        @traced
        def iterator(self, n):
            return iter([n])

        @gathered
        def as_list(self, n):
            for i in range(n):
                yield i

        @silently_traced
        def hidden(self, n):
            for i in range(n):
                yield i

        @traced
        @ray.method(num_returns=2)
        def two_below(self, n):
            return n, n

        @ray.method(num_returns=2)
        @traced
        def two_above(self, n):
            return n, n

        @ray.method(num_returns=2)
        @traced
        def two_values_above(self, n):
            for i in range(n):
                yield i

        @traced
        @ray.method(num_returns=2)
        def two_values_below(self, n):
            for i in range(n):
                yield i

    return Methods


@pytest.fixture(params=["plain", "async", "threaded"])
def actor(ray, request):
    cls = methods(ray)
    if request.param == "async":

        class Async(cls):
            async def here(self):
                return True

        cls = Async
    options = {"max_concurrency": 2} if request.param == "threaded" else {}
    return ray.remote(**options)(cls).remote() if options else ray.remote(cls).remote()


@pytest.mark.parametrize("method", ["once", "twice", "static", "of_class", "retried"])
def test_a_wrapped_generator_gives_its_values_one_by_one(ray, actor, method):
    refs = getattr(actor, method).remote(3)
    assert isinstance(refs, ray.ObjectRefGenerator)
    assert [ray.get(ref) for ref in refs] == [0, 1, 2]


def test_so_it_does_for_a_handle_found_by_name(ray):
    actor = ray.remote(methods(ray)).options(name="wrapped").remote()
    assert [ray.get(ref) for ref in ray.get_actor("wrapped").once.remote(2)] == [0, 1]
    del actor


@pytest.mark.parametrize("method, result", [("plain", 3), ("iterator", [3])])
def test_a_wrapped_method_that_does_not_yield_gives_one_result(ray, actor, method, result):
    ref = getattr(actor, method).remote(3)
    assert isinstance(ref, ray.ObjectRef)
    value = ray.get(ref)
    assert (value if method == "plain" else list(value)) == result


def test_a_wrapper_must_give_a_generator_where_the_function_yields(ray, actor):
    refs = actor.as_list.remote(2)
    assert isinstance(refs, ray.ObjectRefGenerator)
    with pytest.raises(ValueError, match="must return a generator"):
        ray.get(next(refs))


def test_a_wrapper_that_does_not_say_what_it_wraps_hides_the_generator(ray, actor):
    assert isinstance(actor.hidden.options(num_returns=2).remote(2), list)
    assert not isinstance(actor.hidden.remote(0), ray.ObjectRefGenerator)


def test_a_number_of_results_in_the_call_is_kept(ray, actor):
    assert ray.get(actor.once.options(num_returns=2).remote(2)) == [0, 1]
    gathered_refs = ray.get(actor.once.options(num_returns="dynamic").remote(2))
    assert [ray.get(ref) for ref in gathered_refs] == [0, 1]
    assert [ray.get(ref) for ref in actor.once.options(num_returns="streaming").remote(2)] == [0, 1]


def test_the_number_of_results_of_the_function_below_counts(ray, actor):
    assert ray.get(actor.two_below.remote(1)) == [1, 1]
    assert ray.get(actor.two_values_below.remote(2)) == [0, 1]
    assert ray.get(actor.two_above.remote(1)) == (1, 1)
    assert isinstance(actor.two_values_above.remote(2), ray.ObjectRefGenerator)


@pytest.mark.parametrize("arguments", [(), (1, 2)])
def test_the_arguments_are_checked_against_the_function(ray, actor, arguments):
    with pytest.raises(TypeError):
        actor.once.remote(*arguments)


def test_a_wrapped_async_generator_of_an_async_actor_gives_its_values(ray):
    @ray.remote
    class Async:
        async def here(self):
            return True

        @traced
        async def values(self, n):
            for i in range(n):
                yield i

    refs = Async.remote().values.remote(3)
    assert isinstance(refs, ray.ObjectRefGenerator)
    assert [ray.get(ref) for ref in refs] == [0, 1, 2]


def test_a_wrapped_generator_function_is_a_plain_task(ray):
    @ray.remote
    @traced
    def task(n):
        for i in range(n):
            yield i

    assert isinstance(task.remote(0), ray.ObjectRef)
