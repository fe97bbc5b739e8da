"""Rollouts, a trainer and an evaluator as coroutines of the driver, over actors that generate and one that learns."""

import asyncio
import random
import time

import ray
from counts import tell

ROLLOUTS, BATCH, AT_ONCE = 300, 10, 8


@ray.remote
class Generator:
    def __init__(self):
        self.version = 0

    def generate(self, prompt):
        time.sleep(random.expovariate(1 / 0.02))
        return prompt, self.version

    def update(self, version):
        self.version = version


@ray.remote
class Trainer:
    def __init__(self):
        self.version = self.lag = 0

    def train(self, batch):
        time.sleep(0.03)
        self.version += 1
        self.lag += sum(self.version - version for _, version in batch)
        return self.version


async def main():
    ray.init(num_cpus=8)
    generators, trainer = [Generator.remote() for _ in range(4)], Trainer.remote()
    await asyncio.gather(*(actor.__ray_ready__.remote() for actor in [*generators, trainer]))
    samples, free, learnt, looks, start = asyncio.Queue(2 * BATCH), asyncio.Semaphore(AT_ONCE), [], [], time.monotonic()
    rolled = []

    async def roll_out(number):
        async with free:
            sample = await generators[number % len(generators)].generate.remote(number)
            rolled.append(time.monotonic())
            await samples.put(sample)

    async def train():
        for _ in range(ROLLOUTS // BATCH):
            batch = [await samples.get() for _ in range(BATCH)]
            version = await trainer.train.remote(batch)
            await asyncio.gather(*(generator.update.remote(version) for generator in generators))
            learnt.append(time.monotonic())

    async def evaluate():
        while True:
            await asyncio.sleep(0.05)
            await generators[0].generate.remote(-1)
            looks.append(time.monotonic())

    evaluating = asyncio.create_task(evaluate())
    await asyncio.gather(train(), *(roll_out(number) for number in range(ROLLOUTS)))
    evaluating.cancel()
    tell(start, rollout=rolled, trainer=learnt, evaluator=looks)


asyncio.run(main())
