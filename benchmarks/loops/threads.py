"""Recurrent replay as in R2D2: a buffer prepares batches and a learner learns in threads of their own; actors push, the driver looks."""

import random
import threading
import time

import ray
from counts import tell

UPDATES = 90


@ray.remote
class Buffer:
    def __init__(self):
        self.blocks, self.batches, self.lock = [], [], threading.Lock()
        threading.Thread(target=self.prepare, daemon=True).start()

    def prepare(self):
        while True:
            with self.lock:
                if self.blocks and len(self.batches) < 8:
                    self.batches.append(random.choices(self.blocks, k=16))
            time.sleep(0.01)

    def add(self, block):
        with self.lock:
            self.blocks.append(block)

    def get_batch(self):
        with self.lock:
            return self.batches.pop(0) if self.batches else None


@ray.remote
class Learner:
    def __init__(self, buffer):
        self.buffer, self.learnt = buffer, []

    def run(self):
        threading.Thread(target=self.train, daemon=True).start()

    def train(self):
        while len(self.learnt) < UPDATES:
            if ray.get(self.buffer.get_batch.remote()) is None:
                time.sleep(0.01)
                continue
            time.sleep(0.02)
            self.learnt.append(time.monotonic())

    def progress(self):
        return self.learnt

    def get_weights(self):
        return len(self.learnt)


@ray.remote
class Actor:
    def run(self, learner, buffer):
        steps = []
        while ray.get(learner.get_weights.remote()) < UPDATES:
            time.sleep(0.03)
            buffer.add.remote([random.random() for _ in range(20)])
            steps.append(time.monotonic())
        return steps


ray.init(num_cpus=8)
buffer = Buffer.remote()
learner = Learner.remote(buffer)
actors = [Actor.remote() for _ in range(3)]
ray.get([actor.__ray_ready__.remote() for actor in [buffer, learner, *actors]])
start = time.monotonic()
acting = [actor.run.remote(learner, buffer) for actor in actors]
learner.run.remote()
looks = []
while len(ray.get(learner.progress.remote())) < UPDATES:
    looks.append(time.monotonic())
    time.sleep(0.05)
tell(start, learner=ray.get(learner.progress.remote()), actor=ray.get(acting), driver=looks)
