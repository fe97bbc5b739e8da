"""Synchronous parallel deep Q-learning on Blackjack, written for Ray's core API.

The program of "Efficient Parallel Reinforcement Learning Framework using the Reactor Model": each round
16 rollout actors play 100 steps with the newest weights, one replay-buffer actor collects what they saw,
and the learner (this process) takes one gradient step on a minibatch from it.

    python benchmarks/qlearning.py              # on Ray
    python -m rayshim benchmarks/qlearning.py   # on rayshim

Every random choice comes from a generator seeded by --seed and the actor's index, and nothing depends on
timing, so every run with the same arguments prints the same losses and the same policy. The rollout actors
compute the small network in numpy, so that torch is imported by the learner alone: 16 Ray workers that each
import it would take most of the start-up.
"""

import argparse
import json
import time

import gymnasium
import numpy as np
import ray
import torch

ROLLOUT_ACTORS = 16
STEPS_PER_ROUND = 100
HIDDEN = 32
LEARNING_RATE = 0.01
GAMMA = 0.99
EPSILON = 0.1
TARGET_COPY_ROUNDS = 10
BUFFER_CAPACITY = 50_000


def q_values(weights, observation):
    """The network's output in numpy: for one observation, several times faster than through torch."""
    hidden_weight, hidden_bias, output_weight, output_bias = weights
    hidden = np.maximum(hidden_weight @ observation + hidden_bias, 0.0)
    return output_weight @ hidden + output_bias


@ray.remote
class Rollout:
    def __init__(self, seed, index):
        self.environment = gymnasium.make("Blackjack-v1")
        self.random = np.random.default_rng([seed, index])
        observation, _ = self.environment.reset(seed=1_000 * seed + index)
        self.observation = np.array(observation, dtype=np.float32)

    def ready(self):
        return True

    def run(self, weights):
        """Play STEPS_PER_ROUND steps, epsilon-greedy; episodes go on across rounds."""
        observations = np.empty((STEPS_PER_ROUND, 3), dtype=np.float32)
        next_observations = np.empty((STEPS_PER_ROUND, 3), dtype=np.float32)
        actions = np.empty(STEPS_PER_ROUND, dtype=np.int64)
        rewards = np.empty(STEPS_PER_ROUND, dtype=np.float32)
        terminals = np.empty(STEPS_PER_ROUND, dtype=np.float32)
        for step in range(STEPS_PER_ROUND):
            if self.random.random() < EPSILON:
                action = int(self.random.integers(2))
            else:
                action = int(np.argmax(q_values(weights, self.observation)))
            observation, reward, terminated, truncated, _ = self.environment.step(action)
            observations[step] = self.observation
            next_observations[step] = observation
            actions[step] = action
            rewards[step] = reward
            terminals[step] = terminated
            if terminated or truncated:
                observation, _ = self.environment.reset()
            self.observation = np.array(observation, dtype=np.float32)
        return observations, actions, rewards, next_observations, terminals


@ray.remote
class ReplayBuffer:
    def __init__(self, seed):
        self.random = np.random.default_rng([seed, ROLLOUT_ACTORS])
        self.columns = (
            np.empty((BUFFER_CAPACITY, 3), dtype=np.float32),
            np.empty(BUFFER_CAPACITY, dtype=np.int64),
            np.empty(BUFFER_CAPACITY, dtype=np.float32),
            np.empty((BUFFER_CAPACITY, 3), dtype=np.float32),
            np.empty(BUFFER_CAPACITY, dtype=np.float32),
        )
        self.added = 0

    def ready(self):
        return True

    def add(self, *rollouts):
        """Store the rollouts; return the mean reward of the episodes that ended in them."""
        reward, episodes = 0.0, 0.0
        for rollout in rollouts:
            places = np.arange(self.added, self.added + STEPS_PER_ROUND) % BUFFER_CAPACITY
            for column, values in zip(self.columns, rollout, strict=True):
                column[places] = values
            self.added += STEPS_PER_ROUND
            reward += float(rollout[2].sum())
            episodes += float(rollout[4].sum())
        return reward / max(episodes, 1.0)

    def sample(self, size):
        """A minibatch, drawn uniformly with replacement."""
        places = self.random.integers(min(self.added, BUFFER_CAPACITY), size=size)
        return tuple(column[places] for column in self.columns)


