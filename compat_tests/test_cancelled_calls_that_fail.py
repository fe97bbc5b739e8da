"""A call of a plain or threaded actor that is cancelled while it runs, and that ends with an exception of its own."""

import time

import pytest

from compat_tests.processes import wait_until

pytestmark = pytest.mark.needs_concurrency
KINDS = [{"num_cpus": 1}, {"max_concurrency": 2}, {"concurrency_groups": {"io": 1}}]


@pytest.fixture(params=KINDS, ids=["plain", "threaded", "grouped"])
def actor(ray, request):
    @ray.remote(**request.param)
    class Worker:
        def until_cancelled(self, path, outcome):
            with open(path, "a") as file:
                file.write("x")
            while not ray.get_runtime_context().is_canceled():
                time.sleep(0.01)
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        def ready(self):
            return True

    made = Worker.remote()
    assert ray.get(made.ready.remote())
    return made


def cancelled(ray, path, method, outcome):
    call = method.remote(str(path), outcome)
    wait_until(path.exists)
    ray.cancel(call)
    return call


def test_the_caller_gets_the_exception_of_the_method(ray, actor, tmp_path):
    call = cancelled(ray, tmp_path / "began", actor.until_cancelled, ValueError("stopped"))
    with pytest.raises(ray.exceptions.RayTaskError, match="stopped") as raised:
        ray.get(call, timeout=60)
    assert isinstance(raised.value, ValueError)
    assert ray.get(actor.ready.remote())


@pytest.mark.parametrize("outcome", [7, KeyboardInterrupt()], ids=["value", "interrupt"])
def test_a_value_or_an_interrupt_becomes_a_cancelled_error(ray, actor, tmp_path, outcome):
    call = cancelled(ray, tmp_path / "began", actor.until_cancelled, outcome)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(call, timeout=60)
    assert ray.get(actor.ready.remote())


def test_each_result_of_several_has_the_exception(ray, actor, tmp_path):
    calls = actor.until_cancelled.options(num_returns=2).remote(str(tmp_path / "began"), KeyError("stopped"))
    wait_until((tmp_path / "began").exists)
    ray.cancel(calls[1])
    for call in calls:
        with pytest.raises(KeyError, match="stopped"):
            ray.get(call, timeout=60)


def test_it_is_not_retried(ray, actor, tmp_path):
    path = tmp_path / "began"
    retried = actor.until_cancelled.options(retry_exceptions=True, max_task_retries=3)
    call = cancelled(ray, path, retried, ValueError("stopped"))
    with pytest.raises(ValueError, match="stopped"):
        ray.get(call, timeout=60)
    assert path.read_text() == "x"


def test_a_cancelled_task_that_fails_is_not_retried(ray, tmp_path):
    path = tmp_path / "began"

    @ray.remote(max_retries=3, retry_exceptions=True)
    def work(path):
        try:
            with open(path, "a") as file:
                file.write("x")
            while True:
                time.sleep(0.01)
        except KeyboardInterrupt:
            raise ValueError("stopped") from None

    call = work.remote(str(path))
    wait_until(path.exists)
    ray.cancel(call)
    with pytest.raises((ValueError, ray.exceptions.TaskCancelledError)):
        ray.get(call, timeout=60)
    assert path.read_text() == "x"
