"""The patterns of `workloads` that do not change from round to round, each as a Ray Compiled Graph.

The calls are bound and compiled once; the operation is an execution and the `get` of its results. An array that
comes out is a view of the graph's own buffer, which must be let go before the next execution.
"""

import numpy as np

from benchmarks.workloads import ACTORS, MEGABYTE, expect, small_actors

# What one execution may have outstanding by default, and so how many can be started before one `get`.
IN_FLIGHT = 10


def fan_out(ray, bind, **options):
    """The graph that gives its input to each of 8 actors."""
    from ray.dag import InputNode, MultiOutputNode

    actors = small_actors(ray, ACTORS)
    with InputNode() as given:
        graph = MultiOutputNode([bind(actor, given) for actor in actors])
    return graph.experimental_compile(**options)


def one_actor(ray, bind, **options):
    from ray.dag import InputNode

    (actor,) = small_actors(ray, 1)
    with InputNode() as given:
        graph = bind(actor, given)
    return graph.experimental_compile(**options)


def small_call(actor, given):
    return actor.small_value_arg.bind(given)


def static_graph_of_1(ray):
    graph = one_actor(ray, small_call)
    expect(ray.get(graph.execute(b"go")), b"ok")
    return lambda: ray.get(graph.execute(b"go")), 1


# A graph has an input, wanted or not.
calls_sync = static_graph_of_1


def calls_async(ray):
    graph = one_actor(ray, small_call)
    return lambda: ray.get([graph.execute(b"go") for _ in range(IN_FLIGHT)]), IN_FLIGHT


def static_graph_of_8(ray):
    graph = fan_out(ray, small_call)
    expect(ray.get(graph.execute(b"go")), [b"ok"] * ACTORS)
    return lambda: ray.get(graph.execute(b"go")), 1


barrier = static_graph_of_8


def barrier_with_observations(ray):
    graph = fan_out(ray, lambda actor, given: actor.observation_of.bind(given))
    return lambda: ray.get(graph.execute(b"go")), 1


def echo(ray, size):
    graph = one_actor(ray, lambda actor, given: actor.echo.bind(given), _buffer_size_bytes=size + MEGABYTE)
    array = np.arange(size // 4, dtype=np.float32)
    expect(np.array_equal(ray.get(graph.execute(array)), array), True)
    return lambda: ray.get(graph.execute(array)), 1


def echo_1_kb(ray):
    return echo(ray, 1_024)


def echo_1_mb(ray):
    return echo(ray, MEGABYTE)


def broadcast_10_mb(ray):
    graph = fan_out(ray, lambda actor, given: actor.last.bind(given), _buffer_size_bytes=11 * MEGABYTE)
    array = np.zeros(10 * MEGABYTE // 8)

    def operation():
        array[-1] += 1.0
        expect(ray.get(graph.execute(array)), [array[-1]] * ACTORS)

    return operation, 1


def chain(ray):
    from ray.dag import InputNode

    actors = small_actors(ray, ACTORS)
    with InputNode() as number:
        for actor in actors:
            number = actor.following.bind(number)
    graph = number.experimental_compile()
    return lambda: expect(ray.get(graph.execute(0)), ACTORS), 1
