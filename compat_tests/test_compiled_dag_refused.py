"""What cannot be compiled to a graph, and what is accepted without a meaning on one machine."""

import importlib

import pytest

from compat_tests.dags import compile, dag  # noqa: F401  fixtures


@pytest.fixture
def Worker(ray):
    @ray.remote
    class Worker:
        def echo(self, x):
            return x

        def add(self, x, y=0):
            return x + y

        @ray.method(num_returns=2)
        def pair(self, x):
            return x, x

    return Worker


def test_a_graph_needs_an_input(ray, compile, Worker):
    a, b = Worker.remote(), Worker.remote()
    with pytest.raises(ValueError, match="No InputNode found in the DAG"):
        a.echo.bind(1).experimental_compile()
    with pytest.raises(ValueError, match="require each task to take a ray.dag.InputNode"):
        compile(lambda inp: ray.dag.MultiOutputNode([a.echo.bind(inp), b.echo.bind(1)]))


def test_only_methods_of_living_actors(ray, compile, Worker):
    @ray.remote
    def task(x):
        return x

    worker = Worker.remote()
    with pytest.raises(NotImplementedError, match="only support actor method nodes"):
        compile(lambda inp: worker.echo.bind(task.bind(inp)))
    with pytest.raises(ValueError, match="already created with Actor.remote"):
        compile(lambda inp: Worker.bind().echo.bind(inp))


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (x, 1), lambda x: {"k": x}], ids=["list", "tuple", "dict"])
def test_nodes_are_arguments_of_their_own(ray, compile, Worker, wrap):
    worker = Worker.remote()
    with pytest.raises(ValueError, match="Found 1 DAGNodes from the arg"):
        compile(lambda inp: worker.echo.bind(wrap(inp)))


def test_nodes_are_no_keyword_arguments(ray, compile, Worker):
    worker = Worker.remote()
    with pytest.raises(ValueError, match="does not support binding to other DAG nodes as kwargs"):
        compile(lambda inp: worker.add.bind(1, y=inp))
    assert ray.get(compile(lambda inp: worker.add.bind(inp, y=5)).execute(1)) == 6


def test_the_whole_input_or_parts_of_it(ray, compile, Worker):
    worker = Worker.remote()
    with pytest.raises(ValueError, match="must either use InputNode"):
        compile(lambda inp: worker.add.bind(inp, worker.echo.bind(inp[0])))


def test_all_parts_of_the_input_must_be_used(ray, compile, Worker):
    worker = Worker.remote()
    with pytest.raises(ValueError, match="but y is unused"):
        compile(lambda inp: (inp.y, worker.echo.bind(inp.x))[1])


def test_every_result_must_be_used(ray, compile, Worker):
    worker = Worker.remote()

    def leaf(inp):
        worker.echo.bind(inp)
        return ray.dag.MultiOutputNode([worker.echo.bind(inp)])

    for build, count in ((leaf, 1), (lambda inp: worker.pair.bind(inp)[0], 1)):
        with pytest.raises(ValueError, match=f"There are {count} leaf nodes in the DAG"):
            compile(build)


def test_arguments_of_compiling_are_checked(ray, compile, Worker):
    worker = Worker.remote()
    with pytest.raises(ValueError, match="buffer_size_bytes"):
        compile(worker.echo.bind, _buffer_size_bytes=0)
    with pytest.raises(ValueError, match="default_communicator"):
        compile(worker.echo.bind, _default_communicator="other")
    graph = compile(
        worker.echo.bind, _submit_timeout=5, _buffer_size_bytes=1000, _overlap_gpu_communication=False, _default_communicator=None
    )
    assert ray.get(graph.execute(1)) == 1


def test_tensor_transports_are_checked(ray, Worker):
    node = Worker.remote().echo.bind(1)
    assert node.with_tensor_transport("shm") is node
    assert node.with_tensor_transport(transport="auto", device="cpu") is node
    with pytest.raises(ValueError, match="Invalid transport type"):
        node.with_tensor_transport("pigeon")
    with pytest.raises(ValueError, match="Invalid device"):
        node.with_tensor_transport(device="abacus")


def test_the_context_has_the_defaults(ray):
    context = ray.dag.DAGContext.get_current()
    assert context is ray.dag.DAGContext.get_current()
    assert (context.get_timeout, context.max_inflight_executions, context.max_buffered_results) == (10, 10, 1000)


def test_a_graph_as_text(ray, compile, Worker):
    a, b = Worker.remote(), Worker.remote()

    def build(inp):
        low, high = a.pair.bind(inp)
        return ray.dag.MultiOutputNode([b.echo.bind(low), b.echo.bind(high)])

    text = compile(build).visualize(format="ascii")
    assert "0:InputNode" in text and "MultiOutputNode" in text
    assert text.count(":echo") == 2 and "Output[1]" in text
    assert "0 ---> 1" in text


@pytest.mark.torch
def test_tensors_are_reduced_across_actors(ray, compile):
    torch = pytest.importorskip("torch")
    if ray.__name__ == "ray":
        pytest.importorskip("cupy")
    experimental = f"{ray.__name__}.experimental"
    allreduce = importlib.import_module(f"{experimental}.collective").allreduce
    communicator = importlib.import_module(f"{experimental}.channel.cpu_communicator").CPUCommunicator

    @ray.remote
    class Worker:
        def ones(self, n):
            return torch.ones(3) * n

    a, b = Worker.remote(), Worker.remote()

    def build(inp):
        tensors = [a.ones.bind(inp[0]), b.ones.bind(inp[1])]
        return ray.dag.MultiOutputNode(allreduce.bind(tensors, transport=communicator(2, [a, b])))

    graph = compile(build)
    for one, other in ((1, 2), (3, 4)):
        assert all(torch.equal(t, torch.full((3,), float(one + other))) for t in ray.get(graph.execute(one, other)))


@pytest.mark.torch
def test_what_cannot_be_reduced_is_refused(ray, Worker):
    pytest.importorskip("torch")
    if ray.__name__ == "ray":
        pytest.importorskip("cupy")
    allreduce = importlib.import_module(f"{ray.__name__}.experimental.collective").allreduce
    a, b = Worker.remote(), Worker.remote()
    with ray.dag.InputNode() as inp:
        one, other, again = a.echo.bind(inp), b.echo.bind(inp), a.echo.bind(inp)
    with pytest.raises(ValueError, match="unique input nodes"):
        allreduce.bind([one, one])
    with pytest.raises(ValueError, match="unique actor handles"):
        allreduce.bind([one, again])
    with pytest.raises(ValueError, match="same order of actor"):
        allreduce.bind([[one, other], [other, again]])
    with pytest.raises(ValueError, match="Unexpected operation"):
        allreduce.bind([one, other], op="sum")
