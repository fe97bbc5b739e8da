"""`ActorPool.map_unordered` over four actors of different speed: whoever is free gets the next item."""

import time

import ray
from counts import tell

ITEMS = 200


@ray.remote
class Worker:
    def __init__(self, number, seconds):
        self.number, self.seconds = number, seconds

    def work(self, item):
        time.sleep(self.seconds)
        return self.number, item


ray.init(num_cpus=8)
workers = [Worker.remote(number, seconds) for number, seconds in enumerate((0.3, 0.02, 0.03, 0.04))]
ray.get([worker.__ray_ready__.remote() for worker in workers])
start = time.monotonic()
pool = ray.util.ActorPool(workers)
by_worker, results = [[] for _ in workers], []
for number, _ in pool.map_unordered(lambda worker, item: worker.work.remote(item), range(ITEMS)):
    by_worker[number].append(time.monotonic())
    results.append(time.monotonic())
tell(start, worker=by_worker, driver=results)
