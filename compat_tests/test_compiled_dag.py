"""Compiled graphs: what an execution does, and what it gives."""

import threading

import numpy as np
import pytest

from compat_tests.dags import compile, dag  # noqa: F401  fixtures


@pytest.fixture
def Worker(ray):
    @ray.remote
    class Worker:
        def __init__(self, total=0):
            self.total, self.log = total, []

        def echo(self, x):
            return x

        def add(self, x, y=0):
            self.total += x + y
            return self.total

        def write(self, name, x):
            self.log.append((name, x))
            return x

        def read_log(self):
            return self.log

        def append(self, values):
            values.append(len(values))
            return list(values)

        def collect(self, into, x):
            into.append(x)
            return list(into)

        def identity(self, x):
            return id(x)

        def lock(self, x):
            return threading.Lock()

        def kind(self, x):
            return type(x).__name__

        def writeable(self, x):
            return x.flags.writeable

        def fail_if_odd(self, x):
            if x % 2:
                raise ValueError(f"{x} is odd")
            return x

    return Worker


def test_each_execution_gives_a_ref(ray, compile, Worker):
    worker = Worker.remote()
    graph = compile(worker.add.bind)
    assert [ray.get(graph.execute(n)) for n in (1, 2, 3)] == [1, 3, 6]


def test_a_ref_and_a_graph_print_their_names(ray, compile, Worker):
    worker = Worker.remote()
    graph = compile(lambda inp: ray.dag.MultiOutputNode([worker.echo.bind(inp)]))
    (ref,) = graph.execute(1)
    assert str(graph) == f"CompiledDAG({graph.get_id()})"
    assert str(ref) == f"CompiledDAGRef({graph.get_id()}, execution_index=0, channel_index=0)"


def test_values_go_from_actor_to_actor(ray, compile, Worker):
    a, b = Worker.remote(0), Worker.remote(100)
    graph = compile(lambda inp: a.add.bind(b.add.bind(a.add.bind(inp))))
    # a: 1, b: 101, a: 1 + 101
    assert [ray.get(graph.execute(n)) for n in (1, 2)] == [102, 102 + 2 + 101 + 104]


def test_an_actor_runs_its_methods_in_the_order_of_binding(ray, compile, Worker):
    a, b = Worker.remote(), Worker.remote()

    def build(inp):
        first = a.write.bind("first", inp)
        there = b.write.bind("there", first)
        second = a.write.bind("second", inp)
        back = a.write.bind("back", there)
        return ray.dag.MultiOutputNode([back, second])

    graph = compile(build)
    for n in (1, 2):
        assert ray.get(graph.execute(n)) == [n, n]
    expected = [(name, n) for n in (1, 2) for name in ("first", "second", "back")]
    assert [tuple(entry) for entry in ray.get(a.read_log.remote())] == expected


def test_parts_of_the_input_go_where_they_are_bound(ray, compile, Worker):
    a, b = Worker.remote(), Worker.remote()
    graph = compile(lambda inp: ray.dag.MultiOutputNode([a.add.bind(inp[0], inp.k), b.add.bind(inp[1], 5)]))
    assert ray.get(graph.execute(1, 2, k=3)) == [4, 7]
    for wrong in ((1,), (1, 2, 3)):
        with pytest.raises(ValueError, match=f"must be called with 2 positional args, got {len(wrong)}"):
            graph.execute(*wrong, k=3)
    with pytest.raises(ValueError, match="must be called with kwarg `k`"):
        graph.execute(1, 2)


def test_results_of_one_method_go_different_ways(ray, compile, Worker):
    @ray.remote
    class Splitter:
        @ray.method(num_returns=2)
        def split(self, x):
            return (x, x + 1) if x >= 0 else (x,)

    splitter, worker = Splitter.remote(), Worker.remote()

    def build(inp):
        low, high = splitter.split.bind(inp)
        return ray.dag.MultiOutputNode([worker.add.bind(low), high])

    graph = compile(build)
    assert [ray.get(graph.execute(n)) for n in (1, 2)] == [[1, 2], [3, 3]]


def test_a_method_that_gives_too_few_results_fails(ray, compile):
    @ray.remote
    class Splitter:
        @ray.method(num_returns=2)
        def split(self, x):
            return (x,)

    splitter = Splitter.remote()
    graph = compile(lambda inp: ray.dag.MultiOutputNode(list(splitter.split.bind(inp))))
    with pytest.raises(Exception):  # noqa: B017  Ray's own class is a matter of timing
        ray.get(graph.execute(1))


def test_arrays_arrive_read_only(ray, compile, Worker):
    worker = Worker.remote()
    graph = compile(lambda inp: ray.dag.MultiOutputNode([worker.echo.bind(inp), worker.writeable.bind(inp)]))
    result, writeable_there = ray.get(graph.execute(np.ones(100)))
    assert (result == 1).all()
    assert not result.flags.writeable and not writeable_there


def test_methods_of_one_actor_are_given_the_same_object(ray, compile, Worker):
    worker = Worker.remote()
    shared = compile(lambda inp: ray.dag.MultiOutputNode([worker.append.bind(inp), worker.append.bind(inp)]))
    given = []
    assert [ray.get(shared.execute(given)) for _ in range(2)] == [[[0], [0, 1]]] * 2
    assert given == []  # the actor has a copy of it
    shared.teardown()

    def through(inp):
        value = worker.echo.bind(inp)
        return ray.dag.MultiOutputNode([worker.identity.bind(value), worker.identity.bind(value)])

    one, other = ray.get(compile(through).execute([]))
    assert one == other


