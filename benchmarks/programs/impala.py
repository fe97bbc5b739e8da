"""Actor-learner after IMPALA on CartPole-v1: actors play with old weights, the learner corrects for it with V-trace.

    python benchmarks/programs/impala.py              # on Ray
    python -m rayshim benchmarks/programs/impala.py   # on rayshim

After "IMPALA: Scalable Distributed Deep-RL with Importance Weighted Actor-Learner Architectures". Whoever has played its --steps
steps first is learnt from first (`wait`) and goes on with the newest weights; a round is one trajectory of each actor. The order
is a matter of time, so the trace has only what must hold in every order.
"""

import gymnasium
import numpy as np
import plain
import ray
import torch
from measured import Measured, options

HIDDEN, DISCOUNT, RATE, ENTROPY = 64, 0.99, 2e-3, 0.01


def outputs(weights, observation):
    """Logits of the two actions in numpy: actors import no torch."""
    hidden = np.tanh(weights[0] @ observation + weights[1])
    return weights[2] @ hidden + weights[3]


class Player:
    def __init__(self, index):
        self.random = np.random.default_rng([7, index])
        self.environment = gymnasium.make("CartPole-v1")
        self.observation, _ = self.environment.reset(seed=index)

    def ready(self):
        return True

    def play(self, weights, steps):
        """Observations [steps + 1, 4], actions, logarithms of their chances, rewards, ends, each [steps]."""
        observations, actions = np.empty((steps + 1, 4), np.float32), np.empty(steps, np.int64)
        chances, rewards, ends = (np.empty(steps, np.float32) for _ in range(3))
        for step in range(steps):
            logits = outputs(weights, self.observation)
            logs = logits - np.logaddexp(logits[0], logits[1])
            action = int(self.random.random() < np.exp(logs[1]))
            observations[step], actions[step], chances[step] = self.observation, action, logs[action]
            self.observation, rewards[step], terminated, truncated, _ = self.environment.step(action)
            ends[step] = terminated or truncated
            if terminated or truncated:
                self.observation, _ = self.environment.reset()
        observations[steps] = self.observation
        return observations, actions, chances, rewards, ends


class Learner:
    def __init__(self):
        torch.set_num_threads(1)
        torch.manual_seed(0)
        linear, tanh = torch.nn.Linear, torch.nn.Tanh
        self.policy = torch.nn.Sequential(linear(4, HIDDEN), tanh(), linear(HIDDEN, 2))
        self.value = torch.nn.Sequential(linear(4, HIDDEN), tanh(), linear(HIDDEN, 1))
        self.optimizer = torch.optim.Adam([*self.policy.parameters(), *self.value.parameters()], lr=RATE)
        self.steps = 0

    def weights(self):
        return [parameter.detach().numpy().copy() for parameter in self.policy.parameters()]

    def learn(self, trajectory):
        """One update; returns the policy's weights."""
        # torch warns of arrays that are read-only, which what arrives is.
        observations, actions, chances, rewards, ends = (torch.from_numpy(part.copy()) for part in trajectory)
        self.steps += len(actions)
        logs = torch.log_softmax(self.policy(observations[:-1]), dim=1)
        taken = logs.gather(1, actions.unsqueeze(1)).squeeze(1)
        values = self.value(observations).squeeze(1)
        with torch.no_grad():
            ratio = (taken - chances).exp().clamp(max=1.0)
            going = DISCOUNT * (1.0 - ends)
            errors = ratio * (rewards + going * values[1:] - values[:-1])
            corrections = torch.zeros(len(actions) + 1)
            for step in reversed(range(len(actions))):
                corrections[step] = errors[step] + going[step] * ratio[step] * corrections[step + 1]
            targets = values + corrections
            advantages = ratio * (rewards + going * targets[1:] - values[:-1])
        entropy = -(logs.exp() * logs).sum(dim=1).mean()
        loss = -(taken * advantages).mean() + 0.5 * (targets[:-1] - values[:-1]).square().mean() - ENTROPY * entropy
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return self.weights()

    def learnt(self):
        return self.steps


def run(measured, options, ray=ray):
    ray.init(include_dashboard=False)
    player_class = ray.remote(Player)
    players = [player_class.remote(index) for index in range(options.players)]
    learner = ray.remote(Learner).remote()
    ray.get([player.ready.remote() for player in players])
    weights = learner.weights.remote()
    playing = [(player.play.remote(weights, options.steps), player) for player in players]
    measured.ready()
    for number in measured.rounds():
        with measured.clock():
            for _ in players:
                (done,), _ = ray.wait([ref for ref, _ in playing])
                place = next(place for place, (ref, _) in enumerate(playing) if ref is done)
                _, player = playing.pop(place)
                weights = learner.learn.remote(done)
                playing.append((player.play.remote(weights, options.steps), player))
        measured.see(number)
    ray.get([ref for ref, _ in playing])
    measured.see(ray.get(learner.learnt.remote()))


if __name__ == "__main__":
    chosen = options(__doc__, players=4, steps=50, style=("naive", "bare"))
    with Measured.of(chosen) as measured:
        run(measured, chosen, plain if chosen.style == "bare" else ray)
