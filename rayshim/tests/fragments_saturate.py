"""The policy "saturate": its ratio, its measurements, its decisions, and that they can be repeated."""

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

import rayshim
from rayshim.fragments import Decision, Setting, deploy, saturating
from rayshim.fragments.algorithms.dqn import DQN
from rayshim.fragments.saturation.controller import Repeating, Searching
from rayshim.fragments.saturation.decisions import load, save
from rayshim.fragments.saturation.ledger import Ledger
from rayshim.fragments.saturation.meter import Meter, Work
from rayshim.tests.fragment_programs import SMALL, small

SMALL_DQN = DQN(hidden=16, learning_starts=64, updates=4, batch=16, exploration_steps=64, horizon=8, environments=4)
SETTING = Setting(2, 2, 16, 16, 1)


@pytest.fixture
def start():
    def init(placement="inline", **options):
        rayshim.init(num_cpus=4, placement=placement, logging_level="ERROR", **options)

    yield init
    rayshim.shutdown()


def fixed(setting=SETTING, **options):
    """The policy without a choice."""
    one = {name: getattr(setting, name) for name in ("samplers", "environments", "chunk", "batch", "threads")}
    return saturating(**{**one, "evaluate_every": 0, **options})


@pytest.mark.parametrize("algorithm", [SMALL, SMALL_DQN], ids=["SAC", "DQN"])
@pytest.mark.parametrize("ratio", [None, 4.0, (1.0, 8.0)])
def test_the_ratio_of_updated_to_sampled_frames_is_the_allowed_one(start, algorithm, ratio):
    start()
    low, high = ratio if isinstance(ratio, tuple) else (ratio or 2.0, ratio or 2.0)  # 2: 4 updates of 16, 32 steps
    with deploy(algorithm, fixed(replay_ratio=ratio)) as deployment:
        before, *_, last = (progress for progress in deployment.train(iterations=120) if progress.updated)
        updated = 64 * (last.iteration - before.iteration)
        assert low * 0.85 <= updated / (last.steps - before.steps) <= high * 1.15
        assert np.isfinite(deployment.weights()).all()


def test_weights_change_and_returns_and_evaluations_come(start):
    start()
    with deploy(SMALL, fixed(evaluate_every=30, episodes=1)) as deployment:
        first = deployment.digest()
        progress = list(deployment.train(iterations=120))
        assert deployment.digest() != first
        assert len(deployment.evaluate(2)) == 2
    assert len([one for one in progress if one.evaluation is not None]) >= 3
    assert all(one.evaluation is None or one.evaluation < 0 for one in progress)  # Pendulum's returns
    assert sum(len(one.returns) for one in progress) >= 4


def test_a_larger_batch_makes_fewer_updates_of_as_many_frames(start):
    start()
    setting = replace(SETTING, batch=32)
    with deploy(SMALL, fixed(setting)) as deployment:
        assert {one.updated for one in deployment.train(iterations=30)} == {0, 64}
    with deploy(SMALL, fixed(replace(SETTING, batch=100))) as deployment:
        assert {one.updated for one in deployment.train(iterations=30)} == {0, 100}


def test_the_controller_measures_decides_and_prints(start, capsys):
    start("packed", ordering="arrival")
    policy = saturating(
        (1.0, 1e6), samplers=(1, 2), environments=(1, 2), chunk=16, threads=1, window=0.02, seconds=4, evaluate_every=50
    )
    with deploy(SMALL, policy) as deployment:
        for _ in deployment.train(iterations=100_000):
            if deployment.decisions[-1].action == "hold" and len(deployment.windows) > 20:
                break
    begin, *between, end = (line for line in capsys.readouterr().out.splitlines() if line.startswith("saturate: "))
    assert begin.startswith("saturate: starts with samplers 1, environments 2, chunk 16, batch 16, threads 1")
    assert between and all("kept; " in line and "sampled and" in line and "idle: samplers" in line for line in between)
    assert end.startswith("saturate: holds ") and "noise of a measurement" in end
    assert all(window.sampled > 0 and window.updated > 0 for window in deployment.windows)
    assert all(0 <= window.machine_idle <= 1 and 0 <= window.learner_idle <= 1 for window in deployment.windows)
    assert {(one.setting.chunk, one.setting.batch, one.setting.threads) for one in deployment.decisions} == {
        (16, 16, 1)
    }


