"""What a cancelled call leaves, and what a call that has ended lets go."""

import time

import pytest

from compat_tests.processes import wait_until


@pytest.mark.needs_concurrency
def test_a_task_that_is_cancelled_while_it_runs_has_the_error_of_a_task(ray, tmp_path):
    @ray.remote(max_retries=0)
    def sleep():
        (tmp_path / "begun").touch()
        for _ in range(600):
            time.sleep(0.1)

    @ray.remote
    def take(value):
        return value

    ref = sleep.remote()
    wait_until((tmp_path / "begun").exists, 60, "the task runs")
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.RayTaskError) as caught:
        ray.get(ref, timeout=60)
    assert isinstance(caught.value, ray.exceptions.TaskCancelledError)
    assert isinstance(caught.value.cause, ray.exceptions.TaskCancelledError)
    assert "was cancelled" in str(caught.value)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(take.remote(ref), timeout=60)


def test_an_interrupt_that_a_task_raises_itself_is_a_cancellation(ray):
    @ray.remote(max_retries=0)
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(ray.exceptions.TaskCancelledError) as caught:
        ray.get(interrupt.remote(), timeout=60)
    assert isinstance(caught.value, ray.exceptions.RayTaskError)


def test_a_threaded_actor_lets_the_arguments_of_an_ended_call_go(ray, tmp_path):
    @ray.remote(max_concurrency=2)
    class Taker:
        def take(self, what):
            return 1

    class Noted:
        def __init__(self, path, told=False):
            self.path, self.told = path, told

        def __reduce__(self):
            return Noted, (self.path, True)

        def __del__(self):
            if self.told:
                self.path.touch()

    actor = Taker.remote()
    assert ray.get(actor.take.remote([Noted(tmp_path / "gone")])) == 1
    wait_until((tmp_path / "gone").exists, 20, "the argument is gone")


def test_a_remote_function_that_is_called_directly_tells_its_whole_name(ray):
    @ray.remote
    def plain():
        pass

    with pytest.raises(TypeError, match=r"Instead of running '.*test_calls_that_end_early\..*plain\(\)', try '.*plain\.remote\(\)'"):
        plain()


def test_put_takes_no_owner(ray):
    with pytest.raises(ValueError, match="The experimental `_owner` argument to `ray.put` has been removed"):
        ray.put(1, _owner=object())


@pytest.mark.needs_concurrency
def test_too_many_pending_calls_name_the_option(ray, tmp_path):
    @ray.remote(max_pending_calls=1)
    class Slow:
        def wait(self):
            while not (tmp_path / "go").exists():
                time.sleep(0.01)

    actor, refs = Slow.remote(), []
    with pytest.raises(ray.exceptions.PendingCallsLimitExceeded, match="The task wait could not be submitted.*max_pending_calls"):
        for _ in range(3):
            refs.append(actor.wait.remote())
    (tmp_path / "go").touch()
    ray.get(refs)
