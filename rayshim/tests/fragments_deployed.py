"""One algorithm under all distribution policies: equal weights where the mathematics is equal."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

import rayshim
from rayshim.fragments import POLICIES, central, deploy, multiple_learners, single_learner_coarse
from rayshim.fragments.algorithms.a3c import A3C
from rayshim.fragments.algorithms.dqn import DQN
from rayshim.fragments.algorithms.sac import SAC
from rayshim.tests.fragment_programs import COARSE, EQUAL, PAIRS, Overlapped, small, trained

SMALL_DQN = DQN(environments=4, horizon=8, hidden=16, learning_starts=32, updates=4, batch=16, exploration_steps=64)
SMALL_SAC = SAC(environments=4, horizon=8, hidden=16, learning_starts=32, updates=2, batch=16)


@pytest.fixture
def start():
    def init(placement="packed", ordering="strict", **options):
        rayshim.init(num_cpus=4, ordering=ordering, placement=placement, logging_level="ERROR", **options)

    yield init
    rayshim.shutdown()


@pytest.fixture(scope="module")
def expected():
    rayshim.init(num_cpus=4, placement="inline", logging_level="ERROR")
    try:
        return trained(small(), "one-device")
    finally:
        rayshim.shutdown()


@pytest.mark.parametrize("placement", ["isolated", "packed", "inline"])
def test_policies_with_one_learner_give_the_same_bits(start, expected, placement):
    start(placement)
    digest, _, steps, returns = expected
    assert steps == 3 * 4 * 16 and len(returns) > 3
    for policy in EQUAL if placement != "isolated" else ("coarse",):
        found = trained(small(), policy)
        assert (found[0], found[2:]) == (digest, (steps, returns)), policy


def test_the_number_of_replicas_changes_no_bits(start, expected):
    start("inline")
    assert trained(small(), "coarse", replicas=3)[0] == expected[0]
    assert trained(small(), "environment-workers", replicas=4)[0] == expected[0]


def test_another_seed_gives_other_bits(start, expected):
    start("inline")
    assert trained(small(seed=4), "one-device")[0] != expected[0]


@pytest.mark.parametrize(
    "algorithm", [small(), SMALL_DQN, SMALL_SAC, A3C(environments=4, hidden=16)], ids=lambda a: type(a).__name__
)
def test_several_learners_learn_what_one_learns_but_for_rounding(start, algorithm):
    start("inline")
    one, several, server = (trained(algorithm, policy) for policy in ("one-device", "multiple-learners", "central"))
    first = trained(algorithm, "one-device", iterations=0)[1]
    assert several[0] == server[0]  # both add the learners' gradients in the same order
    assert np.abs(one[1] - first).max() > 1e-3
    np.testing.assert_allclose(several[1], one[1], atol=1e-4)
    assert several[2:] == one[2:]


def test_an_asynchronous_server_answers_each_worker_by_itself(start):
    start()
    policy = central(2, asynchronous=True)
    first = trained(A3C(environments=4, hidden=16), policy, iterations=0)[1]
    _, weights, steps, _ = trained(A3C(environments=4, hidden=16), policy, iterations=5)
    assert steps == 5 * 2 * 16  # an iteration is one worker's
    assert np.isfinite(weights).all() and np.abs(weights - first).max() > 1e-3


def test_timed_order_repeats_an_asynchronous_training(start, tmp_path):
    digests = []
    for _ in range(2):
        start("packed", ordering="timed", timing=str(tmp_path / "a3c.timing"), seed=1)
        digests.append(trained(A3C(environments=4, hidden=16), central(2, asynchronous=True), iterations=20)[0])
        rayshim.shutdown()
    assert digests[0] == digests[1]


def test_a_policy_of_the_users_own(start, expected):
    start()
    two_learners = trained(small(), multiple_learners(2))
    assert (
        trained(small(), Overlapped("pairs", PAIRS), iterations=1)[0]
        == trained(small(), multiple_learners(2), iterations=1)[0]
    )
    assert two_learners[0] != expected[0]
    overlapped = trained(small(), Overlapped("overlapped", COARSE))
    assert overlapped[2] == expected[2]
    assert overlapped[0] != expected[0]  # its weights are older


def test_rows_of_inference_are_those_of_the_process_if_asked(start):
    start("inline")
    one, two = trained(small(rows=0), "one-device"), trained(small(rows=0), "coarse")
    np.testing.assert_allclose(one[1], two[1], atol=1e-4)
    assert trained(small(rows=2), "one-device")[0] == trained(small(rows=2), "fine", replicas=3)[0]


def test_training_goes_on_where_it_ended(start, expected):
    start("inline")
    with deploy(small(), "coarse") as deployment:
        assert [one.iteration for one in deployment.train(iterations=2)] == [1, 2]
        assert [one.iteration for one in deployment.train(steps=1)] == [3]
        assert deployment.digest() == expected[0]
        assert deployment.steps == expected[2]


def test_training_ends_at_the_return(start):
    start("inline")
    with deploy(small(), "coarse") as deployment:
        *before, last = deployment.train(iterations=50, until_return=5.0)
        assert last.mean_return >= 5 and sum(len(one.returns) for one in before) < 20 <= sum(
            len(one.returns) for one in [*before, last]
        )
        with pytest.raises(ValueError, match="needs an end: iterations="):
            deployment.train()


def test_evaluation_repeats_and_is_of_the_newest_weights(start):
    start("inline")
    with deploy(small(learning_rate=0.01), "coarse") as deployment:
        first = deployment.evaluate(4)
        assert len(first) == 4 and deployment.evaluate(4) == first
        list(deployment.train(iterations=8))
        assert deployment.evaluate(4) != first


def test_auto_takes_the_quickest_and_prints_all(start, capsys, monkeypatch):
    start("inline")
    monkeypatch.setattr("rayshim.fragments.deployment._SECONDS_OF_AUTO", 0.05)
    with deploy(small(environments=3), "auto", replicas=2) as deployment:
        *lines, chosen = capsys.readouterr().out.splitlines()
    speeds = {
        line.split(": ")[1].split(",")[0]: float(line.split(": ")[2].split()[0].replace(",", ""))
        for line in lines
        if "steps/s" in line
    }
    assert len(lines) == len(POLICIES)
    assert (
        "policy auto: multiple learners left out: The policy 'multiple learners' gives its learners 1, 2 environments"
        in "\n".join(lines)
    )
    assert deployment.policy.name == max(speeds, key=speeds.__getitem__)
    assert f"chose {deployment.policy.name}" in chosen


def test_simple_spread_under_two_policies(start):
    pytest.importorskip("mpe2")
    from rayshim.fragments.algorithms.mappo import MAPPO

    start("inline")
    algorithm = MAPPO(environments=2, horizon=30, hidden=16, epochs=2)
    one, two = trained(algorithm, "one-device", iterations=2), trained(algorithm, "coarse", iterations=2)
    assert one[0] == two[0] and len(one[3]) == 4


@pytest.mark.slow
def test_real_ray_gives_the_same_bits(expected):
    pytest.importorskip("ray")
    root = str(Path(rayshim.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "rayshim.tests.fragment_programs", "coarse"]
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr
    file, digest = json.loads(done.stdout.splitlines()[-1])
    assert "rayshim" not in file
    assert digest == expected[0]


def test_the_policies_by_name_are_those_of_the_functions():
    assert POLICIES["coarse"](3) == single_learner_coarse(3)
    assert all(make(1).roles for make in POLICIES.values())
