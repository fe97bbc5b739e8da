"""Self-play of the MuZero kind: two self-players, a trainer, reanalysis, a shared storage, a replay actor, a driver that polls."""

import random
import time

import ray
from counts import tell

TRAINING_STEPS = 80


@ray.remote
class SharedStorage:
    def __init__(self):
        self.info = {"training_step": 0, "weights": 0, "played_games": 0, "reanalysed": 0, "terminate": False}

    def get_info(self, keys):
        return {key: self.info[key] for key in keys} if isinstance(keys, list) else self.info[keys]

    def set_info(self, key, value):
        self.info[key] = value


@ray.remote
class ReplayBuffer:
    def __init__(self):
        self.games = {}

    def save_game(self, game, storage):
        self.games[len(self.games)] = game
        storage.set_info.remote("played_games", len(self.games))

    def get_batch(self):
        return [random.choice(list(self.games.values())) for _ in range(8)]

    def sample_game(self):
        return random.choice(list(self.games.items()))

    def update_game(self, number, game):
        self.games[number] = game


@ray.remote
class SelfPlay:
    def run(self, storage, replay):
        played = []
        while (
            not ray.get(storage.get_info.remote("terminate"))
            and ray.get(storage.get_info.remote("training_step")) < TRAINING_STEPS
        ):
            weights = ray.get(storage.get_info.remote("weights"))
            time.sleep(0.04)
            replay.save_game.remote([weights] * 10, storage)
            played.append(time.monotonic())
        return played


@ray.remote
class Trainer:
    def run(self, storage, replay):
        while ray.get(storage.get_info.remote("played_games")) < 1:
            time.sleep(0.01)
        trained, batch = [], replay.get_batch.remote()
        while len(trained) < TRAINING_STEPS:
            ray.get(batch)
            batch = replay.get_batch.remote()  # the next one meanwhile
            time.sleep(0.03)
            trained.append(time.monotonic())
            if len(trained) % 5 == 0:
                storage.set_info.remote("weights", len(trained))
            storage.set_info.remote("training_step", len(trained))
        return trained


@ray.remote
class Reanalyse:
    def run(self, storage, replay):
        while ray.get(storage.get_info.remote("played_games")) < 1:
            time.sleep(0.01)
        done = []
        while ray.get(storage.get_info.remote("training_step")) < TRAINING_STEPS:
            number, game = ray.get(replay.sample_game.remote())
            time.sleep(0.05)
            replay.update_game.remote(number, game)
            done.append(time.monotonic())
            storage.set_info.remote("reanalysed", len(done))
        return done


ray.init(num_cpus=8)
storage, replay, trainer, reanalyse = (
    SharedStorage.remote(),
    ReplayBuffer.remote(),
    Trainer.remote(),
    Reanalyse.remote(),
)
players = [SelfPlay.remote() for _ in range(2)]
ray.get([actor.__ray_ready__.remote() for actor in [storage, replay, trainer, reanalyse, *players]])
start = time.monotonic()
playing = [player.run.remote(storage, replay) for player in players]
training, reanalysing = trainer.run.remote(storage, replay), reanalyse.run.remote(storage, replay)
looks = []
while (
    ray.get(storage.get_info.remote(["training_step", "played_games", "reanalysed"]))["training_step"] < TRAINING_STEPS
):
    looks.append(time.monotonic())
    time.sleep(0.1)
ray.get(storage.set_info.remote("terminate", True))
tell(start, self_play=ray.get(playing), trainer=ray.get(training), reanalyse=ray.get(reanalysing), driver=looks)
