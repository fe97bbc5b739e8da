"""What deployments refuse, and the parts that policies are made of."""

import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
gymnasium = pytest.importorskip("gymnasium")

import rayshim
from rayshim.fragments import Algorithm, Policy, RandomRows, Replay, Role, Step, deploy, environment_workers, one_device
from rayshim.fragments.arrangement import arrange, split
from rayshim.fragments.environments import Environments
from rayshim.fragments.learner import Learner
from rayshim.tests.fragment_programs import small

ALL = ("environments", "act", "gradient", "update")


class Unfinished(Algorithm):
    def make_environment(self):
        return gymnasium.make("CartPole-v1")

    def make_network(self):
        return torch.nn.Linear(4, 2)


@pytest.fixture
def session():
    rayshim.init(num_cpus=2, placement="inline", logging_level="ERROR")
    yield
    rayshim.shutdown()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"policy": "corse"}, ValueError, "There is no policy 'corse'. The policies are coarse, fine, "),
        (
            {"policy": "coarse", "replicas": 5},
            ValueError,
            "divides 4 environments among 5 processes, so that some have none",
        ),
        ({"policy": "coarse", "replicas": 0}, ValueError, "The role 'Actor' has 0 replicas; it needs at least 1"),
        ({"policy": "multiple-learners", "replicas": 3}, ValueError, "gives its learners 1, 1, 2 environments"),
        ({"policy": "one-device", "replicas": 2}, ValueError, "One device has one process, and 2 were asked for"),
        (
            {"policy": environment_workers(1, actors=2)},
            ValueError,
            "2 processes act without environments, and 1 processes hold",
        ),
        ({"policy": one_device(), "replicas": 2}, ValueError, "replicas=2 is for a policy given by name"),
        ({"devices": "cuda"}, ValueError, "devices= puts 3 of the processes on 'cuda', and there is no GPU"),
        ({"devices": {"Learner": "tpu"}}, ValueError, "puts 'Learner' on 'tpu'; a device is 'cpu' or 'cuda'"),
        (
            {"devices": {"Lerner": "cpu"}},
            ValueError,
            "names the role 'Lerner'; the roles of the policy 'coarse' are Actor, Learner",
        ),
        (
            {"policy": Policy("p", (Role("A", ("environment",)),))},
            ValueError,
            "The role 'A' has the fragment 'environment'",
        ),
        (
            {"policy": Policy("p", (Role("A", ALL[:3]),))},
            ValueError,
            "No role of the policy 'p' has the fragment 'update'",
        ),
        (
            {"policy": Policy("p", (Role("A", ALL[:3]), Role("B", ALL[3:], 2)))},
            ValueError,
            "or in one process apart from all",
        ),
        ({"policy": Policy("p", (Role("A", ALL), Role("B", ALL[:3])))}, ValueError, "has `gradient` without `update`"),
        (
            {"policy": Policy("p", (Role("A", ALL[:2]), Role("B", ALL[2:], 2)))},
            ValueError,
            "has 2 learners and 1 processes that act",
        ),
    ],
)
def test_wrong_options_of_deploy(session, options, error, text):
    with pytest.raises(error, match=re.escape(text)):
        deploy(small(), **options)


def test_an_algorithm_without_a_method(session):
    with pytest.raises(
        TypeError,
        match=re.escape(
            "The algorithm Unfinished lacks make_optimisers(network), act(network, observation, random, step), "
        ),
    ):
        deploy(Unfinished())


def test_something_that_is_no_algorithm(session):
    with pytest.raises(TypeError, match=r"must be an instance of a subclass of rayshim\.fragments\.Algorithm"):
        deploy(Unfinished)  # the class


class Wrong(Unfinished):
    def __init__(self, wrong):
        self.wrong = wrong

    def make_optimisers(self, network):
        return {"only": torch.optim.SGD(network.parameters(), lr=0.1)}

    def learn(self, learner, batch):
        loss = learner.network(batch["observation"]).mean()
        yield Step(loss, "other") if self.wrong == "optimiser" else loss


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        ("optimiser", ValueError, "Wrong.learn asked for a step of the optimiser 'other'; make_optimisers gave 'only'"),
        ("loss", TypeError, "a Tensor. It may yield Step(loss) and Mean(value)"),
    ],
)
def test_wrong_requests_of_learn(wrong, error, text):
    learner = Learner(Wrong(wrong), range(8))
    with pytest.raises(error, match=re.escape(text)):
        learner.learn({"observation": torch.ones(2, 8, 4)})


def test_a_network_starts_the_same_whatever_was_drawn_before():
    weights = Learner(small(), range(4)).weights()
    state = torch.get_rng_state()
    torch.rand(3)
    assert np.array_equal(Learner(small(), range(4)).weights(), weights)
    assert not np.array_equal(Learner(small(seed=5), range(4)).weights(), weights)
    torch.set_rng_state(state)


def test_numbers_belong_to_the_environment():
    whole, part = RandomRows(1, range(6)), RandomRows(1, range(2, 4))
    for _ in range(600):
        assert torch.equal(whole.uniform(2)[2:4], part.uniform(2))
        assert torch.equal(whole.normal()[2:4], part.normal())
    assert not torch.equal(whole.uniform()[:3], whole.uniform()[3:])


def test_choices_have_their_probabilities():
    random = RandomRows(0, range(2))
    probabilities = torch.tensor([[0.2, 0.0, 0.8], [0.0, 1.0, 0.0]])
    drawn = torch.stack([random.choice(probabilities) for _ in range(4000)])
    assert drawn[:, 1].unique().tolist() == [1]
    assert drawn[:, 0].unique().tolist() == [0, 2]
    assert abs((drawn[:, 0] == 2).float().mean() - 0.8) < 0.03


def test_the_noise_of_a_learner_is_its_part_of_all():
    whole, part = Learner(small(), range(4)), Learner(small(), range(2, 4))
    assert torch.equal(whole.normal(5, 3)[:, 2:], part.normal(5, 3))


def test_replay_drops_the_oldest_rows_and_samples_alike_for_parts():
    whole, part = Replay(5), Replay(5)
    for start in (0, 3):
        values = torch.arange(start, start + 3)[:, None] * 10 + torch.arange(4)
        whole.add({"x": values})
        part.add({"x": values[:, :2]})
    assert len(whole) == 5
    one, two = (replay.sample(50, torch.Generator().manual_seed(1))["x"] for replay in (whole, part))
    assert one.shape == (50, 4) and torch.equal(one[:, :2], two)
    assert (one[:, 0] // 10).unique().tolist() == [1, 2, 3, 4, 5]


def test_an_environment_gives_the_last_observation_of_an_episode_and_the_first_of_the_next():
    environments = Environments(small(), range(2))
    before = environments.reset()
    assert before.dtype == np.float32
    while True:
        now = environments.step(np.array([1, 0]))
        if now.terminated.any():
            break
    row = int(np.flatnonzero(now.terminated)[0])
    assert np.abs(now.next_observation[row]).max() > 0.2 > np.abs(now.observation[row]).max()
    assert np.array_equal(now.observation[1 - row], now.next_observation[1 - row])


def test_environments_are_divided_in_order():
    assert split(range(7), 3) == [range(2), range(2, 4), range(4, 7)]
    members = arrange(environment_workers(5, actors=2), 10)
    assert [(member.role.name, member.environments) for member in members if member.environments] == [
        *(("Environment", range(2 * k, 2 * k + 2)) for k in range(5)),
        ("Actor", range(4)),
        ("Actor", range(4, 10)),
    ]
    assert members[-1].feeders == members[5:7] and members[6].sources == members[2:5]
