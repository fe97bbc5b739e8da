import importlib

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.needs_own_processes]  # torch.distributed: one rank in a process


@pytest.fixture
def collective(ray):
    return importlib.import_module(f"{ray.__name__}.util.collective")


@pytest.fixture
def types(ray, collective):
    return importlib.import_module(f"{ray.__name__}.util.collective.types")


@pytest.fixture
def members(ray, collective):
    """A function that makes the actors of a group of its own, `n` of them."""

    @ray.remote
    class Member:
        def call(self, function):
            return function(collective)

    def make(n, name="the group"):
        actors = [Member.remote() for _ in range(n)]
        ray.get([
            actor.call.remote(lambda c, rank=rank: c.init_collective_group(n, rank, "gloo", name)) for rank, actor in enumerate(actors)
        ])
        return actors

    return make


def on_all(ray, actors, function, name="the group"):
    """The results of `function(collective, rank)` in each of the actors."""
    return ray.get([actor.call.remote(lambda c: function(c, c.get_rank(name))) for actor in actors], timeout=60)


def test_each_knows_its_rank(ray, members):
    actors = members(2)
    assert on_all(ray, actors, lambda c, rank: (rank, c.get_collective_group_size("the group"))) == [(0, 2), (1, 2)]
    assert on_all(ray, actors, lambda c, rank: c.get_rank("another")) == [-1, -1]
    assert on_all(ray, actors, lambda c, rank: (c.is_group_initialized("the group"), c.is_group_initialized("x"))) == [(True, False)] * 2


def test_operations_of_all(ray, members, types):
    import numpy as np

    actors = members(2)

    def allreduce(c, rank):
        a, b = np.array([1.0, rank]), np.array([2.0, rank])
        c.allreduce(a, "the group")
        c.allreduce(b, "the group", types.ReduceOp.MAX)
        return a.tolist(), b.tolist()

    def broadcast(c, rank):
        a = np.full(3, rank, dtype=np.int64)
        c.broadcast(a, 1, "the group")
        return a.tolist()

    def reduce(c, rank):
        a = np.array([rank + 1.0])
        c.reduce(a, 1, "the group")
        return a.tolist()

    def allgather(c, rank):
        out = [np.zeros(2), np.zeros(2)]
        c.allgather(out, np.array([rank, 7.0]), "the group")
        return [o.tolist() for o in out]

    def reducescatter(c, rank):
        out = np.zeros(1)
        c.reducescatter(out, [np.array([1.0 + rank]), np.array([10.0 + rank])], "the group")
        return out.tolist()

    def exchange(c, rank):
        a = np.array([float(rank)])
        if rank == 0:
            c.send(a, 1, "the group")
        else:
            c.recv(a, 0, "the group")
        c.barrier("the group")
        return a.tolist()

    assert on_all(ray, actors, allreduce) == [([2.0, 1.0], [2.0, 1.0])] * 2
    assert on_all(ray, actors, broadcast) == [[1, 1, 1]] * 2
    assert on_all(ray, actors, reduce) == [[1.0], [3.0]]
    assert on_all(ray, actors, allgather) == [[[0.0, 7.0], [1.0, 7.0]]] * 2
    assert on_all(ray, actors, reducescatter) == [[3.0], [21.0]]
    assert on_all(ray, actors, exchange) == [[0.0], [0.0]]


def test_torch_tensors_too(ray, members):
    def sum_up(c, rank):
        import torch

        t = torch.full((2,), float(rank + 1))
        c.allreduce(t, "the group")
        return t.tolist()

    assert on_all(ray, members(2), sum_up) == [[3.0, 3.0]] * 2


def test_a_driver_can_declare_a_group(ray, collective):
    import numpy as np

    @ray.remote
    class Member:
        def sum_up(self, x):
            a = np.array([x])
            collective.allreduce(a, "declared")
            return a[0], collective.get_rank("declared")

        def leave(self):
            collective.destroy_collective_group("declared")

    actors = [Member.remote(), Member.remote()]
    collective.create_collective_group(actors, 2, [1, 0], "gloo", "declared")
    assert ray.get([actor.sum_up.remote(x) for actor, x in zip(actors, (1.0, 2.0))], timeout=60) == [(3.0, 1), (3.0, 0)]
    ray.get([actor.leave.remote() for actor in actors])


def test_mistakes_are_named(ray, collective, members):
    import numpy as np

    with pytest.raises(RuntimeError, match="inside a Ray actor or task"):
        collective.init_collective_group(1, 0, "gloo")
    with pytest.raises(RuntimeError, match="permutation"):
        collective.create_collective_group([None, None], 2, [0, 2], "gloo", "bad")
    with pytest.raises(RuntimeError, match="one rank"):
        collective.create_collective_group([None, None], 2, [0], "gloo", "bad")
    [actor] = members(1)

    def expect(function, error, message):
        with pytest.raises(error, match=message):
            ray.get(actor.call.remote(function))

    expect(lambda c: c.init_collective_group(1, 0, "gloo", "the group"), RuntimeError, "second time")
    expect(lambda c: c.init_collective_group(1, 0, "absent", "another"), ValueError, "Backend ABSENT not registered")
    expect(lambda c: c.allreduce(np.zeros(1), "nowhere"), RuntimeError, "not initialized")
    expect(lambda c: c.allreduce([1], "the group"), RuntimeError, "Unrecognized tensor type")
    expect(lambda c: c.send(np.zeros(1), 0, "the group"), RuntimeError, "is self")
    expect(lambda c: c.broadcast(np.zeros(1), 3, "the group"), ValueError, "less than world size")
    expect(lambda c: c.allgather([], np.zeros(1), "the group"), RuntimeError, "empty list")


def test_a_group_can_be_left_and_joined_again(ray, members):
    import numpy as np

    actors = members(2)
    on_all(ray, actors, lambda c, rank: c.destroy_collective_group("the group"))
    assert on_all(ray, actors, lambda c, rank: rank) == [-1, -1]
    ray.get([a.call.remote(lambda c, rank=rank: c.init_collective_group(2, rank, "gloo", "second")) for rank, a in enumerate(actors)])

    def sum_up(c, rank):
        a = np.ones(1)
        c.allreduce(a, "second")
        return a[0]

    assert on_all(ray, actors, sum_up, "second") == [2.0, 2.0]


def test_what_there_is(collective):
    assert collective.gloo_available() and collective.is_backend_available("gloo")
    assert not collective.is_backend_available("no such")


@pytest.mark.rayshim_only
def test_results_are_not_written_into_read_only_arrays(ray, members):
    import numpy as np

    [actor] = members(1)
    ref = ray.put(np.zeros(1000))
    with pytest.raises(ValueError, match="read-only"):
        ray.get(actor.call.remote(lambda c: c.allreduce(ray.get(ref), "the group")))
