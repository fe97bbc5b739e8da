"""Supervisors that are actors wait for workers of their own; the driver waits for the supervisors and asks each again."""

import time

import ray
from counts import tell

CHUNK, CHUNKS = 20, 30


@ray.remote
class Worker:
    def __init__(self, seconds):
        self.seconds = seconds

    def work(self):
        time.sleep(self.seconds)


@ray.remote
class Supervisor:
    def __init__(self, slowest):
        self.workers = [Worker.remote(seconds) for seconds in (slowest, 0.02, 0.03)]
        ray.get([worker.__ray_ready__.remote() for worker in self.workers])
        self.pending = {}

    def collect(self):
        """The times of a chunk of results; what is still under way then belongs to the next chunk."""
        for worker in self.workers:
            if worker not in self.pending.values():
                self.pending[worker.work.remote()] = worker
        done = []
        while len(done) < CHUNK:
            (ref,), _ = ray.wait(list(self.pending))
            worker = self.pending.pop(ref)
            done.append(time.monotonic())
            self.pending[worker.work.remote()] = worker
        return done


ray.init(num_cpus=16)
supervisors = [Supervisor.remote(slowest) for slowest in (0.3, 0.05, 0.15)]
ray.get([supervisor.__ray_ready__.remote() for supervisor in supervisors])
start = time.monotonic()
collecting = {supervisor.collect.remote(): supervisor for supervisor in supervisors}
collected, chunks = {supervisor: [] for supervisor in supervisors}, []
while len(chunks) < CHUNKS:
    (ref,), _ = ray.wait(list(collecting))
    supervisor = collecting.pop(ref)
    collected[supervisor] += ray.get(ref)
    chunks.append(time.monotonic())
    collecting[supervisor.collect.remote()] = supervisor
tell(start, supervisor=list(collected.values()), driver=chunks)
