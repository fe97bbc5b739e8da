"""A trainer saves checkpoints, an evaluator polls for the newest and evaluates it; the driver shows what the evaluator has found."""

import time

import ray
from counts import tell

EPOCHS = 60


@ray.remote
class Checkpoints:
    def __init__(self):
        self.epoch, self.weights, self.results = 0, None, []

    def save(self, epoch, weights):
        self.epoch, self.weights = epoch, weights

    def latest(self):
        return self.epoch, self.weights

    def report(self, epoch, score):
        self.results.append((epoch, score))

    def reported(self):
        return len(self.results)


@ray.remote
class Trainer:
    def train(self, checkpoints):
        trained = []
        for epoch in range(1, EPOCHS + 1):
            time.sleep(0.045)
            checkpoints.save.remote(epoch, [epoch] * 100)
            trained.append(time.monotonic())
        return trained


@ray.remote
class Evaluator:
    def run(self, checkpoints):
        seen, evaluated, polls = 0, [], []
        while seen < EPOCHS:
            epoch, weights = ray.get(checkpoints.latest.remote())
            polls.append(time.monotonic())
            if epoch == seen:
                time.sleep(0.01)
                continue
            seen = epoch
            time.sleep(0.03)
            checkpoints.report.remote(epoch, sum(weights))
            evaluated.append(time.monotonic())
        return evaluated, polls


ray.init(num_cpus=4)
checkpoints, trainer, evaluator = Checkpoints.remote(), Trainer.remote(), Evaluator.remote()
ray.get([actor.__ray_ready__.remote() for actor in (checkpoints, trainer, evaluator)])
start = time.monotonic()
training, evaluating = trainer.train.remote(checkpoints), evaluator.run.remote(checkpoints)
looks = []
while not ray.wait([evaluating], timeout=0.1)[0]:
    ray.get(checkpoints.reported.remote())
    looks.append(time.monotonic())
evaluated, polls = ray.get(evaluating)
tell(start, trainer=ray.get(training), evaluations=evaluated, evaluator_polls=polls, driver=looks)
