"""Six actors that each train a small network of their own, with torch as it comes: nothing sets the number of its threads."""

import time

import ray
import torch
from counts import tell

ACTORS, STEPS, BATCH = 6, 300, 128


@ray.remote
class Learner:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.network = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3)
        self.inputs, self.targets = torch.randn(BATCH, 64), torch.randn(BATCH, 8)
        self.step()

    def step(self):
        self.optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(self.network(self.inputs), self.targets)
        loss.backward()
        self.optimizer.step()

    def train(self, steps):
        done = []
        for _ in range(steps):
            self.step()
            done.append(time.monotonic())
        return done


ray.init(num_cpus=ACTORS)
learners = [Learner.remote(seed) for seed in range(ACTORS)]
ray.get([learner.train.remote(1) for learner in learners])  # all are there
start = time.monotonic()
tell(start, learner=ray.get([learner.train.remote(STEPS) for learner in learners]))
