"""A wait for a result that can never come ends when its time is up."""

import pytest


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("seconds", [0.5, 2])
def test_a_call_that_waits_for_its_own_actor_times_out(ray, seconds):
    @ray.remote
    class Alone:
        def ask_itself(self):
            itself = ray.get_runtime_context().current_actor
            try:
                ray.get(itself.answer.remote(), timeout=seconds)
            except ray.exceptions.GetTimeoutError:
                return "timed out"

        def answer(self):
            return "never in time"

    assert ray.get(Alone.remote().ask_itself.remote(), timeout=30) == "timed out"


@pytest.mark.needs_concurrency
def test_the_one_of_a_circle_that_has_a_timeout_times_out(ray):
    @ray.remote
    class One:
        def ask(self, other, **how):
            try:
                return ray.get(other.ask_back.remote(ray.get_runtime_context().current_actor), **how)
            except ray.exceptions.GetTimeoutError:
                return "timed out"

        def ask_back(self, other):
            return ray.get(other.answer.remote())

        def answer(self):
            return "an answer"

    first, second = One.remote(), One.remote()
    assert ray.get(first.ask.remote(second, timeout=2), timeout=30) == "timed out"
