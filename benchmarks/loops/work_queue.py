"""Workers of different speed pull the next item from a queue actor and push results to another; the driver polls the results."""

import time

import ray
from counts import tell

ITEMS = 150


@ray.remote
class WorkQueue:
    def __init__(self):
        self.items = list(range(ITEMS))

    def next(self):
        return self.items.pop(0) if self.items else None


@ray.remote
class Results:
    def __init__(self):
        self.found = {}

    def put(self, item, result):
        self.found[item] = result

    def count(self):
        return len(self.found)


@ray.remote
class Worker:
    def __init__(self, seconds, queue, results):
        self.seconds, self.queue, self.results = seconds, queue, results

    def run(self):
        done, upcoming = [], self.queue.next.remote()
        while (item := ray.get(upcoming)) is not None:
            upcoming = self.queue.next.remote()  # asked for while this one is worked on
            time.sleep(self.seconds)
            self.results.put.remote(item, item**2)
            done.append(time.monotonic())
        return done


ray.init(num_cpus=8)
queue, results = WorkQueue.remote(), Results.remote()
workers = [Worker.remote(seconds, queue, results) for seconds in (0.1, 0.03, 0.04, 0.05)]
ray.get([actor.__ray_ready__.remote() for actor in [queue, results, *workers]])
start = time.monotonic()
running = [worker.run.remote() for worker in workers]
looks = []
while ray.get(results.count.remote()) < ITEMS:
    looks.append(time.monotonic())
    time.sleep(0.05)
tell(start, worker=ray.get(running), driver=looks)
