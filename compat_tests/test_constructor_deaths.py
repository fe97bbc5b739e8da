"""A process that dies in an actor's constructor had begun no call: the calls wait for the next process."""

import os

import pytest

pytestmark = pytest.mark.needs_own_processes


@pytest.fixture
def born_late(ray, tmp_path):
    """A class whose first `deaths` processes die in the constructor."""
    path = tmp_path / "births"

    class Born:
        def __init__(self, deaths):
            births = int(path.read_text()) if path.exists() else 0
            path.write_text(str(births + 1))
            if births < deaths:
                os._exit(1)
            self.births = births + 1

        def tell(self):
            return self.births

        def leave(self):
            os._exit(1)

    return Born


def test_a_call_without_retries_waits_for_the_next_process(ray, born_late):
    actor = ray.remote(max_restarts=2)(born_late).remote(2)
    assert ray.get([actor.tell.remote() for _ in range(3)], timeout=60) == [3, 3, 3]


def test_calls_fail_when_no_process_is_left(ray, born_late):
    actor = ray.remote(max_restarts=1)(born_late).remote(5)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.tell.remote(), timeout=60)


def test_a_call_that_waits_while_an_actor_is_made_anew_outlives_a_second_death(ray, born_late):
    actor = ray.remote(max_restarts=3, max_task_retries=0)(born_late).remote(1)
    assert ray.get(actor.tell.remote(), timeout=60) == 2
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(actor.leave.remote(), timeout=60)
