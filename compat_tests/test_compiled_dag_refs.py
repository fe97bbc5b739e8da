"""Compiled graphs: refs, futures, how many executions may be in flight, and the end of a graph."""

import asyncio
import copy
import pickle

import pytest

from compat_tests.dags import compile, dag  # noqa: F401  fixtures


@pytest.fixture
def Worker(ray, gate):
    @ray.remote
    class Worker:
        def __init__(self):
            self.total = 0

        def echo(self, x):
            return x

        def add(self, x):
            self.total += x
            return self.total

        def pass_gate(self, x):
            if x:
                gate.enter()
            return x

        def leave(self, x):
            if x:
                import os

                os._exit(1)
            return x

    return Worker


def test_a_result_is_got_once(ray, compile, Worker):
    worker = Worker.remote()
    ref = compile(worker.echo.bind).execute(1)
    assert ray.get(ref) == 1
    with pytest.raises(ValueError, match="can only be called once"):
        ray.get(ref)


def test_results_may_be_asked_for_in_any_order(ray, compile, Worker):
    worker = Worker.remote()
    graph = compile(worker.add.bind)
    first, second, third = [graph.execute(n) for n in (1, 2, 3)]
    assert ray.get(third) == 6
    assert ray.get([first, second]) == [1, 3]


def test_refs_of_graphs_do_not_mix_with_others(ray, compile, Worker):
    worker = Worker.remote()
    ref = compile(worker.echo.bind).execute(1)
    with pytest.raises(ValueError, match="must be a list of CompiledDAGRefs"):
        ray.get([ref, ray.put(2)])
    with pytest.raises(TypeError):
        ray.wait([ref])
    with pytest.raises(TypeError):
        worker.add.remote(ref)
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ValueError, match="CompiledDAGRef cannot be"):
            copying(ref)
    assert ray.get(ref) == 1


@pytest.mark.needs_concurrency
def test_a_result_that_is_late_raises_a_timeout(ray, compile, Worker, gate):
    worker = Worker.remote()
    graph = compile(worker.pass_gate.bind)
    late = graph.execute(1)
    with pytest.raises(ray.exceptions.RayChannelTimeoutError, match="RAY_CGRAPH_get_timeout"):
        ray.get(late, timeout=0.1)
    gate.open()
    # It cannot be asked for again, and does not stand in the way of the next.
    with pytest.raises(ValueError, match="can only be called once"):
        ray.get(late)
    assert ray.get(graph.execute(0), timeout=-1) == 0


def test_only_so_many_executions_may_be_in_flight(ray, compile, Worker):
    worker = Worker.remote()
    graph = compile(worker.add.bind, _max_inflight_executions=2)
    refs = [graph.execute(1), graph.execute(1)]
    with pytest.raises(ray.exceptions.RayCgraphCapacityExceeded, match="more than 2 in-flight executions"):
        graph.execute(1)
    assert ray.get(refs[1]) == 2
    refs.append(graph.execute(1))  # both before it are finished, asked for or not
    assert ray.get([refs[0], refs[2]]) == [1, 3]


def test_only_so_many_results_may_be_kept(ray, compile, Worker):
    worker = Worker.remote()
    graph = compile(worker.echo.bind, _max_buffered_results=1)
    refs = [graph.execute(n) for n in range(3)]
    with pytest.raises(ray.exceptions.RayCgraphCapacityExceeded, match="more than 1 buffered results"):
        ray.get(refs[2])
    assert ray.get(refs[0]) == 0


def test_refs_that_are_dropped_make_room(ray, compile, Worker):
    worker = Worker.remote()
    graph = compile(worker.add.bind, _max_inflight_executions=2)
    for _ in range(6):
        graph.execute(1)
    assert ray.get(graph.execute(1)) == 7
    first, second = graph.execute(1), graph.execute(1)
    del second
    assert ray.get(first) == 8
    assert ray.get(graph.execute(1)) == 10


def test_one_of_several_results_may_be_dropped(ray, compile, Worker):
    a, b = Worker.remote(), Worker.remote()
    graph = compile(lambda inp: ray.dag.MultiOutputNode([a.add.bind(inp), b.echo.bind(inp)]), _max_inflight_executions=1)
    for n in (1, 2, 3):
        total, echoed = graph.execute(n)
        del total
        assert ray.get(echoed) == n


def test_failed_executions_of_several_results_make_room(ray, compile, Worker):
    a, b = Worker.remote(), Worker.remote()
    limits = {"_max_inflight_executions": 2, "_max_buffered_results": 2}
    graph = compile(lambda inp: ray.dag.MultiOutputNode([a.add.bind(inp), b.add.bind(inp)]), **limits)
    for _ in range(8):
        refs = graph.execute("no number")
        with pytest.raises(TypeError):
            ray.get(refs)
    assert ray.get(graph.execute(1)) == [1, 1]


