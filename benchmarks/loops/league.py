"""Self-play: matches as tasks, which ask a league for two players, and tell it who has won."""

import random
import time

import ray
from counts import tell

PLAYERS, MATCHES, AT_ONCE = 8, 200, 8


@ray.remote(num_cpus=0)
class League:
    def __init__(self, players):
        self.ratings, self.played = [1000.0] * players, []

    def pair(self):
        return random.sample(range(len(self.ratings)), 2)

    def won(self, winner, loser):
        expected = 1 / (1 + 10 ** ((self.ratings[loser] - self.ratings[winner]) / 400))
        self.ratings[winner] += 16 * (1 - expected)
        self.ratings[loser] -= 16 * (1 - expected)
        self.played.append(time.monotonic())

    def times(self):
        return self.played


@ray.remote
def match(league):
    first, second = ray.get(league.pair.remote())
    time.sleep(random.expovariate(1 / 0.02))
    ray.get(league.won.remote(first, second) if random.random() < 0.5 else league.won.remote(second, first))
    return time.monotonic()


ray.init(num_cpus=AT_ONCE)
league = League.remote(PLAYERS)
ray.get([match.remote(league) for _ in range(AT_ONCE)])
start = time.monotonic()
running, ended = [match.remote(league) for _ in range(AT_ONCE)], []
for _ in range(MATCHES):
    ready, running = ray.wait(running)
    ended += ray.get(ready)
    running.append(match.remote(league))
ray.get(running)
tell(start, match=ended)
