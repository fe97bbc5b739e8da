"""Synchronous parallel deep Q-learning on Blackjack, written for Ray's core API.

The program of "Efficient Parallel Reinforcement Learning Framework using the Reactor Model": each round
16 rollout actors play 100 steps with the newest weights, one replay-buffer actor collects what they saw,
and the learner (this process) takes one gradient step on a minibatch from it.

    python benchmarks/programs/qlearning.py              # on Ray
    python -m rayshim benchmarks/programs/qlearning.py   # on rayshim

Every random choice comes from a generator seeded by --seed and the actor's index, and nothing depends on
timing, so every run with the same arguments prints the same losses and the same policy. The rollout actors
compute the small network in numpy, so that torch is imported by the learner alone: 16 Ray workers that each
import it would take most of the start-up.
"""

import gymnasium
import numpy as np
import ray
import torch
from measured import Measured, options

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

    def sample_after(self, added, size):
        """The same, as a Compiled Graph's node, which needs something of the graph to wait for."""
        return self.sample(size)


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


def compiled(rollout_actors, buffer_actor, minibatch):
    from ray.dag import InputNode, MultiOutputNode

    with InputNode() as weights:
        added = buffer_actor.add.bind(*[actor.run.bind(weights) for actor in rollout_actors])
        sampled = buffer_actor.sample_after.bind(added, minibatch)
    return MultiOutputNode([added, sampled]).experimental_compile()


def player(options):
    """A function that plays one round: weights in, (mean reward, minibatch) out."""
    seed = options.seed
    if options.style == "bare":
        rollouts, buffer = [Rollout(seed, index) for index in range(ROLLOUT_ACTORS)], ReplayBuffer(seed)

        def play(weights):
            return buffer.add(*[rollout.run(weights) for rollout in rollouts]), buffer.sample(options.minibatch)

        return play
    ray.init(include_dashboard=False)
    rollout_class, buffer_class = ray.remote(Rollout), ray.remote(ReplayBuffer)
    rollout_actors = [rollout_class.remote(seed, index) for index in range(ROLLOUT_ACTORS)]
    buffer_actor = buffer_class.remote(seed)
    ray.get([actor.ready.remote() for actor in [*rollout_actors, buffer_actor]])

    if options.style == "compiled":
        graph = compiled(rollout_actors, buffer_actor, options.minibatch)
        return lambda weights: ray.get(graph.execute(weights))

    def play_on_actors(weights):
        weights = ray.put(weights)
        added = buffer_actor.add.remote(*[actor.run.remote(weights) for actor in rollout_actors])
        sampled = buffer_actor.sample.remote(options.minibatch)
        return ray.get([added, sampled])

    return play_on_actors


def run(measured, options):
    torch.set_num_threads(1)
    learner = Learner(options.seed)
    play = player(options)
    measured.ready()
    losses, rewards = [], []
    for number in measured.rounds():
        with measured.clock() as told:
            reward, batch = play(learner.weights())
            loss = learner.update(batch)
            del batch  # a Compiled Graph's buffers, which it writes to again
            if (number + 1) % TARGET_COPY_ROUNDS == 0:
                learner.copy_to_target()
        told["loss"] = loss
        losses.append(loss)
        rewards.append(reward)
        measured.see(loss, reward)
    policy = greedy_policy(learner.weights())
    measured.see(policy)
    measured.figure(losses=losses, rewards=rewards, policy=policy)
    return losses, rewards, policy


def main():
    chosen = options(__doc__, rounds=500, warm_up=0, minibatch=500, seed=0, style=("naive", "compiled", "bare"))
    with Measured.of(chosen) as measured:
        losses, rewards, policy = run(measured, chosen)
        for number in range(0, len(losses), max(len(losses) // 10, 1)):
            print(f"round {number + 1:4}  loss {losses[number]:.9f}  mean episode reward {rewards[number]:+.4f}")
        print("policy (H: hit, S: stick) against the dealer's card A 2 3 4 5 6 7 8 9 10:")
        for hand, choices in policy.items():
            print(f"  {hand:>15}  {choices}")


if __name__ == "__main__":
    main()
