"""The same hub in asyncio: subscribers wait in it for the next message; publishers and the driver do not wait for them."""

import asyncio
import time

import ray
from counts import tell

MESSAGES = 100


@ray.remote
class Hub:
    def __init__(self):
        self.messages, self.more = [], asyncio.Event()

    async def publish(self, message):
        self.messages.append(message)
        self.more.set()
        self.more = asyncio.Event()

    async def next(self, seen):
        """The messages after the first `seen`, once there are any."""
        while len(self.messages) <= seen:
            await self.more.wait()
        return self.messages[seen:]

    async def count(self):
        return len(self.messages)


@ray.remote
class Publisher:
    def run(self, hub):
        published = []
        for number in range(MESSAGES):
            time.sleep(0.025)
            hub.publish.remote(number)
            published.append(time.monotonic())
        return published


@ray.remote
class Subscriber:
    def run(self, hub, work):
        received, rounds = 0, []
        while received < MESSAGES:
            received += len(ray.get(hub.next.remote(received)))
            time.sleep(work)
            rounds.append(time.monotonic())
        return rounds


ray.init(num_cpus=8)
hub, publisher = Hub.remote(), Publisher.remote()
subscribers = [Subscriber.remote() for _ in range(3)]
ray.get([actor.__ray_ready__.remote() for actor in [hub, publisher, *subscribers]])
start = time.monotonic()
subscribing = [
    subscriber.run.remote(hub, work) for subscriber, work in zip(subscribers, (0.005, 0.03, 0.06), strict=True)
]
publishing = publisher.run.remote(hub)
looks = []
while ray.get(hub.count.remote()) < MESSAGES:
    looks.append(time.monotonic())
    time.sleep(0.05)
tell(start, publisher=ray.get(publishing), subscriber=ray.get(subscribing), driver=looks)
