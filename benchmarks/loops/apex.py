"""Ape-X: the driver refills samplers, two shards of prioritised replay and a learner as `wait` tells it what is done."""

import random
import time

import ray
from counts import tell

UPDATES = 120


@ray.remote
class Sampler:
    def __init__(self, number):
        self.seconds, self.weights = 0.03 + 0.02 * number, 0

    def set_weights(self, weights):
        self.weights = weights

    def sample(self):
        time.sleep(self.seconds)
        return [random.random() for _ in range(20)]


@ray.remote
class Shard:
    def __init__(self):
        self.items, self.priorities = [], []

    def add(self, samples):
        self.items += samples
        self.priorities += [1.0] * len(samples)

    def replay(self):
        if not self.items:
            time.sleep(0.01)
            return []
        return random.choices(range(len(self.items)), self.priorities, k=16)

    def update_priorities(self, learnt):
        for index, priority in learnt:
            self.priorities[index] = priority


@ray.remote
class Learner:
    def learn(self, indices):
        if indices:
            time.sleep(0.02)
        return [(index, random.random()) for index in indices]


ray.init(num_cpus=8)
samplers, shards, learner = (
    [Sampler.remote(number) for number in range(4)],
    [Shard.remote() for _ in range(2)],
    Learner.remote(),
)
ray.get([actor.__ray_ready__.remote() for actor in [learner, *samplers, *shards]])
start = time.monotonic()
sampling = {sampler.sample.remote(): sampler for sampler in samplers}
learning = {learner.learn.remote(shard.replay.remote()): shard for shard in shards}
sampled, learnt, turns = {sampler: [] for sampler in samplers}, [], []
while len(learnt) < UPDATES:
    (ref,), _ = ray.wait([*sampling, *learning])
    turns.append(time.monotonic())
    if sampler := sampling.pop(ref, None):
        random.choice(shards).add.remote(ref)
        sampled[sampler].append(time.monotonic())
        sampler.set_weights.remote(len(learnt))
        sampling[sampler.sample.remote()] = sampler
    else:
        shard = learning.pop(ref)
        if ray.get(ref):
            learnt.append(time.monotonic())
            shard.update_priorities.remote(ref)
        learning[learner.learn.remote(shard.replay.remote())] = shard
tell(start, sampler=list(sampled.values()), learner=learnt, driver=turns)
