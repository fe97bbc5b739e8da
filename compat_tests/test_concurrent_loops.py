"""Loops that run at the same time and call the same actors: none of them waits for another's end.

A loop's progress is counted in steps of another loop, not in seconds. On Ray each of these makes about as many steps as its
partner; a quarter is asked for.
"""

import threading
import time

import pytest

from compat_tests.processes import wait_until

pytestmark = pytest.mark.needs_concurrency

STEPS, PAUSE = 80, 0.02
ENOUGH = STEPS // 4


@pytest.fixture
def store_class(ray):
    @ray.remote
    class Store:
        def __init__(self):
            self.n = 0
            self.items = []

        def get(self):
            return self.n

        def set(self, n):
            self.n = n

        def add(self, n):
            self.n += n
            return self.n

        def put(self, item):
            self.items.append(item)

        def take(self):
            return self.items.pop(0) if self.items else None

        def offer(self, item, room):
            if len(self.items) >= room:
                return False
            self.items.append(item)
            return True

    return Store


@pytest.fixture
def looper_class(ray):
    @ray.remote
    class Looper:
        """Its methods are loops over a store; each ends when the player has made STEPS steps."""

        def play(self, store):
            for n in range(STEPS):
                time.sleep(PAUSE)
                store.set.remote(n + 1)

        def watch(self, store):
            """The different values that it saw, without the first and the last."""
            seen = set()
            while (n := ray.get(store.get.remote())) < STEPS:
                seen.add(n)
                time.sleep(PAUSE / 2)
            return len(seen - {0})

        def watch_named(self, name):
            return self.watch(ray.get_actor(name))

        def watch_in_thread(self, store):
            seen = []
            thread = threading.Thread(target=lambda: seen.append(self.watch(store)))
            thread.start()
            thread.join()
            return seen[0]

    return Looper


def started(ray, *actors):
    """Waits until all of these run: some start long after others, which would decide how far each gets."""
    ray.get([actor.__ray_ready__.remote() for actor in actors])
    return actors


def watched_by_driver(ray, store):
    """How many different values the driver sees while the player plays, without the first and the last."""
    seen = set()
    while (n := ray.get(store.get.remote())) < STEPS:
        seen.add(n)
        time.sleep(PAUSE / 2)
    return len(seen - {0})


def test_the_driver_sees_a_store_change_while_a_player_plays(ray, store_class, looper_class):
    store, player = started(ray, store_class.remote(), looper_class.remote())
    playing = player.play.remote(store)
    assert watched_by_driver(ray, store) >= ENOUGH
    ray.get(playing)


@pytest.mark.parametrize("first", ["player", "watchers"])
def test_watchers_see_a_store_change_whoever_was_called_first(ray, store_class, looper_class, first):
    store, player, *watchers = started(ray, store_class.remote(), *(looper_class.remote() for _ in range(3)))
    playing = player.play.remote(store) if first == "player" else None
    watching = [watcher.watch.remote(store) for watcher in watchers]
    playing = playing or player.play.remote(store)
    seen_by_driver = watched_by_driver(ray, store)
    assert min(*ray.get(watching), seen_by_driver) >= ENOUGH
    ray.get(playing)


def test_a_watcher_that_comes_later_sees_as_much_of_what_is_left(ray, store_class, looper_class):
    store, player, one, other = started(ray, store_class.remote(), *(looper_class.remote() for _ in range(3)))
    playing = player.play.remote(store)
    early = one.watch.remote(store)
    while ray.get(store.get.remote()) < STEPS // 2:
        time.sleep(PAUSE)
    late = other.watch.remote(store)
    assert ray.get(early) >= ENOUGH and ray.get(late) >= ENOUGH // 2
    ray.get(playing)


def test_a_watcher_finds_the_store_by_its_name(ray, store_class, looper_class):
    store = store_class.options(name="store of loops").remote()
    _, player, watcher = started(ray, store, looper_class.remote(), looper_class.remote())
    playing = player.play.remote(store)
    assert ray.get(watcher.watch_named.remote("store of loops")) >= ENOUGH
    ray.get(playing)


def test_a_thread_of_an_actor_watches(ray, store_class, looper_class):
    store, player, watcher = started(ray, store_class.remote(), looper_class.remote(), looper_class.remote())
    playing = player.play.remote(store)
    assert ray.get(watcher.watch_in_thread.remote(store)) >= ENOUGH
    ray.get(playing)


def test_a_thread_of_the_driver_watches(ray, store_class, looper_class):
    (store, player), seen = started(ray, store_class.remote(), looper_class.remote()), []
    playing = player.play.remote(store)
    thread = threading.Thread(target=lambda: seen.append(watched_by_driver(ray, store)))
    thread.start()
    ray.get(playing)
    thread.join()
    assert seen[0] >= ENOUGH


