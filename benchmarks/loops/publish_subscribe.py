"""A hub: two publishers at different rates, three subscribers that poll for what they have not seen; the driver publishes the end."""

import time

import ray
from counts import tell

SECONDS = 2.5


@ray.remote
class Hub:
    def __init__(self):
        self.messages = {}

    def publish(self, topic, message):
        self.messages.setdefault(topic, []).append(message)

    def poll(self, topic, seen):
        """The messages of a topic after the first `seen`."""
        return self.messages.get(topic, [])[seen:]


@ray.remote
class Publisher:
    def run(self, hub, topic, pause):
        published = []
        while not ray.get(hub.poll.remote("end", 0)):
            time.sleep(pause)
            hub.publish.remote(topic, time.monotonic())
            published.append(time.monotonic())
        return published


@ray.remote
class Subscriber:
    def run(self, hub, topic):
        received, polls = [], []
        while not ray.get(hub.poll.remote("end", 0)):
            messages = ray.get(hub.poll.remote(topic, len(received)))
            received += [time.monotonic()] * len(messages)
            polls.append(time.monotonic())
            time.sleep(0.025)
        return received, polls


ray.init(num_cpus=8)
hub = Hub.remote()
publishers = [Publisher.remote() for _ in range(2)]
subscribers = [Subscriber.remote() for _ in range(3)]
ray.get([actor.__ray_ready__.remote() for actor in [hub, *publishers, *subscribers]])
start = time.monotonic()
publishing = [publisher.run.remote(hub, f"topic {i}", 0.02 * (i + 1)) for i, publisher in enumerate(publishers)]
subscribing = [subscriber.run.remote(hub, f"topic {i % 2}") for i, subscriber in enumerate(subscribers)]
looks = []
while time.monotonic() < start + SECONDS:
    ray.get(hub.poll.remote("topic 0", len(looks)))
    looks.append(time.monotonic())
    time.sleep(0.05)
ray.get(hub.publish.remote("end", True))
received, polls = map(list, zip(*ray.get(subscribing), strict=True))
tell(start, publisher=ray.get(publishing), received=received, subscriber=polls, driver=looks)
