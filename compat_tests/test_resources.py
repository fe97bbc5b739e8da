import os

import pytest

from compat_tests.processes import wait_until


@pytest.fixture
def crowd(tmp_path):
    """A function that returns how many of its kind it has seen at work at once; it looks for more than `limit`."""
    directory = str(tmp_path / "crowd")
    os.makedirs(directory)

    def crowd(limit):
        import time
        import uuid
        mine = os.path.join(directory, uuid.uuid4().hex)
        open(mine, "w").close()
        most, deadline = 0, time.monotonic() + 0.3
        while most <= limit and time.monotonic() < deadline:
            most = max(most, len(os.listdir(directory)))
            time.sleep(0.005)
        os.remove(mine)
        return most

    return crowd


@pytest.fixture
def idle(ray):
    """Returns once everything that earlier tests held is free."""
    everything = {name: ray.cluster_resources()[name] for name in ("CPU", "GPU", "lamp")}
    wait_until(lambda: everything.items() <= ray.available_resources().items())


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("options, limit", [
    ({"num_cpus": 2}, 2), ({"num_gpus": 1}, 2), ({"resources": {"lamp": 2}}, 1), ({}, 4)])
def test_tasks_run_as_many_at_once_as_the_resources_allow(ray, idle, crowd, options, limit):
    task = ray.remote(**options)(crowd) if options else ray.remote(crowd)
    assert max(ray.get([task.remote(limit) for _ in range(limit + 1)])) <= limit


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("options, limit", [({"num_cpus": 2}, 2), ({"num_gpus": 0.5}, 4), ({"num_cpus": 0}, 6)])
def test_tasks_reach_what_the_resources_allow(ray, idle, gate, options, limit):
    @ray.remote(**options)
    def enter():
        gate.enter()

    refs = [enter.remote() for _ in range(limit)]
    wait_until(lambda: gate.inside() == limit)
    gate.open()
    ray.get(refs)


@pytest.mark.needs_concurrency
def test_an_actor_holds_its_resources_until_it_ends(ray, idle):
    @ray.remote(num_gpus=2)
    class Owner:
        def ping(self):
            return "pong"

    first = Owner.remote()
    assert ray.get(first.ping.remote()) == "pong"
    second = Owner.remote()
    waiting = second.ping.remote()
    assert ray.wait([waiting], timeout=0.3)[0] == []
    ray.kill(first)
    assert ray.get(waiting) == "pong"


def test_actors_take_no_cpu_unless_told(ray, idle):
    @ray.remote
    class Light:
        def ping(self):
            return "pong"

    actors = [Light.remote() for _ in range(6)]
    assert ray.get([actor.ping.remote() for actor in actors]) == ["pong"] * 6


def test_tasks_nest_deeper_than_there_are_cpus(ray):
    @ray.remote
    def depth(n):
        return 0 if n == 0 else 1 + ray.get(depth.remote(n - 1))

    assert ray.get(depth.remote(7)) == 7


def test_a_task_blocked_in_wait_frees_its_cpu(ray):
    @ray.remote
    def one():
        return 1

    @ray.remote(num_cpus=4)
    def parent():
        [ready], _ = ray.wait([one.options(num_cpus=4).remote()])
        return ray.get(ready)

    assert ray.get(parent.remote()) == 1


@pytest.mark.needs_concurrency
def test_a_task_waiting_for_its_arguments_holds_no_cpu(ray, idle, gate):
    @ray.remote(num_cpus=0)
    def slow():
        gate.enter()
        return 1

    @ray.remote
    def use(x):
        return x

    pending = slow.remote()
    users = [use.remote(pending) for _ in range(4)]
    assert ray.get(use.remote("free")) == "free"
    gate.open()
    assert ray.get(users) == [1] * 4


@pytest.mark.needs_concurrency
def test_what_no_node_can_give_is_waited_for(ray):
    @ray.remote
    def one():
        return 1

    for options in ({"num_gpus": 3}, {"resources": {"unheard of": 1}}):
        with pytest.raises(ray.exceptions.GetTimeoutError):
            ray.get(one.options(**options).remote(), timeout=0.2)
    assert ray.get(one.remote()) == 1


def test_cluster_resources_are_those_of_init(ray):
    resources = ray.cluster_resources()
    assert {name: resources[name] for name in ("CPU", "GPU", "lamp")} == {"CPU": 4, "GPU": 2, "lamp": 2}
    assert resources["memory"] > 0
    assert resources["object_store_memory"] == 128 << 20


@pytest.mark.needs_concurrency
def test_available_resources_tell_what_is_held(ray, idle, gate):
    @ray.remote(num_cpus=3, resources={"lamp": 1})
    def hold():
        gate.enter()

    ref = hold.remote()
    wait_until(lambda: (ray.available_resources().get("CPU"), ray.available_resources().get("lamp")) == (1, 1))
    gate.open()
    ray.get(ref)
    wait_until(lambda: (ray.available_resources().get("CPU"), ray.available_resources().get("lamp")) == (4, 2))


def test_nodes_shows_this_machine(ray):
    [node] = ray.nodes()
    assert node["Alive"] is True
    assert node["NodeID"] == ray.get_runtime_context().get_node_id()
    assert node["Resources"]["CPU"] == 4


def test_gpus_are_given_out_by_number(ray, idle):
    @ray.remote
    def mine():
        return ray.get_gpu_ids(), os.environ.get("CUDA_VISIBLE_DEVICES")

    ids, visible = ray.get(mine.options(num_gpus=2).remote())
    assert sorted(map(int, ids)) == [0, 1]
    assert sorted(visible.split(",")) == ["0", "1"]
    assert ray.get(mine.remote())[0] == []
    assert ray.get_gpu_ids() == []


def test_actors_with_gpus_have_different_ones(ray, idle):
    @ray.remote(num_gpus=1)
    class Owner:
        def mine(self):
            return ray.get_gpu_ids()

    owners = [Owner.remote(), Owner.remote()]
    assert sorted(int(ids[0]) for ids in ray.get([owner.mine.remote() for owner in owners])) == [0, 1]


def test_more_than_one_gpu_comes_in_whole_numbers(ray):
    @ray.remote
    def task():
        pass

    with pytest.raises(ValueError, match="1.5"):
        task.options(num_gpus=1.5).remote()


def test_a_task_knows_what_it_was_given(ray, idle):
    @ray.remote(num_cpus=2, resources={"lamp": 1})
    def given():
        return ray.get_runtime_context().get_assigned_resources()

    assert ray.get(given.remote()) == {"CPU": 2, "lamp": 1}


@pytest.mark.needs_concurrency
def test_an_actor_does_not_overtake_a_task(bare_ray, backend, gate):
    backend.init(num_cpus=1)

    @bare_ray.remote(num_cpus=1)
    def first():
        gate.enter()

    @bare_ray.remote(num_cpus=1)
    class Second:
        def ping(self):
            return "pong"

    task = first.remote()
    answer = Second.remote().ping.remote()
    wait_until(lambda: gate.inside() == 1)
    assert bare_ray.wait([answer], timeout=0.1)[0] == []
    gate.open()
    assert bare_ray.get([task, answer]) == [None, "pong"]


def test_small_values_take_nothing_of_the_store(ray, idle):
    before = ray.available_resources()["object_store_memory"]
    refs = [ray.put(bytes(1000)) for _ in range(10)]
    assert ray.available_resources()["object_store_memory"] == before
    del refs
