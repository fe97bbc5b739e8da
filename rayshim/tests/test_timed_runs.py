"""Timed order: a measured run, and runs that follow its timing file."""

import time

import pytest
from reactor import _core

import rayshim
from rayshim.recording import repeatability
from rayshim.tests.runs import Log, outcome, some_time, value
from rayshim.timing.timing import TimingSetting


def learner_loop(ray):
    """Actors work for a time that differs in each run, and the driver takes what is done first: what a buffer gets, and when, depends on timing."""

    @ray.remote
    class Rollouts:
        def __init__(self, number):
            self.number, self.done = number, 0

        def rollout(self, weights):
            time.sleep(some_time())
            self.done += 1
            return self.number, weights * 31 + self.done

    @ray.remote
    class Buffer:
        def __init__(self):
            self.seen = []

        def add(self, number, value):
            self.seen.append((number, value))
            return sum(value for _, value in self.seen) % 1009

        def all(self):
            return self.seen

    rollouts = [Rollouts.remote(i) for i in range(3)]
    buffer = Buffer.remote()
    left = {actor.rollout.remote(0): actor for actor in rollouts}
    for _ in range(25):
        (done,), _ = ray.wait([*left])
        actor = left.pop(done)
        weights = ray.get(buffer.add.remote(*ray.get(done)))
        left[actor.rollout.remote(weights)] = actor
    return ray.get(buffer.all.remote())


@pytest.fixture(params=["isolated", "packed"])
def placement(request):
    return request.param


def test_runs_that_follow_a_measured_one_have_one_result_and_one_digest(placement, tmp_path, capfd):
    how = {"ordering": "timed", "timing": tmp_path / "loop.timing", "placement": placement, "seed": 1}
    measured = outcome(learner_loop, **how)
    assert "this run was measured" in capfd.readouterr().err
    written = (tmp_path / "loop.timing").read_bytes()
    runs = [outcome(learner_loop, **how) for _ in range(2)]
    assert runs[0] == runs[1] == measured
    assert "measured" not in capfd.readouterr().err
    assert (tmp_path / "loop.timing").read_bytes() == written


def test_a_file_of_one_placement_is_followed_in_the_other(tmp_path):
    how = {"ordering": "timed", "timing": tmp_path / "loop.timing", "seed": 1}
    measured = outcome(learner_loop, placement="isolated", **how)
    assert outcome(learner_loop, placement="packed", **how) == measured


def test_another_timing_seed_is_another_order_and_again_one(tmp_path):
    how = {"ordering": "timed", "timing": tmp_path / "loop.timing", "seed": 1}
    outcome(learner_loop, **how)
    values = {seed: [outcome(learner_loop, timing_seed=seed, **how) for _ in range(2)] for seed in (0, 1, 2)}
    assert all(one == two for one, two in values.values())
    assert len({str(one[0]) for one, _ in values.values()}) > 1


def test_the_report_of_a_measured_run_says_that_the_next_one_is_repeatable(tmp_path):
    path = tmp_path / "loop.timing"

    def found(ray):
        ray.get(ray.remote(lambda: 1).remote())
        ray.wait([ray.put(1)], timeout=30)  # a timeout in these times is repeatable, too
        return ray.report().repeatable

    rayshim.init(num_cpus=1, seed=1, logging_level="ERROR", ordering="timed", timing=path)
    try:
        (reason,) = found(rayshim).reasons
    finally:
        rayshim.shutdown()
    assert "is measured; later runs" in reason.what and "are repeatable" in reason.what and str(path) in reason.what


@pytest.mark.parametrize("lost, words", [(0, []), (1, ["has died"]), (2 + 8, ["table", "barrier"]), (4, ["stream"])])
def test_what_a_run_has_lost_of_its_order_is_told(lost, words, monkeypatch):
    monkeypatch.setattr(_core, "timed_lost", lambda: lost)
    reasons = [*repeatability._of_times(TimingSetting("a.timing", False, (0, 0), "physical"))]
    assert len(reasons) == len(words)
    assert all(word in reason.what for word, reason in zip(words, reasons, strict=True))


@pytest.mark.parametrize("value", [-1, "one", 1.5])
def test_a_timing_seed_is_an_integer(value, tmp_path):
    with pytest.raises(ValueError, match=r"init\(timing_seed=\) got .* must be an integer, 0 or more"):
        rayshim.init(ordering="timed", timing=tmp_path / "a", timing_seed=value)


def test_timed_order_needs_a_file(monkeypatch):
    monkeypatch.delenv("RAYSHIM_TIMING", raising=False)
    with pytest.raises(ValueError, match=r"needs a timing file: init\(timing=PATH\)"):
        rayshim.init(ordering="timed")


def test_a_damaged_file_ends_the_start(tmp_path):
    (tmp_path / "a").write_text("weights")
    with pytest.raises(ValueError, match="is no timing file"):
        rayshim.init(ordering="timed", timing=tmp_path / "a")


@pytest.mark.parametrize("how", [{"timing": "a"}, {"timing_seed": 1}])
def test_a_timing_file_without_timed_order_is_an_error(how):
    with pytest.raises(ValueError, match='has no effect with ordering="arrival"'):
        rayshim.init(ordering="arrival", **how)


@pytest.mark.parametrize("how", [{"placement": "inline"}, {"record": True}])
def test_where_there_is_no_timed_order_the_start_says_so(how, tmp_path):
    path = {"record": tmp_path / "run"} if "record" in how else how
    with pytest.raises(ValueError, match=r'init\(ordering="timed"\)'):
        rayshim.init(ordering="timed", timing=tmp_path / "a", **path)
    assert not (tmp_path / "a").exists()


def test_a_call_that_does_not_end_has_the_durations_of_its_operations(tmp_path):
    """An actor plays for ever; the measured run ends in the middle of that."""

    def program(ray):
        @ray.remote
        class Player:
            def run(self, log, name):
                while True:
                    time.sleep(some_time())
                    ray.get(log.add.remote(name))

        log, players = ray.remote(Log).remote(), [Player.remote() for _ in range(2)]
        for name, player in zip("ab", players, strict=True):
            player.run.remote(log, name)
        while len(ray.get(log.all.remote())) < 40:
            time.sleep(0.005)
        return ray.get(log.all.remote())[:40]

    how = {"ordering": "timed", "timing": tmp_path / "run.timing", "placement": "isolated", "seed": 1}
    measured = value(program, **how)
    followed = value(program, **how)
    assert value(program, **how) == followed
    assert followed[:16] == measured[:16]  # so much is in the file at least
