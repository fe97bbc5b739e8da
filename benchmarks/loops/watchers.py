"""One player, two watchers of one store, and a driver that polls it; what the player does reaches the store through a buffer."""

import time

import ray
from counts import tell

GAMES = 120


@ray.remote
class Store:
    def __init__(self):
        self.n = 0

    def get(self):
        return self.n

    def set(self, n):
        self.n = n


@ray.remote
class Buffer:
    def save(self, game, store):
        time.sleep(0.02)
        store.set.remote(game)


@ray.remote
class Player:
    def play(self, store, buffer, games):
        played = []
        for number in range(games):
            ray.get(store.get.remote())
            buffer.save.remote(number + 1, store)
            played.append(time.monotonic())
        return played

    def watch(self, store, games):
        seen = []
        while ray.get(store.get.remote()) < games:
            seen.append(time.monotonic())
            time.sleep(0.05)
        return seen


ray.init(num_cpus=8)
store, buffer = Store.remote(), Buffer.remote()
players = [Player.remote() for _ in range(3)]
ray.get([actor.__ray_ready__.remote() for actor in [store, buffer, *players]])
start = time.monotonic()
playing = players[0].play.remote(store, buffer, GAMES)
watching = [player.watch.remote(store, GAMES) for player in players[1:]]
looks = []
while ray.get(store.get.remote()) < GAMES:
    looks.append(time.monotonic())
    time.sleep(0.05)
tell(start, player=ray.get(playing), watcher=ray.get(watching), driver=looks)
