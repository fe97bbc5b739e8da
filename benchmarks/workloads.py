"""The workloads of the rows of `micro`, each written once in Ray's API.

A workload is called with the module that plays Ray's part, already initialised. It makes its actors, checks
one result, and returns the operation to be timed and how much work (calls, puts, ...) one operation is; no
work means that the operation times itself and returns the seconds.
Definitions follow ray/_private/ray_perf.py; batches are smaller where Ray's would outlast a row's time.
"""

import os
import time

import numpy as np

ACTORS = 8
BATCH = 1_000
MEGABYTE = 1 << 20


class WrongResult(Exception):
    """A side computed something else than the workload says, so its time would mean nothing."""


class Small:
    """An actor that answers at once."""

    def small_value(self):
        return b"ok"

    def small_value_arg(self, argument):
        return b"ok"

    def observation(self):
        return np.zeros(4, dtype=np.float32), 1.0, False

    def observation_of(self, argument):
        return self.observation()

    def echo(self, array):
        return array

    def last(self, array):
        return float(array[-1])

    def following(self, number):
        return number + 1


def expect(found, wanted):
    if found != wanted:
        raise WrongResult(f"expected {wanted!r}, found {found!r}")


def half_the_cores():
    return max((os.cpu_count() or 1) // 2, 1)


def small_actors(ray, number, **options):
    actor_class = ray.remote(num_cpus=0, **options)(Small)
    actors = [actor_class.remote() for _ in range(number)]
    for answer in ray.get([actor.small_value.remote() for actor in actors]):
        expect(answer, b"ok")
    return actors


def small_task(ray):
    @ray.remote
    def small_value():
        return b"ok"

    expect(ray.get(small_value.remote()), b"ok")
    return small_value


def client_class(ray):
    """An actor that makes calls itself and waits for their answers."""

    @ray.remote(num_cpus=0)
    class Client:
        def call(self, servers, times):
            ray.get([server.small_value.remote() for server in servers for _ in range(times)])

        def call_with_argument(self, servers, times):
            argument = ray.put(0)
            ray.get([server.small_value_arg.remote(argument) for server in servers for _ in range(times)])

        def run_tasks(self, task, times):
            ray.get([task.remote() for _ in range(times)])

    return Client


def actor_calls_sync(ray):
    (actor,) = small_actors(ray, 1)
    return lambda: ray.get(actor.small_value.remote()), 1


def actor_calls_async(ray, **options):
    (actor,) = small_actors(ray, 1, **options)
    return lambda: ray.get([actor.small_value.remote() for _ in range(BATCH)]), BATCH


def actor_calls_concurrent(ray):
    return actor_calls_async(ray, max_concurrency=16)


def one_to_many_calls(ray):
    servers = small_actors(ray, half_the_cores())
    client = client_class(ray).remote()
    return lambda: ray.get(client.call.remote(servers, BATCH)), BATCH * len(servers)


def many_to_many_calls(ray):
    actors, callers = small_actors(ray, half_the_cores()), 4

    @ray.remote
    def call(servers):
        ray.get([servers[i % len(servers)].small_value.remote() for i in range(BATCH)])

    return lambda: ray.get([call.remote(actors) for _ in range(callers)]), callers * BATCH


def many_to_many_calls_with_argument(ray):
    servers = [small_actors(ray, 1) for _ in range(half_the_cores())]
    clients = [client_class(ray).remote() for _ in servers]

    def operation():
        pairs = zip(clients, servers, strict=True)
        ray.get([client.call_with_argument.remote(server, BATCH) for client, server in pairs])

    return operation, BATCH * len(clients)


def tasks_sync(ray):
    small_value = small_task(ray)
    return lambda: ray.get(small_value.remote()), 1


def tasks_async(ray):
    small_value = small_task(ray)
    return lambda: ray.get([small_value.remote() for _ in range(BATCH)]), BATCH


def tasks_of_many_clients(ray):
    small_value, tasks = small_task(ray), 250
    clients = [client_class(ray).remote() for _ in range(4)]
    return (
        lambda: ray.get([client.run_tasks.remote(small_value, tasks) for client in clients]),
        tasks * len(clients),
    )


def wait_for_1k_refs(ray):
    small_value = small_task(ray)

    def operation():
        not_ready = [small_value.remote() for _ in range(1_000)]
        # One request to fetch is enough for Ray, which keeps it (its own benchmark does the same).
        fetch_local = True
        while not_ready:
            _, not_ready = ray.wait(not_ready, fetch_local=fetch_local)
            fetch_local = False

    return operation, 1


def get_calls(ray):
    ref = ray.put(0)
    expect(ray.get(ref), 0)
    return lambda: ray.get(ref), 1


def put_calls(ray):
    return lambda: ray.put(0), 1


def put_calls_of_many_clients(ray):
    @ray.remote
    def put_100():
        for _ in range(100):
            ray.put(0)

    return lambda: ray.get([put_100.remote() for _ in range(10)]), 1_000


def put_gigabytes(ray):
    # Ones: pages of zeros that nobody has written to are all one page, which makes copying look cheap.
    array = np.ones(100 * MEGABYTE, dtype=np.int64)
    return lambda: ray.put(array), array.nbytes / 1e9


def get_of_10k_refs(ray):
    @ray.remote
    def refs():
        return [ray.put(1) for _ in range(10_000)]

    ref = refs.remote()
    expect(len(ray.get(ref)), 10_000)
    return lambda: ray.get(ref), 1


def barrier(ray):
    actors = small_actors(ray, ACTORS)
    return lambda: ray.get([actor.small_value.remote() for actor in actors]), 1


def barrier_with_observations(ray):
    actors = small_actors(ray, ACTORS)
    observation, reward, done = ray.get(actors[0].observation.remote())
    expect((observation.tolist(), observation.dtype.name, reward, done), ([0.0] * 4, "float32", 1.0, False))
    return lambda: ray.get([actor.observation.remote() for actor in actors]), 1


def echo(ray, size):
    (actor,) = small_actors(ray, 1)
    array = np.arange(size // 4, dtype=np.float32)
    expect(np.array_equal(ray.get(actor.echo.remote(array)), array), True)
    return lambda: ray.get(actor.echo.remote(array)), 1


def echo_1_kb(ray):
    return echo(ray, 1_024)


def echo_1_mb(ray):
    return echo(ray, MEGABYTE)


def broadcast_10_mb(ray):
    actors = small_actors(ray, ACTORS)
    array = np.zeros(10 * MEGABYTE // 8)

    def operation():
        # Another value each time, which every actor has to see.
        array[-1] += 1.0
        ref = ray.put(array)
        for seen in ray.get([actor.last.remote(ref) for actor in actors]):
            expect(seen, array[-1])

    return operation, 1


def chain(ray):
    actors = small_actors(ray, ACTORS)

    def operation():
        number = 0
        for actor in actors:
            number = actor.following.remote(number)
        expect(ray.get(number), ACTORS)

    return operation, 1


def static_graph_of_1(ray):
    (actor,) = small_actors(ray, 1)
    return lambda: ray.get(actor.small_value_arg.remote(b"go")), 1


def static_graph_of_8(ray):
    actors = small_actors(ray, ACTORS)
    return lambda: ray.get([actor.small_value_arg.remote(b"go") for actor in actors]), 1


def driver_time(ray):
    """Processor time of this process, all its threads, per call."""
    (actor,) = small_actors(ray, 1)
    batches = 10

    def operation():
        start = time.process_time()
        for _ in range(batches):
            ray.get([actor.small_value.remote() for _ in range(BATCH)])
        return (time.process_time() - start) / (batches * BATCH)

    operation()
    return operation, None