def test_tasks_are_loops_as_actors_are(ray, store_class, gate):
    (store,) = started(ray, store_class.remote())

    @ray.remote
    def play(store):
        for n in range(STEPS):
            time.sleep(PAUSE)
            store.set.remote(n + 1)

    @ray.remote
    def watch(store):
        seen = set()
        while (n := ray.get(store.get.remote())) < STEPS:
            seen.add(n)
            time.sleep(PAUSE / 2)
        return len(seen - {0})

    @ray.remote
    def be_here():
        gate.enter()

    here = [be_here.remote() for _ in range(3)]
    wait_until(lambda: gate.inside() == 3, 40.0, "three tasks run at a time")
    gate.open()
    ray.get(here)
    playing, watching = play.remote(store), [watch.remote(store) for _ in range(2)]
    assert min(ray.get(watching)) >= ENOUGH
    ray.get(playing)


def test_an_async_actor_watches_on_its_event_loop(ray, store_class, looper_class):
    @ray.remote
    class Watcher:
        async def watch(self, store):
            import asyncio

            seen = set()
            while (n := await store.get.remote()) < STEPS:
                seen.add(n)
                await asyncio.sleep(PAUSE / 2)
            return len(seen - {0})

    store, player, watcher = started(ray, store_class.remote(), looper_class.remote(), Watcher.remote())
    playing = player.play.remote(store)
    assert min(ray.get([watcher.watch.remote(store) for _ in range(2)])) >= ENOUGH
    ray.get(playing)


def test_what_goes_through_a_buffer_reaches_the_watchers_too(ray, store_class, looper_class):
    @ray.remote
    class Buffer:
        def save(self, n, store):
            time.sleep(PAUSE)
            store.set.remote(n)

    @ray.remote
    class Player:
        def play(self, store, buffer):
            for n in range(STEPS):
                ray.get(store.get.remote())
                buffer.save.remote(n + 1, store)

    watchers = [looper_class.remote() for _ in range(2)]
    store, buffer, player, *_ = started(ray, store_class.remote(), Buffer.remote(), Player.remote(), *watchers)
    playing = player.play.remote(store, buffer)
    watching = [watcher.watch.remote(store) for watcher in watchers]
    seen_by_driver = watched_by_driver(ray, store)
    assert min(*ray.get(watching), seen_by_driver) >= ENOUGH
    ray.get(playing)


def test_a_learner_takes_what_players_put_while_they_play(ray, store_class):
    @ray.remote
    class Player:
        def play(self, buffer):
            for n in range(STEPS):
                time.sleep(PAUSE)
                buffer.put.remote(n)
            return time.monotonic()

    @ray.remote
    class Learner:
        def learn(self, buffer, players):
            """The times of its steps."""
            times = []
            while len(times) < STEPS * players:
                if ray.get(buffer.take.remote()) is None:
                    time.sleep(PAUSE / 2)
                else:
                    times.append(time.monotonic())
            return times

    buffer, learner, *players = started(ray, store_class.remote(), Learner.remote(), *(Player.remote() for _ in range(3)))
    playing = [player.play.remote(buffer) for player in players]
    times = ray.get(learner.learn.remote(buffer, len(players)))
    first_end = min(ray.get(playing))
    assert sum(at < first_end for at in times) >= ENOUGH * len(players)


def test_a_bounded_queue_lets_producer_and_consumer_take_turns(ray, store_class):
    @ray.remote
    class Producer:
        def produce(self, queue):
            for n in range(STEPS):
                while not ray.get(queue.offer.remote(n, 5)):
                    time.sleep(PAUSE / 4)

    @ray.remote
    class Consumer:
        def consume(self, queue):
            items = []
            while len(items) < STEPS:
                item = ray.get(queue.take.remote())
                if item is None:
                    time.sleep(PAUSE / 4)
                else:
                    items.append(item)
            return items

    queue = store_class.remote()
    producing = Producer.remote().produce.remote(queue)
    assert ray.get(Consumer.remote().consume.remote(queue)) == list(range(STEPS))
    ray.get(producing)


def test_workers_that_share_a_counter_share_the_steps(ray, store_class):
    @ray.remote
    class Worker:
        def run(self, counter, parameters):
            steps = 0
            while ray.get(counter.add.remote(1)) <= 3 * STEPS:
                ray.get(parameters.get.remote())
                time.sleep(PAUSE)
                parameters.add.remote(1)
                steps += 1
            return steps

    counter, parameters, *workers = started(ray, store_class.remote(), store_class.remote(), *(Worker.remote() for _ in range(3)))
    running = [worker.run.remote(counter, parameters) for worker in workers]
    looks = set()
    while (n := ray.get(counter.get.remote())) < 3 * STEPS:
        looks.add(n)
        time.sleep(PAUSE)
    steps = ray.get(running)
    assert sum(steps) == 3 * STEPS and min(steps) >= ENOUGH
    assert len(looks) >= ENOUGH


