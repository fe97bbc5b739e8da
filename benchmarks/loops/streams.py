"""Actors that stream their rollouts as generators; the learner takes whichever has the next one."""

import random
import time

import ray
from counts import tell

ACTORS, ROLLOUTS = 4, 60


@ray.remote
class Player:
    def __init__(self):
        self.weights = 0.0

    def play(self, rollouts):
        for _ in range(rollouts):
            time.sleep(random.expovariate(1 / 0.02))
            yield self.weights + random.gauss(0, 1)


ray.init(num_cpus=8)
players = [Player.remote() for _ in range(ACTORS)]
ray.get([player.__ray_ready__.remote() for player in players])
start = time.monotonic()
left = {player.play.remote(ROLLOUTS): number for number, player in enumerate(players)}
taken, weights = [[] for _ in players], 0.0
while left:
    ready, _ = ray.wait(list(left))
    for stream in ready:
        try:
            weights = 0.9 * weights + 0.1 * ray.get(next(stream))
        except StopIteration:
            del left[stream]
            continue
        taken[left[stream]].append(time.monotonic())
tell(start, player=taken)
