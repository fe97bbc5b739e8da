"""An asynchronous parameter server with workers of different speed; gradients are computed in numpy, the driver watches the loss."""

import time

import numpy as np
import ray
from counts import tell

PUSHES = 250
RANDOM = np.random.default_rng(0)
INPUTS, TRUE = RANDOM.standard_normal((512, 32)), RANDOM.standard_normal(32)
TARGETS = INPUTS @ TRUE


@ray.remote
class Server:
    def __init__(self):
        self.weights, self.pushes = np.zeros(32), 0

    def pull(self):
        """The weights, or None once there were enough pushes."""
        return self.weights if self.pushes < PUSHES else None

    def push(self, gradient):
        self.weights = self.weights - 0.02 * gradient
        self.pushes += 1

    def progress(self):
        return self.pushes, float(np.mean((INPUTS @ self.weights - TARGETS) ** 2))


@ray.remote
class Worker:
    def __init__(self, number):
        self.pause, self.random = 0.01 * 2**number, np.random.default_rng(number)

    def run(self, server):
        steps = []
        while (weights := ray.get(server.pull.remote())) is not None:
            chosen = self.random.integers(len(INPUTS), size=64)
            gradient = INPUTS[chosen].T @ (INPUTS[chosen] @ weights - TARGETS[chosen]) / 64
            time.sleep(self.pause)
            server.push.remote(gradient)
            steps.append(time.monotonic())
        return steps


ray.init(num_cpus=8)
server, workers = Server.remote(), [Worker.remote(number) for number in range(4)]
ray.get([actor.__ray_ready__.remote() for actor in [server, *workers]])
start = time.monotonic()
running = [worker.run.remote(server) for worker in workers]
looks = []
while ray.get(server.progress.remote())[0] < PUSHES:
    looks.append(time.monotonic())
    time.sleep(0.05)
tell(start, worker=ray.get(running), driver=looks)
