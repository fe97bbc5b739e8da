"""A producer that a token bucket holds to a rate, a bounded queue, and two consumers that poll it."""

import itertools
import time

import ray
from counts import tell

ITEMS, RATE, BURST, ROOM = 160, 60.0, 5, 8


@ray.remote
class TokenBucket:
    def __init__(self):
        self.tokens, self.filled = BURST, time.monotonic()

    def acquire(self):
        now = time.monotonic()
        self.tokens, self.filled = min(self.tokens + RATE * (now - self.filled), BURST), now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


@ray.remote
class BoundedQueue:
    def __init__(self):
        self.items, self.closed = [], False

    def offer(self, item):
        if len(self.items) >= ROOM:
            return False
        self.items.append(item)
        return True

    def close(self):
        self.closed = True

    def poll(self):
        """(item, whether more may come); the item is None if there is none now."""
        return (self.items.pop(0), True) if self.items else (None, not self.closed)


@ray.remote
class Producer:
    def run(self, bucket, queue):
        times = []
        for item in range(ITEMS):
            while not ray.get(bucket.acquire.remote()):
                time.sleep(0.01)
            while not ray.get(queue.offer.remote(item)):
                time.sleep(0.01)
            times.append(time.monotonic())
        queue.close.remote()
        return times


@ray.remote
class Consumer:
    def run(self, queue):
        eaten, more = [], True
        while more:
            item, more = ray.get(queue.poll.remote())
            if item is None:
                time.sleep(0.01)
                continue
            time.sleep(0.02)
            eaten.append(time.monotonic())
        return eaten


ray.init(num_cpus=8)
bucket, queue, producer = TokenBucket.remote(), BoundedQueue.remote(), Producer.remote()
consumers = [Consumer.remote() for _ in range(2)]
ray.get([actor.__ray_ready__.remote() for actor in [bucket, queue, producer, *consumers]])
start = time.monotonic()
making = producer.run.remote(bucket, queue)
eating = [consumer.run.remote(queue) for consumer in consumers]
eaten = ray.get(eating)
tell(start, producer=ray.get(making), consumers=list(itertools.chain.from_iterable(eaten)))
