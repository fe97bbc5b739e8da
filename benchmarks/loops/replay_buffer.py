"""A replay buffer with three writers, each for a fixed time, and a learner that samples from it; the driver looks at both."""

import random
import time

import ray
from counts import tell

WRITING, UPDATES, BATCH = 2.5, 100, 16


@ray.remote
class ReplayBuffer:
    def __init__(self, capacity):
        self.capacity, self.items, self.added = capacity, [], 0

    def add(self, item):
        self.items.append(item)
        self.items = self.items[-self.capacity :]
        self.added += 1
        return self.added

    def sample(self, n):
        return random.sample(self.items, n) if len(self.items) >= n else None

    def size(self):
        return len(self.items)


@ray.remote
class Writer:
    def run(self, buffer, seconds):
        written, end, pending = [], time.monotonic() + seconds, None
        while time.monotonic() < end:
            time.sleep(0.015)
            if len(written) % 10 == 0 and pending is not None:
                ray.get(pending)  # no more than ten ahead of the buffer
            pending = buffer.add.remote([random.random() for _ in range(10)])
            written.append(time.monotonic())
        return written


@ray.remote
class Learner:
    def run(self, buffer, updates):
        learnt = []
        while len(learnt) < updates:
            batch = ray.get(buffer.sample.remote(BATCH))
            if batch is None:
                time.sleep(0.01)
                continue
            time.sleep(0.02)
            learnt.append(time.monotonic())
        return learnt


ray.init(num_cpus=8)
buffer, learner = ReplayBuffer.remote(1000), Learner.remote()
writers = [Writer.remote() for _ in range(3)]
ray.get([actor.__ray_ready__.remote() for actor in [buffer, learner, *writers]])
start = time.monotonic()
running = [writer.run.remote(buffer, WRITING) for writer in writers] + [learner.run.remote(buffer, UPDATES)]
looks, left = [], running
while left:
    ray.get(buffer.size.remote())
    looks.append(time.monotonic())
    _, left = ray.wait(left, num_returns=len(left), timeout=0.05)
*written, learnt = ray.get(running)
tell(start, writer=written, learner=learnt, driver=looks)
