"""Roles with `time_share`: an idle actor off-loads when another one begins a call; no call waits for another, and results are the same."""

import math
import os
import signal

import pytest

import rayshim as ray

ROLES = '[roles.learner]\nactors = "Learner"\ntime_share = "gpu0"\n[roles.sampler]\nactors = "Sampler"\ntime_share = "gpu0"\n'


class Networks:
    def __init__(self, path, name):
        self.path, self.name, self.on = path, name, True

    def say(self, what):
        with open(self.path, "a") as file:
            file.write(f"{self.name} {what}\n")

    def offload(self):
        assert self.on
        self.on = False
        self.say("off")

    def onload(self):
        assert not self.on
        self.on = True
        self.say("on")

    def work(self, x):
        assert self.on
        self.say(x)
        assert self.on
        return x, os.getpid()

    def ask(self, other, x):
        answer = ray.get(other.work.remote(x))
        assert self.on
        self.say("asked")
        return answer[0]

    def count(self, n):
        for k in range(n):
            assert self.on
            yield k


@ray.remote(num_cpus=0)
class Learner(Networks):
    pass


@ray.remote(num_cpus=0)
class Sampler(Networks):
    pass


@pytest.fixture
def log(tmp_path):
    """A session with time-shared roles. Gives the path of the log of its actors."""
    (tmp_path / "roles.toml").write_text(ROLES)
    ray.init(placement=tmp_path / "roles.toml", num_cpus=8, log_to_driver=False, patience=math.inf)
    yield str(tmp_path / "log")
    ray.shutdown()


def begun(log, actor):
    """The log begins when this actor alone is on the device."""
    ray.get(actor.work.remote("begins"))
    open(log, "w").close()


def lines(log):
    with open(log) as file:
        return file.read().split("\n")[:-1]


def test_actors_that_work_in_turns_are_on_the_device_one_after_the_other(log):
    learner, sampler = Learner.remote(log, "L"), Sampler.remote(log, "S")
    ray.get([learner.work.remote(0), sampler.work.remote(0)])
    begun(log, sampler)
    for k in range(2):
        ray.get([sampler.work.remote(k) for _ in range(2)])
        ray.get(learner.work.remote(k))
    turns = ["S {0}", "S {0}", "S off", "L on", "L {0}"]
    first, second = ([line.format(k) for line in turns] for k in range(2))
    assert lines(log) == [*first, "L off", "S on", *second]


def test_an_actor_that_waits_for_another_stays_until_its_method_ends(log):
    learner, sampler = Learner.remote(log, "L"), Sampler.remote(log, "S")
    ray.get([learner.work.remote(0), sampler.work.remote(0)])
    begun(log, learner)
    assert ray.get(learner.ask.remote(sampler, 7)) == 7
    assert lines(log) == ["S on", "S 7", "L asked", "L off"]


def test_the_other_methods_and_streams_of_an_actor_run_on_the_device(log):
    learner, sampler = Learner.remote(log, "L"), Sampler.remote(log, "S")
    begun(log, learner)
    stream = sampler.count.options(num_returns="streaming").remote(3)
    assert [ray.get(ref) for ref in stream] == [0, 1, 2]
    assert ray.get(sampler.__ray_call__.remote(lambda actor: actor.on))


def test_the_stages_of_a_compiled_graph_run_on_the_device(log):
    from rayshim.dag import InputNode

    learner, sampler = Learner.remote(log, "L"), Sampler.remote(log, "S")
    with InputNode() as given:
        graph = learner.work.bind(sampler.work.bind(given)).experimental_compile()
    begun(log, learner)
    assert [ray.get(graph.execute(k))[0][0] for k in range(2)] == [0, 1]
    graph.teardown()
    found = lines(log)
    assert "S on" in found and found.index("S on") < found.index("S 0")


def test_calls_at_the_same_time_all_run_on_the_device(log):
    actors = [Learner.remote(log, "L"), *(Sampler.remote(log, f"S{k}") for k in range(2))]
    found = ray.get([actor.work.remote(k) for k in range(60) for actor in actors])
    assert [x for x, _ in found] == [k for k in range(60) for _ in actors]
    begun(log, actors[0])
    ray.get(actors[0].work.remote(1))
    assert lines(log) == ["L 1"]


def test_a_process_that_dies_on_the_device_is_not_waited_for(log):
    learner, sampler = Learner.remote(log, "L"), Sampler.options(max_restarts=1, max_task_retries=-1).remote(log, "S")
    ray.get(learner.work.remote(0))
    pid = ray.get(sampler.work.remote(0))[1]
    os.kill(pid, signal.SIGKILL)
    assert ray.get(learner.work.remote(1))[0] == 1
    assert ray.get(sampler.work.remote(2))[1] != pid
    begun(log, sampler)
    ray.get(learner.work.remote(3))
    assert lines(log) == ["S off", "L on", "L 3"]


def test_an_error_in_offload_changes_no_result(log):
    @ray.remote(num_cpus=0)
    class Sampler(Networks):
        def offload(self):
            raise KeyError("mine")

        def onload(self):
            self.say("on again")

    broken, learner = Sampler.remote(log, "S"), Learner.remote(log, "L")
    assert ray.get(broken.ask.remote(learner, 3)) == 3
    assert [ray.get(actor.work.remote(4))[0] for actor in (learner, broken)] == [4, 4]
    assert "S on again" in lines(log)


def test_the_digest_is_that_of_isolated_placement(log):
    def played():
        actors = [Learner.remote(log, "L"), Sampler.remote(log, "S")]
        for k in range(3):
            ray.get([actor.__ray_call__.remote(lambda actor, k: (actor.name, k), k) for actor in actors])
        return ray.digest()

    first = played()
    ray.shutdown()
    ray.init(num_cpus=8, log_to_driver=False, patience=math.inf)
    assert played() == first


def test_classes_that_cannot_share_a_device_are_refused(log):
    @ray.remote
    class Learner:
        def offload(self):
            pass

    with pytest.raises(
        ValueError,
        match=rf"roles.toml:1: role learner: time_share: the class Learner has no method onload \(at {__file__}:",
    ):
        Learner.remote()
    with pytest.raises(ValueError, match="runs several calls at the same time"):
        Sampler.options(max_concurrency=2).remote(log, "S")


def test_a_journal_is_refused(tmp_path):
    (tmp_path / "roles.toml").write_text(ROLES)
    with pytest.raises(ValueError, match="roles.toml:1: role learner: time_share: .*a journal cannot repeat it"):
        ray.init(placement=tmp_path / "roles.toml", record=tmp_path / "run")
    assert not ray.is_initialized() and not (tmp_path / "run" / "run.json").exists()