def written(path, frames=(0, 200, 400)):
    """Decisions in a file."""
    settings = (SETTING, replace(SETTING, samplers=3), replace(SETTING, environments=4, batch=32))
    save([Decision(at, one, "try") for at, one in zip(frames, settings)], path)
    return path


def repeated(path):
    with deploy(SMALL, saturating(decisions=path, evaluate_every=15, episodes=1)) as deployment:
        progress = list(deployment.train(iterations=40))
        return deployment.digest(), [(one.steps, one.updated, one.evaluation) for one in progress], deployment.decisions


def test_repeated_decisions_are_taken_at_the_same_frames(start, tmp_path):
    start()
    path = written(tmp_path / "decisions.jsonl")
    first, again = repeated(path), repeated(path)
    assert first == again and first[2] == load(path)
    assert repeated(written(tmp_path / "later.jsonl", (0, 250, 400)))[0] != first[0]


def test_timed_order_repeats_the_run_with_its_decisions(start, tmp_path):
    path, found = written(tmp_path / "decisions.jsonl"), []
    for _ in range(2):
        start("packed", ordering="timed", timing=str(tmp_path / "saturate.timing"), seed=1)
        found.append(repeated(path)[:2])
        rayshim.shutdown()
    assert found[0] == found[1]


def test_saved_decisions_are_read_back(tmp_path):
    path = tmp_path / "decisions.jsonl"
    decisions = [Decision(0, SETTING, "start", "starts"), Decision(9, replace(SETTING, samplers=1), "keep", "1 > 2")]
    save(decisions, path)
    assert (
        load(path)
        == decisions
        == list(saturating(decisions=path).decisions)
        == list(saturating(decisions=decisions).decisions)
    )


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"frames": 1}', '{"frames": "x", "setting": {}, "action": "", "text": ""}']
)
def test_a_file_that_has_something_else(tmp_path, text):
    path = tmp_path / "decisions.jsonl"
    path.write_text(text + "\n")
    with pytest.raises(
        ValueError, match=r"decisions.jsonl, line 1, is not a decision \(.*Use a file that save_decisions"
    ):
        saturating(decisions=path)
    path.write_text("")
    with pytest.raises(ValueError, match="has no decision"):
        saturating(decisions=str(path))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"replay_ratio": 0}, "replay_ratio=0 must be a number greater than 0, or a pair"),
        ({"replay_ratio": (2, 1)}, "or a pair (least, greatest)"),
        ({"replay_ratio": "fast"}, "replay_ratio='fast' must be"),
        ({"samplers": 0}, "samplers=0 must be a whole number, at least 1"),
        ({"chunk": ()}, "chunk=() must be"),
        ({"batch": (32, 1.5)}, "batch=(32, 1.5) must be"),
        ({"environments": 5000}, "environments=5000: a sampler has fewer than 1024"),
        ({"episodes": 0}, "episodes=0 must be a whole number, at least 1"),
        ({"evaluate_every": -1}, "evaluate_every=-1 must be"),
        ({"decisions": []}, "decisions=[] must be a file that save_decisions() has written"),
        ({"window": 0}, "window=0 must be more than 0 seconds"),
    ],
)
def test_wrong_options_are_refused(options, text):
    with pytest.raises(ValueError) as error:
        saturating(**options)
    assert text in str(error.value)


def test_an_algorithm_without_a_replay_buffer_is_refused():
    with pytest.raises(TypeError, match="'saturate' is for algorithms that learn from a replay buffer.*PPO is none"):
        deploy(small(), "saturate")


def test_replicas_are_samplers(start):
    start()
    with deploy(SMALL, "saturate", replicas=3) as deployment:
        assert deployment.decisions[0].setting.samplers == 3
        assert deployment.policy.name == "saturate"


@pytest.mark.parametrize(("low", "high"), [(2.0, 2.0), (256.0, 256.0), (0.0, 4.0), (0.5, 8.0)])
def test_within_the_ratio_somebody_can_always_go_on(low, high):
    for seed in range(20):
        choose = random.Random(seed)
        ledger = Ledger(low, high, 256)
        chunks = 0  # of 16 frames, under way
        for _ in range(2000):
            if ledger.may_sample(16, 64) and chunks < 4 and (choose.random() < 0.5 or not chunks):
                ledger.asked, chunks = ledger.asked + 16, chunks + 1
            elif chunks and choose.random() < 0.7:
                ledger.sampled, chunks = ledger.sampled + 16, chunks - 1
            elif not ledger.learns:
                ledger.delivered = ledger.sampled
                if ledger.sampled < 100:
                    ledger.waits()
                else:
                    ledger.learns = True
            elif ledger.may_update(256):
                ledger.updated += 256
            else:
                assert chunks or ledger.may_sample(16, 64)
        assert ledger.updated <= high * (ledger.sampled - ledger.before)
        assert ledger.updated >= low * (ledger.sampled - ledger.before - 64 - 2 * 256 / high - 16)
        assert ledger.updated > 10 * 256