def test_asyncio(ray, Worker):
    a, b = Worker.remote(), Worker.remote()

    async def main():
        with ray.dag.InputNode() as inp:
            graph = ray.dag.MultiOutputNode([a.echo.bind(inp), b.add.bind(inp)]).experimental_compile(enable_asyncio=True)
        with pytest.raises(ValueError, match="Use execute_async"):
            graph.execute(1)
        one, other = await graph.execute_async(1)
        later = await graph.execute_async(2)
        assert str(one) == f"CompiledDAGFuture({graph.get_id()}, execution_index=0, channel_index=0)"
        assert await asyncio.gather(*later) == [2, 3]
        assert await one == 1
        with pytest.raises(ValueError, match="can only be awaited upon once"):
            await one
        assert await other == 1
        with pytest.raises(ValueError):
            ray.get(other)
        graph.teardown()

    asyncio.run(main())


@pytest.mark.needs_concurrency
def test_asyncio_does_not_wait_for_slower_results_than_one_that_failed(ray, Worker, gate):
    a, b = Worker.remote(), Worker.remote()

    async def main():
        with ray.dag.InputNode() as inp:
            outputs = ray.dag.MultiOutputNode([a.pass_gate.bind(inp), b.add.bind(inp)])
            graph = outputs.experimental_compile(enable_asyncio=True)
        with pytest.raises(TypeError):
            await asyncio.gather(*await graph.execute_async("no number"))
        gate.open()
        graph.teardown()

    asyncio.run(main())


def test_asyncio_capacity_and_errors(ray, Worker):
    @ray.remote
    class Fragile:
        def check(self, x):
            if x < 0:
                raise ValueError("negative")
            return x

    actor = Fragile.remote()

    async def main():
        with ray.dag.InputNode() as inp:
            graph = actor.check.bind(inp).experimental_compile(enable_asyncio=True, _max_inflight_executions=2)
        first, second = await graph.execute_async(-1), await graph.execute_async(2)
        with pytest.raises(ray.exceptions.RayCgraphCapacityExceeded):
            await graph.execute_async(3)
        assert await second == 2
        with pytest.raises(ValueError, match="negative"):
            await first
        assert await (await graph.execute_async(4)) == 4
        graph.teardown()

    asyncio.run(main())


@pytest.mark.rayshim_only
@pytest.mark.needs_concurrency
def test_who_is_cancelled_while_awaiting_makes_room(ray, Worker, gate):
    worker = Worker.remote()

    async def main():
        with ray.dag.InputNode() as inp:
            graph = worker.pass_gate.bind(inp).experimental_compile(enable_asyncio=True, _max_inflight_executions=1)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(await graph.execute_async(1), 0.05)
        gate.open()
        assert await (await graph.execute_async(0)) == 0
        graph.teardown()

    asyncio.run(main())


def test_a_graph_without_asyncio_is_not_run_by_it(ray, compile, Worker):
    worker = Worker.remote()
    graph = compile(worker.echo.bind)
    with pytest.raises(ValueError, match="Use execute if enable_asyncio=False"):
        asyncio.run(graph.execute_async(1))


def test_after_its_teardown_a_graph_is_closed_and_its_actors_are_free(ray, compile, Worker):
    worker = Worker.remote()
    graph = compile(worker.add.bind)
    ref = graph.execute(1)
    assert ray.get(graph.execute(2)) == 3
    kept, lost = ref, graph.execute(3)
    graph.teardown()
    graph.teardown()
    with pytest.raises(ray.exceptions.RayChannelError):
        ray.get(lost)
    with pytest.raises(ray.exceptions.RayChannelError):
        graph.execute(1)
    assert ray.get(kept) == 1
    assert ray.get(worker.echo.remote(5)) == 5
    assert ray.get(compile(worker.echo.bind).execute(6)) == 6


@pytest.mark.needs_processes
def test_a_teardown_can_kill_the_actors(ray, compile, Worker):
    worker = Worker.remote()
    graph = compile(worker.add.bind)
    assert ray.get(graph.execute(1)) == 1
    graph.teardown(kill_actors=True)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(worker.add.remote(1))


@pytest.mark.needs_processes
def test_the_death_of_an_actor_is_the_end_of_its_graph(ray, compile, Worker):
    worker, other = Worker.remote(), Worker.remote()
    graph = compile(lambda inp: other.echo.bind(worker.leave.bind(inp)))
    assert ray.get(graph.execute(0)) == 0
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(graph.execute(1))
    with pytest.raises(ray.exceptions.RayChannelError):
        graph.execute(0)
    assert ray.get(other.echo.remote(1)) == 1


def test_a_node_is_compiled_once(ray, Worker):
    worker = Worker.remote()
    with ray.dag.InputNode() as inp:
        node = worker.echo.bind(inp)
    node.experimental_compile().teardown()
    with pytest.raises(ValueError, match="multiple times"):
        node.experimental_compile()