class Learner:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.network, self.target = (
            torch.nn.Sequential(torch.nn.Linear(3, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 2))
            for _ in range(2)
        )
        self.copy_to_target()
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE)

    def copy_to_target(self):
        self.target.load_state_dict(self.network.state_dict())

    def weights(self):
        return tuple(parameter.detach().numpy().copy() for parameter in self.network.parameters())

    def update(self, batch):
        """One step of Adam on the squared temporal-difference error; returns the loss."""
        # torch wants writable arrays, and what `get` returns is read-only.
        observations, actions, rewards, next_observations, terminals = (
            torch.from_numpy(column.copy()) for column in batch
        )
        with torch.no_grad():
            best_next = self.target(next_observations).max(dim=1).values
            wanted = rewards + GAMMA * (1.0 - terminals) * best_next
        predicted = self.network(observations).gather(1, actions.unsqueeze(1)).squeeze(1)
        loss = torch.nn.functional.mse_loss(predicted, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def greedy_policy(weights):
    """One string per hand, `H`it or `S`tick for the dealer's cards 1 to 10, best hand first."""
    policy = {}
    for ace in (0, 1):
        for player in range(21, 11, -1):
            hands = (np.array([player, dealer, ace], dtype=np.float32) for dealer in range(1, 11))
            choices = ("SH"[int(np.argmax(q_values(weights, hand)))] for hand in hands)
            policy[f"{player}{' with an ace' if ace else ''}"] = "".join(choices)
    return policy


def train(rounds, minibatch, seed, report):
    """Run the whole program; `report(dict)` is told of each event. Returns what was learnt."""
    rollout_actors = [Rollout.remote(seed, index) for index in range(ROLLOUT_ACTORS)]
    buffer = ReplayBuffer.remote(seed)
    learner = Learner(seed)
    ray.get([actor.ready.remote() for actor in [*rollout_actors, buffer]])
    report({"event": "ready"})

    losses, rewards = [], []
    start = time.perf_counter()
    for number in range(1, rounds + 1):
        weights = ray.put(learner.weights())
        rollouts = [actor.run.remote(weights) for actor in rollout_actors]
        added = buffer.add.remote(*rollouts)
        sampled = buffer.sample.remote(minibatch)
        reward, batch = ray.get([added, sampled])
        losses.append(learner.update(batch))
        rewards.append(reward)
        if number % TARGET_COPY_ROUNDS == 0:
            learner.copy_to_target()
        report({"event": "round", "round": number, "loss": losses[-1], "reward": reward})
    return {
        "losses": losses,
        "rewards": rewards,
        "policy": greedy_policy(learner.weights()),
        "training_seconds": time.perf_counter() - start,
        "env_steps": rounds * ROLLOUT_ACTORS * STEPS_PER_ROUND,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--minibatch", type=int, default=500, help="transitions per update: 500, 1000, 2000")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="PATH", help="write losses, rewards, policy and times there")
    parser.add_argument("--progress", metavar="PATH", help="append each event there, as a line of JSON")
    arguments = parser.parse_args()
    progress = open(arguments.progress, "a", buffering=1) if arguments.progress else None

    def report(event):
        if progress:
            progress.write(json.dumps({**event, "clock": time.monotonic()}) + "\n")
        if event["event"] == "round" and event["round"] % max(arguments.rounds // 10, 1) == 0:
            print(f"round {event['round']:4}  loss {event['loss']:.9f}  mean episode reward {event['reward']:+.4f}")

    torch.set_num_threads(1)
    ray.init(include_dashboard=False)
    try:
        learnt = train(arguments.rounds, arguments.minibatch, arguments.seed, report)
    finally:
        ray.shutdown()
    print("policy (H: hit, S: stick) against the dealer's card A 2 3 4 5 6 7 8 9 10:")
    for hand, choices in learnt["policy"].items():
        print(f"  {hand:>15}  {choices}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(learnt, file)


if __name__ == "__main__":
    main()
