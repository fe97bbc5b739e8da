import time

import pytest

from compat_tests.dying import death
from compat_tests.processes import alive, wait_until


@pytest.fixture
def worker(ray):
    """A class of actors that can be busy."""

    @ray.remote
    class Worker:
        def ping(self):
            return "pong"

        def enter(self, gate):
            gate.enter()
            return "left"

        def pid(self):
            import os
            return os.getpid()

    return Worker


def test_a_killed_actor_answers_no_more(ray, worker):
    actor = worker.remote()
    assert ray.get(actor.ping.remote()) == "pong"
    ray.kill(actor)
    error = death(ray, actor.ping.remote)
    assert isinstance(error, ray.exceptions.ActorDiedError)
    assert "Worker" in str(error) and "kill" in str(error)


def test_results_from_before_the_kill_stay(ray, worker):
    actor = worker.remote()
    before = actor.ping.remote()
    ray.wait([before])
    ray.kill(actor)
    assert ray.get(before) == "pong"


def test_a_second_kill_does_nothing(ray, worker):
    actor = worker.remote()
    ray.get(actor.ping.remote())
    ray.kill(actor)
    ray.kill(actor)
    death(ray, actor.ping.remote)
    ray.kill(actor)


def test_the_others_live_on_after_a_kill(ray, worker):
    doomed, other = worker.remote(), worker.remote()
    ray.get([doomed.ping.remote(), other.ping.remote()])
    ray.kill(doomed)
    death(ray, doomed.ping.remote)
    assert ray.get(other.ping.remote()) == "pong"


def test_an_actor_can_kill_another(ray, worker):
    @ray.remote
    def kill(actor):
        ray.kill(actor)

    actor = worker.remote()
    ray.get(actor.ping.remote())
    ray.get(kill.remote(actor))
    assert isinstance(death(ray, actor.ping.remote), ray.exceptions.ActorDiedError)


@pytest.mark.needs_concurrency
def test_a_kill_fails_the_running_call_and_the_queued_ones(ray, worker, gate):
    actor = worker.remote()
    running = actor.enter.remote(gate)
    queued = actor.ping.remote()
    wait_until(lambda: gate.inside() == 1)
    ray.kill(actor)
    for ref in (running, queued):
        with pytest.raises(ray.exceptions.RayActorError):
            ray.get(ref)


@pytest.mark.needs_own_processes
def test_a_kill_ends_the_process(ray, worker):
    actor = worker.remote()
    pid = ray.get(actor.pid.remote())
    ray.kill(actor)
    wait_until(lambda: not alive(pid))


def test_kill_refuses_what_is_no_actor(ray):
    @ray.remote
    def one():
        return 1

    with pytest.raises(ValueError, match="cancel"):
        ray.kill(one.remote())
    with pytest.raises(ValueError):
        ray.kill("actor")


@pytest.mark.needs_concurrency
def test_cancel_interrupts_a_running_task(ray, gate):
    @ray.remote
    def busy():
        try:
            gate.enter()
        except KeyboardInterrupt:
            gate.touch("interrupted")
            raise

    ref = busy.remote()
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref)
    gate.wait_for("interrupted")


@pytest.mark.needs_concurrency
def test_cancel_takes_back_a_task_that_has_not_started(ray, gate, tmp_path):
    @ray.remote
    def busy():
        gate.enter()

    @ray.remote
    def late():
        (tmp_path / "started").touch()

    holding = [busy.remote() for _ in range(4)]
    wait_until(lambda: gate.inside() == 4)
    ref = late.remote()
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref)
    gate.open()
    ray.get(holding)
    assert not (tmp_path / "started").exists()


@pytest.mark.needs_concurrency
def test_cancel_by_force_ends_a_task_that_ignores_interrupts(ray, gate):
    @ray.remote
    def stubborn():
        gate.touch("here")
        while True:
            try:
                time.sleep(0.01)
            except KeyboardInterrupt:
                pass

    ref = stubborn.remote()
    gate.wait_for("here")
    ray.cancel(ref, force=True)
    with pytest.raises((ray.exceptions.TaskCancelledError, ray.exceptions.WorkerCrashedError)):
        ray.get(ref)


@pytest.mark.needs_concurrency
def test_a_cancelled_argument_cancels_the_task_that_uses_it(ray, gate):
    @ray.remote
    def busy():
        gate.enter()

    @ray.remote
    def use(_):
        return "used"

    ref = busy.remote()
    wait_until(lambda: gate.inside() == 1)
    user = use.remote(ref)
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(user)


@pytest.mark.needs_concurrency
def test_cancel_reaches_the_tasks_that_the_task_started(ray, gate):
    @ray.remote
    def child():
        try:
            gate.enter()
        except KeyboardInterrupt:
            gate.touch("child interrupted")
            raise

    @ray.remote
    def parent():
        return ray.get(child.remote())

    ref = parent.remote()
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref)
    gate.wait_for("child interrupted")


@pytest.mark.needs_concurrency
def test_cancel_takes_back_a_call_that_its_actor_has_not_started(ray, worker, gate):
    actor = worker.remote()
    running = actor.enter.remote(gate)
    queued = actor.ping.remote()
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(queued)
    gate.open()
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(queued)
    assert ray.get(running) == "left"
    assert ray.get(actor.ping.remote()) == "pong"


def test_cancel_of_a_finished_task_does_nothing(ray):
    @ray.remote
    def one():
        return 1

    ref = one.remote()
    # Ray aborts the driver if it is told to cancel a task whose result it has but whose end it has not yet booked.
    assert ray.get([ref, one.remote()]) == [1, 1]
    assert ray.get(one.remote()) == 1
    ray.cancel(ref)
    assert ray.get(ref) == 1


def test_cancel_refuses_what_is_no_ref_and_force_on_actors(ray, worker):
    actor = worker.remote()
    with pytest.raises(TypeError, match="kill"):
        ray.cancel(actor)
    with pytest.raises(ValueError, match="force"):
        ray.cancel(actor.ping.remote(), force=True)


@pytest.mark.needs_concurrency
def test_a_worker_serves_on_after_a_cancelled_task(ray, gate):
    @ray.remote
    def busy():
        gate.enter()

    @ray.remote
    def one():
        return 1

    refs = [busy.remote() for _ in range(4)]
    wait_until(lambda: gate.inside() == 4)
    for ref in refs:
        ray.cancel(ref)
    assert ray.get([one.remote() for _ in range(20)]) == [1] * 20
