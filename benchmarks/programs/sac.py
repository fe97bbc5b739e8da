"""Soft actor-critic on Pendulum-v1 with sampling, updates and evaluation in actors of their own, all at the same time.

    python benchmarks/programs/sac.py              # on Ray
    python -m rayshim benchmarks/programs/sac.py   # on rayshim

The layout of "Spreeze: High-Throughput Parallel Reinforcement Learning Framework". In a round the samplers play --steps steps
with the weights of two rounds ago, the learner makes --updates updates from what was sampled up to the round before, and an
evaluator plays an episode now and then; none waits for another within the round. So what is learnt depends on no timing.
"""

import copy

import gymnasium
import numpy as np
import plain
import ray
import torch
from measured import Measured, options

HIDDEN, BATCH, CAPACITY = 64, 128, 100_000
DISCOUNT, SMOOTHING, TEMPERATURE, RATE = 0.99, 0.005, 0.1, 1e-3
LIMIT = 2.0
WIDTH = 3 + 1 + 1 + 3
EVALUATION_ROUNDS = 10


def layers(inputs, outputs):
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    return torch.nn.Sequential(linear(inputs, HIDDEN), relu(), linear(HIDDEN, HIDDEN), relu(), linear(HIDDEN, outputs))


def policy(weights, observation):
    """Mean and logarithm of the deviation before the squashing, in numpy: samplers and evaluator import no torch."""
    hidden = observation
    for place in (0, 2):
        hidden = np.maximum(weights[place] @ hidden + weights[place + 1], 0.0)
    mean, deviation = weights[4] @ hidden + weights[5]
    return mean, np.clip(deviation, -5.0, 2.0)


class Sampler:
    def __init__(self, index):
        self.random = np.random.default_rng([5, index])
        self.environment = gymnasium.make("Pendulum-v1")
        self.observation, _ = self.environment.reset(seed=index)

    def ready(self):
        return True

    def sample(self, weights, steps):
        """Plays `steps` steps; float32 [steps, WIDTH] of observation, action, reward, next observation."""
        found = np.empty((steps, WIDTH), np.float32)
        for step in range(steps):
            mean, deviation = policy(weights, self.observation)
            action = np.tanh(mean + np.exp(deviation) * self.random.standard_normal())
            after, reward, _, truncated, _ = self.environment.step(np.array([LIMIT * action], np.float32))
            found[step] = [*self.observation, action, reward / 10.0, *after]
            self.observation = self.environment.reset()[0] if truncated else after
        return found


class Evaluator:
    def __init__(self):
        self.environment = gymnasium.make("Pendulum-v1")

    def ready(self):
        return True

    def evaluate(self, weights, seed):
        """The return of one episode without noise."""
        observation, _ = self.environment.reset(seed=seed)
        total, truncated = 0.0, False
        while not truncated:
            action = np.array([LIMIT * np.tanh(policy(weights, observation)[0])], np.float32)
            observation, reward, _, truncated, _ = self.environment.step(action)
            total += float(reward)
        return total


class Learner:
    def __init__(self):
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.actor, self.critics = layers(3, 2), torch.nn.ModuleList([layers(4, 1), layers(4, 1)])
        self.targets = copy.deepcopy(self.critics)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=RATE)
        self.critics_optimizer = torch.optim.Adam(self.critics.parameters(), lr=RATE)
        self.random = np.random.default_rng(6)
        self.memory, self.stored = np.empty((CAPACITY, WIDTH), np.float32), 0

    def weights(self):
        return [parameter.detach().numpy().copy() for parameter in self.actor.parameters()]

    def update(self, updates, *sampled):
        """Stores what was sampled and makes the updates; returns the policy's weights and the last loss of the critics."""
        for part in sampled:
            places = np.arange(self.stored, self.stored + len(part)) % CAPACITY
            self.memory[places] = part
            self.stored += len(part)
        for _ in range(updates):
            loss = self._update(
                torch.from_numpy(self.memory[self.random.integers(min(self.stored, CAPACITY), size=BATCH)])
            )
        return self.weights(), loss

    def _act(self, observations):
        """Actions drawn by reparametrisation, with the logarithm of their density."""
        mean, deviation = self.actor(observations).chunk(2, dim=1)
        drawn = torch.distributions.Normal(mean, deviation.clamp(-5.0, 2.0).exp())
        before = drawn.rsample()
        actions = torch.tanh(before)
        return actions, drawn.log_prob(before) - torch.log1p(-actions.square() + 1e-6)

    def _update(self, batch):
        observations, actions, rewards, after = batch.split((3, 1, 1, 3), dim=1)
        with torch.no_grad():
            next_actions, density = self._act(after)
            values = [target(torch.cat([after, next_actions], 1)) for target in self.targets]
            wanted = rewards + DISCOUNT * (torch.minimum(*values) - TEMPERATURE * density)
        taken = torch.cat([observations, actions], 1)
        loss = sum((critic(taken) - wanted).square().mean() for critic in self.critics)
        self.critics_optimizer.zero_grad()
        loss.backward()
        self.critics_optimizer.step()
        chosen, density = self._act(observations)
        values = [critic(torch.cat([observations, chosen], 1)) for critic in self.critics]
        self.actor_optimizer.zero_grad()
        (TEMPERATURE * density - torch.minimum(*values)).mean().backward()
        self.actor_optimizer.step()
        with torch.no_grad():
            for target, critic in zip(self.targets.parameters(), self.critics.parameters(), strict=True):
                target.lerp_(critic, SMOOTHING)
        return loss.item()


def run(measured, options, ray=ray):
    ray.init(include_dashboard=False)
    sampler_class = ray.remote(Sampler)
    samplers = [sampler_class.remote(index) for index in range(options.samplers)]
    learner, evaluator = ray.remote(Learner).remote(), ray.remote(Evaluator).remote()
    ray.get([actor.ready.remote() for actor in [*samplers, evaluator]])
    weights = before = ray.get(learner.weights.remote())
    sampled = ray.get([sampler.sample.remote(weights, options.steps) for sampler in samplers])
    scores = []
    measured.ready()
    for number in measured.rounds():
        with measured.clock():
            updated = learner.update.remote(options.updates, *sampled)
            sampled = [sampler.sample.remote(before, options.steps) for sampler in samplers]
            if number % EVALUATION_ROUNDS == 0:
                scores.append(evaluator.evaluate.remote(before, number))
            before = weights
            weights, loss = ray.get(updated)
        measured.see(loss)
    scores = ray.get(scores)
    measured.see(scores, weights)
    measured.figure(frames_per_round=options.updates * BATCH, returns=scores)


if __name__ == "__main__":
    chosen = options(__doc__, samplers=2, steps=100, updates=10, style=("naive", "bare"))
    with Measured.of(chosen) as measured:
        run(measured, chosen, plain if chosen.style == "bare" else ray)