def works(frames, seconds, count, processor=1.0, at=0.0):
    return [Work(frames, at + k * seconds, at + (k + 1) * seconds, processor * seconds) for k in range(count)]


def test_a_window_has_the_rates_of_each_stage_and_who_was_idle():
    meter = Meter(seconds=1.0, cores=2)
    meter.begin(replace(SETTING, samplers=1))
    half_idle = [Work(20, k / 10, k / 10 + 0.05, 0.05) for k in range(21)]
    *before, window = [meter.add(0, work) for work in half_idle] + [
        meter.add(None, work) for work in works(300, 0.25, 5)
    ]
    assert before == [None] * 25
    assert window.sampled == pytest.approx(200) and window.updated == pytest.approx(1200)
    assert window.samplers_idle == pytest.approx(0.5) and window.learner_idle == pytest.approx(0)
    assert window.machine_idle == pytest.approx(0.25)
    assert window.score(0, 100) == pytest.approx((200 * 1200) ** 0.5)
    assert window.score(12, 100) == pytest.approx((100 * 1200) ** 0.5)  # samplers are ahead of the ratio
    assert window.score(0, 3) == pytest.approx((200 * 600) ** 0.5)


def simulated_run(controller, speed, calls):
    """Feeds the controller with calls of a machine: speed(setting) is its sampled frames a second, and 4 times that are updated."""
    now, sampled = 0.0, 0
    for _ in range(calls):
        setting = controller.setting
        took = setting.chunk * setting.samplers / speed(setting)
        now += took
        for sampler in range(setting.samplers):
            sampled += setting.chunk
            controller.ended(sampler, setting, Work(setting.chunk, now - took, now, took), sampled)
        frames = 4 * setting.chunk * setting.samplers
        controller.ended(None, setting, Work(frames, now - took, now, took), sampled)


VALUES = {"samplers": (1, 2, 3), "environments": (1, 2, 4), "chunk": (16,), "batch": (16,), "threads": (1,)}


def searching(seconds=1e9):
    first = Setting(1, 1, 16, 16, 1)
    return Searching(VALUES, first, (0.0, 1e9), window=0.1, seconds=seconds, cores=2)


def speed(setting):
    return (0, 1000, 2000, 1900)[setting.samplers] * setting.environments**0.5


def test_the_controller_finds_the_quickest_setting_and_its_decisions_repeat(capsys):
    controller = searching()
    simulated_run(controller, speed, 4000)
    assert controller.setting == Setting(2, 4, 16, 16, 1)
    assert "saturate: samplers 1 -> 3: score +90% ± " in capsys.readouterr().out
    repeating = Repeating(controller.decisions)
    simulated_run(repeating, speed, 4000)
    assert repeating.decisions == controller.decisions and repeating.setting == controller.setting


def test_nothing_is_measured_before_the_learner_learns():
    controller = searching()
    for number in range(100):
        controller.ended(0, controller.setting, Work(16, number, number + 1, 1), 16 * number)
        controller.ended(None, controller.setting, Work(0, number, number + 1, 1), 16 * number)
    simulated_run(controller, lambda _: 1000.0, 2000)
    assert all(window.sampled == pytest.approx(1000) for window in controller.windows) and controller.windows


def test_a_search_ends_after_its_seconds():
    controller = searching(seconds=0.5)
    simulated_run(controller, speed, 4000)
    assert controller.decisions[-1].action == "hold"
    assert len(controller.decisions) < 8


@pytest.mark.slow
def test_real_ray_runs_the_policy():
    pytest.importorskip("ray")
    root = str(Path(rayshim.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "rayshim.tests.fragment_programs", "saturate"]
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr
    file, digest = json.loads(done.stdout.splitlines()[-1])
    assert "rayshim" not in file and len(digest) == 64
