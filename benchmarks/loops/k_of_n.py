"""Stochastic gradient descent with backup workers: a round takes the first five gradients of eight workers; the others come later."""

import time

import numpy as np
import ray
from counts import tell

ROUNDS, ENOUGH = 60, 5


@ray.remote
class Worker:
    def __init__(self, number):
        self.number = number
        self.seconds = 0.3 if number == 2 else 0.02 + 0.004 * number

    def gradient(self, weights):
        time.sleep(self.seconds)
        return self.number, 2.0 * weights


ray.init(num_cpus=8)
workers = [Worker.remote(number) for number in range(8)]
ray.get([worker.__ray_ready__.remote() for worker in workers])
start = time.monotonic()
weights, pending, free = np.ones(100), [], list(range(len(workers)))
by_worker, rounds = [[] for _ in workers], []
for _ in range(ROUNDS):
    shared = ray.put(weights)
    pending += [workers[number].gradient.remote(shared) for number in free]
    ready, pending = ray.wait(pending, num_returns=ENOUGH)
    free = []
    for number, gradient in ray.get(ready):
        weights = weights - 0.001 * gradient
        by_worker[number].append(time.monotonic())
        free.append(number)
    rounds.append(time.monotonic())
tell(start, worker=by_worker, driver=rounds)
