"""IMPALA on CartPole-v1: four actors play with old weights, a learner corrects for that with V-trace, and nobody waits for all.

    python examples/impala.py                                                          # on Ray: another curve in each run
    python -m rayshim --ordering timed --timing impala.timing examples/impala.py       # one curve, from the first run on

It prints the mean return of the last 20 episodes after each 20 updates. All random numbers are seeded; what differs between runs on Ray
is which trajectory is ready first, and so with which weights each one is played.
"""

import logging
import os
import sys

import gymnasium
import numpy as np
import ray
import torch
from torch import nn

STEPS, DISCOUNT = 40, 0.99


def network():
    torch.set_num_threads(1)
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 3))  # logits of the two actions, value


@ray.remote
class Actor:
    def __init__(self, number):
        self.network, self.random = network(), torch.Generator().manual_seed(number)
        self.environment = gymnasium.make("CartPole-v1")
        self.observation, _ = self.environment.reset(seed=number)
        self.score = 0.0

    def play(self, weights):
        """Observations [STEPS + 1, 4]; actions, their log-probabilities, rewards and ends [STEPS]; returns of the episodes that ended."""
        self.network.load_state_dict(weights)
        observations, steps, scores = [self.observation], [], []
        for _ in range(STEPS):
            with torch.no_grad():
                logs = self.network(torch.from_numpy(self.observation))[:2].log_softmax(0)
            action = int(torch.multinomial(logs.exp(), 1, generator=self.random))
            self.observation, reward, terminated, truncated, _ = self.environment.step(action)
            self.score += float(reward)
            steps.append((action, float(logs[action]), reward, float(terminated or truncated)))
            if terminated or truncated:
                scores.append(self.score)
                self.observation, _ = self.environment.reset()
                self.score = 0.0
            observations.append(self.observation)
        return np.stack(observations), np.array(steps, np.float32), scores


def learn(network, optimizer, observations, steps):
    """One update by V-trace (Espeholt et al., 2018)."""
    actions, behaviour, rewards, ends = torch.from_numpy(steps.copy()).unbind(1)
    outputs = network(torch.from_numpy(observations.copy()))
    values, logs = outputs[:, 2], outputs[:-1, :2].log_softmax(1)
    taken = logs.gather(1, actions.long()[:, None])[:, 0]
    with torch.no_grad():
        ratio, going = (taken - behaviour).exp().clamp(max=1), DISCOUNT * (1 - ends)
        targets = values.clone()
        for t in reversed(range(STEPS)):
            error = rewards[t] + going[t] * values[t + 1] - values[t]
            targets[t] += ratio[t] * (error + going[t] * (targets[t + 1] - values[t + 1]))
        advantages = ratio * (rewards + going * targets[1:] - values[:-1])
    entropy = -(logs.exp() * logs).sum(1)
    loss = ((targets[:-1] - values[:-1]) ** 2 / 2 - taken * advantages - 0.01 * entropy).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 0.5)
    optimizer.step()


def train(updates):
    torch.manual_seed(1)
    learner = network()
    optimizer = torch.optim.Adam(learner.parameters(), lr=3e-3)
    actors = [Actor.remote(number) for number in range(4)]
    playing = {actor.play.remote(learner.state_dict()): actor for actor in actors}
    scores = []
    for update in range(1, updates + 1):
        (ready,), _ = ray.wait(list(playing))  # whoever is ready first
        actor = playing.pop(ready)
        observations, steps, ended = ray.get(ready)
        learn(learner, optimizer, observations, steps)
        playing[actor.play.remote(learner.state_dict())] = actor
        scores += ended
        if update % 20 == 0:
            print(f"update {update}: return {np.mean(scores[-20:]):.2f}", flush=True)


if __name__ == "__main__":
    ray.init(num_cpus=os.cpu_count(), log_to_driver=False, logging_level=logging.ERROR)
    train(int(sys.argv[1]) if sys.argv[1:] else 400)
    ray.shutdown()