def test_a_bound_constant_stays_with_its_actor(ray, compile, Worker):
    worker, constant = Worker.remote(), []
    graph = compile(lambda inp: worker.collect.bind(constant, inp))
    assert [ray.get(graph.execute(n)) for n in (1, 2)] == [[1], [1, 2]]
    assert constant == []


def test_what_stays_in_its_actor_need_not_be_picklable(ray, compile, Worker):
    worker = Worker.remote()
    assert ray.get(compile(lambda inp: worker.kind.bind(worker.lock.bind(inp))).execute(1)) == "lock"


def test_what_leaves_its_actor_must_be_picklable(ray, compile, Worker):
    worker = Worker.remote()
    with pytest.raises(TypeError, match="erializ"):
        ray.get(compile(worker.lock.bind).execute(1))


def test_a_ref_as_input_arrives_as_a_ref(ray, compile, Worker):
    worker = Worker.remote()
    ref = ray.put(3)
    assert ray.get(compile(worker.kind.bind).execute(ref)) == "ObjectRef"


def test_an_error_is_raised_where_the_result_is_asked_for(ray, compile, Worker):
    a, b = Worker.remote(), Worker.remote()
    graph = compile(lambda inp: b.echo.bind(a.fail_if_odd.bind(inp)))
    failed, fine = graph.execute(1), graph.execute(2)
    assert ray.get(fine) == 2
    with pytest.raises(ValueError, match="1 is odd") as raised:
        ray.get(failed)
    assert isinstance(raised.value, ray.exceptions.RayTaskError)
    assert ray.get(graph.execute(4)) == 4


def test_an_error_is_that_of_all_results_of_its_execution(ray, compile, Worker):
    a, b = Worker.remote(), Worker.remote()
    graph = compile(lambda inp: ray.dag.MultiOutputNode([a.echo.bind(inp), b.fail_if_odd.bind(inp)]))
    for ref in graph.execute(3):
        with pytest.raises(ValueError, match="3 is odd"):
            ray.get(ref)
    assert ray.get(graph.execute(2)) == [2, 2]


def test_what_does_not_depend_on_an_error_runs(ray, compile, Worker):
    a, b = Worker.remote(), Worker.remote()

    def build(inp):
        failed = a.fail_if_odd.bind(inp)
        written = [b.write.bind("after", failed), b.write.bind("beside", inp)]
        return ray.dag.MultiOutputNode([*written, a.add.bind(failed, 1), a.add.bind(inp)])

    graph = compile(build)
    with pytest.raises(ValueError, match="5 is odd"):
        ray.get(graph.execute(5))
    assert ray.get(graph.execute(2)) == [2, 2, 5 + 3, 5 + 3 + 2]
    graph.teardown()
    assert [tuple(entry) for entry in ray.get(b.read_log.remote())] == [("beside", 5), ("after", 2), ("beside", 2)]


@pytest.mark.needs_concurrency
def test_an_error_does_not_wait_for_the_other_results(ray, compile, Worker, gate):
    @ray.remote
    class Slow:
        def wait(self, x):
            if x % 2:
                gate.enter()
            return x

    slow, worker = Slow.remote(), Worker.remote()
    graph = compile(lambda inp: ray.dag.MultiOutputNode([slow.wait.bind(inp), worker.fail_if_odd.bind(inp)]))
    with pytest.raises(ValueError, match="7 is odd"):
        ray.get(graph.execute(7)[0])
    gate.open()
    assert ray.get(graph.execute(2)) == [2, 2]


def test_a_graph_can_be_an_actors_own(ray, Worker):
    @ray.remote
    class Owner:
        def __init__(self):
            self.worker = Worker.remote()
            with ray.dag.InputNode() as inp:
                graph = self.worker.add.bind(self.worker.add.bind(inp))
            self.graph = graph.experimental_compile()

        def run(self, x):
            return ray.get(self.graph.execute(x))

        def end(self):
            self.graph.teardown()

    owner = Owner.remote()
    assert ray.get([owner.run.remote(n) for n in (1, 2)]) == [2, 8]
    ray.get(owner.end.remote())


def test_actors_with_threads_run_a_graph_in_order(ray, compile):
    @ray.remote(max_concurrency=4)
    class Threaded:
        def __init__(self):
            self.log = []

        def write(self, name, x):
            self.log.append((x, name))
            return len(self.log)

    actor = Threaded.remote()
    graph = compile(lambda inp: ray.dag.MultiOutputNode([actor.write.bind("a", inp), actor.write.bind("b", inp)]))
    refs = [graph.execute(n) for n in range(5)]
    assert [ray.get(pair) for pair in refs] == [[2 * n + 1, 2 * n + 2] for n in range(5)]


def test_actors_keep_the_times_of_their_operations_on_request(ray, compile, dag, monkeypatch):
    @ray.remote
    class Timed:
        def double(self, x):
            return 2 * x

        def events(self):
            return [event.to_dict() for event in getattr(self, "__ray_cgraph_events", [])]

    monkeypatch.setattr(dag.constants, "RAY_CGRAPH_ENABLE_PROFILING", True)
    actor = Timed.remote()
    graph = compile(lambda inp: actor.double.bind(actor.double.bind(inp)))
    assert ray.get(graph.execute(1)) == 4
    events = ray.get(actor.events.remote())[:6]
    assert {event["operation"] for event in events} == {"READ", "COMPUTE", "WRITE"}
    assert {(event["actor_classname"], event["method_name"]) for event in events} == {("Timed", "double")}
    assert all(event["start_t"] <= event["end_t"] for event in events)
