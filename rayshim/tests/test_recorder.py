"""What the recorder tells of a program: patterns, layouts, times, who woke whom."""

import numpy as np
import pytest

import rayshim as ray
from rayshim.recording import recorder
from rayshim.session import session


@pytest.fixture(autouse=True)
def running():
    ray.init(num_cpus=2)
    yield
    ray.shutdown()


@ray.remote(num_cpus=0)
class Env:
    def step(self, action):
        return np.full(4, action, dtype=np.float32)

    def total(self, observation):
        return float(observation.sum())

    @ray.method(num_returns=2)
    def both(self):
        return 1, np.zeros(50, dtype=np.float32)

    def same(self, value):
        return value


@ray.remote
def double(x):
    return 2 * x


@ray.remote(num_cpus=0)
class Caller:
    def ask(self, env, times):
        return [ray.get(env.total.remote(np.ones(2))) for _ in range(times)]

    def ask_in_vain(self, ref):
        with pytest.raises(ray.exceptions.GetTimeoutError):
            ray.get(ref[0], timeout=0.01)


def recorded():
    return recorder.recording(session.current)


def of_driver(recording):
    return [pattern for pattern in recording.patterns if pattern.caller == "driver"]


def test_the_first_round_is_recorded_and_later_ones_follow_it():
    for _ in range(5):
        ray.get([double.remote(1), double.remote(2)])
    (pattern,) = of_driver(recorded())
    assert (pattern.runs, pattern.calls) == (5, 2)


def test_a_pattern_knows_where_it_ends_what_it_gets_and_its_time():
    env = Env.remote()
    for _ in range(3):
        observation = env.step.remote(1)
        assert ray.get(env.total.remote(observation)) == 4.0
    pattern = of_driver(recorded())[-1]
    assert [source.operation for source in pattern.gets] == [1]
    assert pattern.end_site.partition(":")[0] == pattern.operations[1].site.partition(":")[0]
    assert pattern.seconds > 0


def test_a_result_that_only_another_actor_sees_has_its_layout():
    env, other = Env.remote(), Env.remote()
    for _ in range(3):
        ray.get(other.total.remote(env.step.remote(1)))
    step = of_driver(recorded())[-1].operations[0]
    assert step.results[0].layout == "float32[4]"


def test_the_second_result_of_a_call_is_told_apart_from_the_first():
    env, other = Env.remote(), Env.remote()
    for output in (0, 0, 0, 1, 1, 1):
        ray.get(other.same.remote(env.both.remote()[output]))
    first, second = (pattern.operations for pattern in of_driver(recorded())[-2:])
    assert [first[1].sources[0].output, second[1].sources[0].output] == [0, 1]


def test_a_result_that_is_sent_on_and_read_has_its_own_layout_and_bytes():
    env, other = Env.remote(), Env.remote()
    for _ in range(3):
        _one, many = env.both.remote()
        total = other.total.remote(many)
        assert ray.get([total, many])[0] == 0.0
    pattern = of_driver(recorded())[-1]
    call, sent_on = pattern.operations
    assert [result.layout for result in call.results] == ["", "float32[50]"]
    assert (sent_on.sources[0].output, sent_on.sources[0].layout) == (1, "float32[50]")
    assert sent_on.sources[0].bytes > 200
    assert {(source.operation, source.output) for source in pattern.gets} == {(0, 1), (1, 0)}


def test_methods_are_counted_and_timed_where_they_run():
    env = Env.remote()
    ray.get([env.step.remote(1) for _ in range(200)])
    timing = recorded().measured["Env#0.step"]
    assert timing.calls == 200
    assert 0 < timing.seconds < 10


def test_each_process_of_a_chain_is_woken_about_once_a_pattern_at_most():
    envs = [Env.remote() for _ in range(4)]

    def chain():
        value = np.ones(4)
        for env in envs:
            value = env.same.remote(value)
        return ray.get(value)

    chain()
    before = recorded().counters["wakes"]
    for _ in range(50):
        assert chain().tolist() == [1.0] * 4
    # A process that looked before it slept may be rung twice for the same result.
    assert recorded().counters["wakes"] - before <= 55 * (len(envs) + 1)


def test_an_ended_workers_recording_stays():
    env, caller = Env.remote(), Caller.remote()
    assert ray.get(caller.ask.remote(env, 3)) == [2.0] * 3
    del caller
    names = set()
    for _ in range(200):
        names = {pattern.caller for pattern in recorded().patterns}
        if len(session.current.control.ask("state")["actors"]) == 1:
            break
    assert "Caller#0.ask" in names
    assert recorded().measured["Caller#0.ask"].calls == 1


def test_answers_of_the_clock_are_counted_in_every_process():
    caller = Caller.remote()
    never = Env.options(num_cpus=100).remote().step.remote(1)
    ray.get(caller.ask_in_vain.remote([never]))
    assert recorded().counters["physical_answers"] == 1
