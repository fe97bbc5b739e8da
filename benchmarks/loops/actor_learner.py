"""Actor and learner: four players take the newest weights, play, and send what they saw; the learner takes what has come.

python benchmarks/loops/actor_learner.py               # on Ray
python -m rayshim benchmarks/loops/actor_learner.py    # on rayshim
"""

import time

import numpy as np
import ray
from counts import tell

UPDATES = 120


@ray.remote
class ParameterStore:
    def __init__(self):
        self.version, self.weights = 0, np.zeros(256)

    def get(self):
        return self.version, self.weights

    def set(self, version, weights):
        self.version, self.weights = version, weights


@ray.remote
class Inbox:
    def __init__(self):
        self.trajectories = []

    def put(self, trajectory):
        self.trajectories.append(trajectory)

    def take(self):
        taken, self.trajectories = self.trajectories, []
        return taken


@ray.remote
class Player:
    def __init__(self, number):
        self.random = np.random.default_rng(number)

    def run(self, store, inbox):
        played = []
        while True:
            version, weights = ray.get(store.get.remote())
            if version >= UPDATES:
                return played
            trajectory = weights + self.random.standard_normal(256)
            time.sleep(0.03)
            inbox.put.remote(trajectory)
            played.append(time.monotonic())


@ray.remote
class Learner:
    def run(self, store, inbox):
        weights, learnt = np.zeros(256), []
        while len(learnt) < UPDATES:
            trajectories = ray.get(inbox.take.remote())
            if not trajectories:
                time.sleep(0.005)
                continue
            weights = 0.99 * weights + 0.01 * np.mean(trajectories, axis=0)
            time.sleep(0.02)
            learnt.append(time.monotonic())
            store.set.remote(len(learnt), weights)
        return learnt


ray.init(num_cpus=8)
store, inbox, learner = ParameterStore.remote(), Inbox.remote(), Learner.remote()
players = [Player.remote(number) for number in range(4)]
ray.get([actor.__ray_ready__.remote() for actor in [store, inbox, learner, *players]])
start = time.monotonic()
playing = [player.run.remote(store, inbox) for player in players]
learnt = ray.get(learner.run.remote(store, inbox))
tell(start, learner=learnt, player=ray.get(playing))
