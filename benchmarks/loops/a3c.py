"""Asynchronous advantage actor-critic: workers of different speed share a counter of steps and the parameters; the driver polls."""

import time

import ray
from counts import tell

STEPS = 300


@ray.remote
class Counter:
    def __init__(self):
        self.n = 0

    def add(self, k):
        self.n += k
        return self.n

    def get(self):
        return self.n


@ray.remote
class Parameters:
    def __init__(self):
        self.values = [0.0] * 64

    def get(self):
        return self.values

    def apply(self, gradient):
        self.values = [value - 0.01 * part for value, part in zip(self.values, gradient, strict=True)]


@ray.remote
class Worker:
    def __init__(self, number, counter, parameters):
        self.seconds, self.counter, self.parameters = 0.02 + 0.01 * number, counter, parameters

    def run(self):
        steps = []
        while ray.get(self.counter.add.remote(1)) <= STEPS:
            values = ray.get(self.parameters.get.remote())
            time.sleep(self.seconds)
            self.parameters.apply.remote([value + 1.0 for value in values])
            steps.append(time.monotonic())
        return steps


ray.init(num_cpus=8)
counter, parameters = Counter.remote(), Parameters.remote()
workers = [Worker.remote(number, counter, parameters) for number in range(4)]
ray.get([actor.__ray_ready__.remote() for actor in [counter, parameters, *workers]])
start = time.monotonic()
running = [worker.run.remote() for worker in workers]
looks = []
while ray.get(counter.get.remote()) < STEPS:
    looks.append(time.monotonic())
    time.sleep(0.05)
tell(start, worker=ray.get(running), driver=looks)