def test_a_fast_worker_of_a_parameter_server_pushes_more_than_a_slow_one(ray, store_class):
    @ray.remote
    class Worker:
        def run(self, server, pause):
            pushes = 0
            while ray.get(server.get.remote()) < 2 * STEPS:
                time.sleep(pause)
                server.add.remote(1)
                pushes += 1
            return pushes

    server, *workers = started(ray, store_class.remote(), Worker.remote(), Worker.remote())
    slow, fast = ray.get([worker.run.remote(server, pause) for worker, pause in zip(workers, (8 * PAUSE, PAUSE), strict=True)])
    assert slow >= 5 and fast >= 3 * slow


@pytest.mark.parametrize("answering", ["at once", "after a while"])
def test_environments_are_served_alike_by_one_inference_server(ray, answering):
    @ray.remote
    class Server:
        def __init__(self):
            self.version, self.stopped = 0, False

        def infer(self):
            time.sleep(0.002 if answering == "after a while" else 0)
            return None if self.stopped else self.version

        def set_weights(self, version):
            self.version = version

        def stop(self):
            self.stopped = True

    @ray.remote
    class Environment:
        def run(self, server):
            versions = []
            while (version := ray.get(server.infer.remote())) is not None:
                versions.append(version)
                time.sleep(PAUSE)
            return versions

    server, *environments = started(ray, Server.remote(), *(Environment.remote() for _ in range(4)))
    running = [environment.run.remote(server) for environment in environments]
    for version in range(STEPS):
        time.sleep(PAUSE)
        server.set_weights.remote(version + 1)
    ray.get(server.stop.remote())
    for versions in ray.get(running):
        assert len(set(versions)) >= ENOUGH


def test_subscribers_receive_messages_while_they_are_published(ray, store_class):
    @ray.remote
    class Hub:
        def __init__(self):
            self.messages = []

        def publish(self, message):
            self.messages.append(message)

        def poll(self, seen):
            return self.messages[seen:]

    @ray.remote
    class Publisher:
        def run(self, hub):
            for n in range(STEPS):
                time.sleep(PAUSE)
                hub.publish.remote(n)

    @ray.remote
    class Subscriber:
        def run(self, hub):
            """All messages, and in how many parts they came."""
            messages, parts = [], 0
            while len(messages) < STEPS:
                more = ray.get(hub.poll.remote(len(messages)))
                messages += more
                parts += bool(more)
                time.sleep(PAUSE / 2)
            return messages, parts

    hub, publisher, *subscribers = started(ray, Hub.remote(), Publisher.remote(), *(Subscriber.remote() for _ in range(3)))
    publishing = publisher.run.remote(hub)
    for messages, parts in ray.get([subscriber.run.remote(hub) for subscriber in subscribers]):
        assert messages == list(range(STEPS)) and parts >= ENOUGH
    ray.get(publishing)


def test_self_play_training_and_reanalysis_go_on_beside_each_other(ray):
    @ray.remote
    class Storage:
        def __init__(self):
            self.info = {"training_step": 0, "games": 0}

        def get_info(self, key):
            return self.info[key]

        def set_info(self, key, value):
            self.info[key] = value

    @ray.remote
    class Replay:
        def __init__(self):
            self.games = []

        def save(self, game, storage):
            self.games.append(game)
            storage.set_info.remote("games", len(self.games))

        def sample(self):
            return self.games[-1]

    @ray.remote
    class Loop:
        def play(self, storage, replay):
            games = 0
            while ray.get(storage.get_info.remote("training_step")) < STEPS:
                time.sleep(PAUSE)
                replay.save.remote(games, storage)
                games += 1
            return games

        def reanalyse(self, storage, replay):
            while not ray.get(storage.get_info.remote("games")):
                time.sleep(PAUSE / 4)
            done = 0
            while ray.get(storage.get_info.remote("training_step")) < STEPS:
                ray.get(replay.sample.remote())
                time.sleep(PAUSE)
                done += 1
            return done

        def train(self, storage, replay):
            while not ray.get(storage.get_info.remote("games")):
                time.sleep(PAUSE / 4)
            for step in range(STEPS):
                ray.get(replay.sample.remote())
                time.sleep(PAUSE)
                storage.set_info.remote("training_step", step + 1)

    storage, replay, *loops = started(ray, Storage.remote(), Replay.remote(), *(Loop.remote() for _ in range(4)))
    playing = [loop.play.remote(storage, replay) for loop in loops[:2]]
    training, reanalysing = loops[2].train.remote(storage, replay), loops[3].reanalyse.remote(storage, replay)
    looks = set()
    while (step := ray.get(storage.get_info.remote("training_step"))) < STEPS:
        looks.add(step)
        time.sleep(PAUSE)
    assert min(*ray.get(playing), ray.get(reanalysing), len(looks)) >= ENOUGH
    ray.get(training)
