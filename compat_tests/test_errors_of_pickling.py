"""Errors of pickling: of values, of functions, of classes."""

import functools
import pickle
import sys

import pytest


class Odd(pickle.PicklingError):
    """Known to driver and workers by import."""


class Refuses:
    def __init__(self, error):
        self.error = error

    def __reduce__(self):
        raise self.error


@pytest.mark.parametrize("error", [
    pickle.PicklingError("no"), AttributeError("no"), ValueError("no"), Odd("no")
], ids=lambda error: type(error).__name__)
def test_an_error_of_pickling_keeps_its_class_unless_it_is_a_type_error(ray, error):
    unfit = Refuses(error)

    @ray.remote
    def take(*values, **named):
        return values

    @ray.remote
    class Taker:
        def __init__(self, *values):
            pass

        def take(self, value):
            pass

        def give(self):
            return [Refuses(error)]

        def generate(self):
            yield Refuses(error)

    @ray.remote
    def closure():
        return unfit

    taker = Taker.remote()
    for misuse in (lambda: ray.put([unfit]), lambda: take.remote(unfit), lambda: take.remote(1, a={"b": unfit}), lambda: Taker.remote(unfit),
                   lambda: taker.take.remote(unfit), closure.remote):
        with pytest.raises(type(error), match="no") as raised:
            misuse()
        assert type(raised.value) is type(error)
    for ref in (taker.give.remote(), next(taker.generate.remote())):
        with pytest.raises(type(error), match="no") as raised:
            ray.get(ref)
        assert isinstance(raised.value, ray.exceptions.RayTaskError)


def test_files_that_cannot_be_read_and_local_caches_raise_errors_of_pickle(ray, tmp_path):
    @functools.lru_cache
    def cached(n):
        return n

    @ray.remote
    def take(value):
        return value

    with open(tmp_path / "written", "w") as file:
        for misuse in (lambda: take.remote(file), lambda: ray.put({"file": file})):
            with pytest.raises(pickle.PicklingError, match="not opened for reading"):
                misuse()
    with pytest.raises(AttributeError if sys.version_info < (3, 14) else pickle.PicklingError, match="local object .*cache"):
        take.remote(cached)


def test_a_cached_method_in_a_class_of_the_script_is_refused_where_the_actor_is_made(scripts):
    assert scripts.run("""
        import functools
        import pickle
        import ray

        INIT

        @ray.remote
        class Cached:
            @functools.lru_cache
            def twice(self, n):
                return 2 * n

            def one(self):
                return 1

        try:
            Cached.remote()
        except pickle.PicklingError as error:
            print(type(error).__name__, "Cached.twice" in str(error))
    """) == "PicklingError True\n"
