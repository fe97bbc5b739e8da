"""A threaded replay buffer with a lock and a condition: writers add, a learner waits in it until there is enough."""

import random
import threading
import time

import ray
from counts import tell

WRITING, UPDATES, BATCH = 2.5, 80, 16


@ray.remote(max_concurrency=6)
class Buffer:
    def __init__(self):
        self.items, self.changed = [], threading.Condition()

    def add(self, items):
        with self.changed:
            self.items += items
            self.changed.notify_all()
            return len(self.items)

    def sample(self, number):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.items) >= number, timeout=0.05):
                return None
            return random.sample(self.items, number)


@ray.remote
class Writer:
    def run(self, buffer, seconds):
        written, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(random.uniform(0.005, 0.025))
            ray.get(buffer.add.remote([random.random() for _ in range(4)]))
            written.append(time.monotonic())
        return written


@ray.remote
class Learner:
    def run(self, buffer, updates):
        learnt = []
        while len(learnt) < updates:
            if ray.get(buffer.sample.remote(BATCH)) is not None:
                time.sleep(0.02)
                learnt.append(time.monotonic())
        return learnt


ray.init(num_cpus=8)
buffer, learner = Buffer.remote(), Learner.remote()
writers = [Writer.remote() for _ in range(3)]
ray.get([actor.__ray_ready__.remote() for actor in [buffer, learner, *writers]])
start = time.monotonic()
learning = learner.run.remote(buffer, UPDATES)
written = ray.get([writer.run.remote(buffer, WRITING) for writer in writers])
tell(start, writer=written, learner=ray.get(learning))
