"""Functions of the main script with functools.lru_cache and their relatives, used in tasks."""

import functools


@functools.lru_cache(maxsize=7, typed=True)
def in_a_module(x):
    return x + 1


def test_a_cached_function_of_a_module_keeps_its_identity_in_tasks(ray):
    @ray.remote
    def use():
        from compat_tests.test_cached_functions import in_a_module as found

        return found(1), found is in_a_module

    assert ray.get(use.remote())[0] == 2
