"""A call that is cancelled while its result or its exception is being stored."""

import time

import pytest

from compat_tests.processes import wait_until

pytestmark = [pytest.mark.needs_concurrency, pytest.mark.needs_own_processes]


def slow_to_pickle(path):
    """A function that takes long in the pickling of what it raises or returns; `path` exists from then on."""

    class Slow(Exception):
        def __reduce__(self):
            open(path, "w").close()
            for _ in range(400):
                time.sleep(0.05)
            return Slow, ()

    def give(raises):
        if raises:
            raise Slow
        return Slow()

    return give


@pytest.mark.parametrize("raises", [False, True])
def test_a_call_whose_outcome_is_being_pickled_can_be_cancelled(ray, tmp_path, raises):
    path = tmp_path / "pickles"
    call = ray.remote(max_retries=0)(slow_to_pickle(str(path))).remote(raises)
    wait_until(path.exists)
    ray.cancel(call)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(call, timeout=60)
