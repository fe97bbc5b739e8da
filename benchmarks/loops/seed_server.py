"""SEED: environments ask an inference server for each action; trajectories go through a queue actor to a learner, weights back."""

import time

import ray
from counts import tell

UPDATES, UNROLL = 50, 5


@ray.remote
class InferenceServer:
    def __init__(self):
        self.version, self.stopped = 0, False

    def infer(self, observation):
        """An action, or None when it is time to end."""
        time.sleep(0.001)
        return None if self.stopped else observation % 3 + self.version

    def set_weights(self, version):
        self.version = version

    def stop(self):
        self.stopped = True


@ray.remote
class TrajectoryQueue:
    def __init__(self):
        self.items = []

    def put(self, trajectory):
        self.items.append(trajectory)

    def take(self, n):
        if len(self.items) < n:
            return None
        taken, self.items = self.items[:n], self.items[n:]
        return taken


@ray.remote
class Environment:
    def run(self, server, queue):
        steps, trajectory = [], []
        while (action := ray.get(server.infer.remote(len(steps)))) is not None:
            time.sleep(0.02)
            trajectory.append(action)
            steps.append(time.monotonic())
            if len(trajectory) == UNROLL:
                queue.put.remote(trajectory)
                trajectory = []
        return steps


@ray.remote
class Learner:
    def run(self, server, queue):
        learnt = []
        while len(learnt) < UPDATES:
            if ray.get(queue.take.remote(2)) is None:
                time.sleep(0.005)
                continue
            time.sleep(0.03)
            learnt.append(time.monotonic())
            server.set_weights.remote(len(learnt))
        return learnt


ray.init(num_cpus=8)
server, queue, learner = InferenceServer.remote(), TrajectoryQueue.remote(), Learner.remote()
environments = [Environment.remote() for _ in range(4)]
ray.get([actor.__ray_ready__.remote() for actor in [server, queue, learner, *environments]])
start = time.monotonic()
stepping = [environment.run.remote(server, queue) for environment in environments]
learnt = ray.get(learner.run.remote(server, queue))
ray.get(server.stop.remote())
tell(start, learner=learnt, environment=ray.get(stepping))
