"""Eight workers, each asked again as soon as `wait` gives its result, until there are enough results.

python benchmarks/loops/stragglers.py slow      # one takes 0.5 s, the others 0.01 s
python benchmarks/loops/stragglers.py tail      # one call in twenty takes 0.4 s, whoever gets it
python benchmarks/loops/stragglers.py change    # half-way another one becomes the slow one
"""

import random
import sys
import time

import ray
from counts import tell

FORM = sys.argv[1] if len(sys.argv) > 1 else "slow"
RESULTS = 400 if FORM == "slow" else 800


@ray.remote
class Worker:
    def __init__(self, number):
        self.number, self.random = number, random.Random(number)

    def work(self, done):
        time.sleep(self.seconds(done))
        return self.number

    def seconds(self, done):
        if FORM == "tail":
            return 0.4 if self.random.random() < 0.05 else 0.01
        slow = 3 if FORM == "slow" or done < RESULTS // 2 else 5
        return 0.5 if self.number == slow else 0.01


ray.init(num_cpus=8)
workers = [Worker.remote(number) for number in range(8)]
ray.get([worker.__ray_ready__.remote() for worker in workers])
start = time.monotonic()
pending = {worker.work.remote(0): worker for worker in workers}
by_worker, results = [[] for _ in workers], []
while len(results) < RESULTS:
    ready, _ = ray.wait(list(pending))
    for ref in ready:
        worker = pending.pop(ref)
        results.append(time.monotonic())
        by_worker[ray.get(ref)].append(time.monotonic())
        pending[worker.work.remote(len(results))] = worker
never_slow = {} if FORM == "tail" else {"fast_worker": [by_worker[number] for number in (0, 1, 2, 4, 6, 7)]}
tell(start, driver=results, **never_slow)
