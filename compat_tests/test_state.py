"""Real Ray answers these from its dashboard, which needs packages that are not always there: they run on rayshim only."""

import importlib
import os

import pytest

from compat_tests.processes import wait_until

pytestmark = pytest.mark.rayshim_only


@pytest.fixture
def state(ray):
    return importlib.import_module(f"{ray.__name__}.util.state")


@pytest.fixture
def counter(ray):
    @ray.remote(num_cpus=1)
    class Counter:
        def pid(self):
            return os.getpid()

    return Counter


def test_actors_are_listed(ray, state, counter):
    actor = counter.options(name="the counter").remote()
    pid = ray.get(actor.pid.remote())
    [record] = state.list_actors()
    assert (record.class_name, record.state, record.name, record.pid) == ("Counter", "ALIVE", "the counter", pid)
    assert record.actor_id == actor._actor_id.hex() and record["state"] == record.get("state") == "ALIVE"
    assert record.node_id == ray.get_runtime_context().get_node_id()
    assert record.required_resources is None
    assert state.list_actors(detail=True)[0].required_resources == {"CPU": 1.0}
    assert state.get_actor(record.actor_id).asdict() == state.list_actors(detail=True)[0].asdict()
    assert state.get_actor("00") is None


@pytest.mark.needs_processes
def test_dead_actors_are_listed(ray, state, counter):
    actor = counter.remote()
    ray.get(actor.pid.remote())
    ray.kill(actor)
    wait_until(lambda: [a.state for a in state.list_actors()] == ["DEAD"])
    assert "ray.kill" in state.list_actors(detail=True)[0].death_cause["error_message"]
    actors = [counter.remote() for _ in range(5)]
    ray.get([a.pid.remote() for a in actors[:4]])
    assert state.summarize_actors()["cluster"]["summary"]["Counter"]["state_counts"] == {"DEAD": 1, "ALIVE": 4, "PENDING_CREATION": 1}


def test_filters_and_limit(ray, state, counter):
    actors = [counter.options(name=name).remote() for name in "ab"]
    ray.get([actor.pid.remote() for actor in actors])
    assert [a.name for a in state.list_actors(filters=[("name", "=", "a")])] == ["a"]
    assert [a.name for a in state.list_actors(filters=[("name", "!=", "a"), ("state", "=", "alive")])] == ["b"]
    assert len(state.list_actors(limit=1)) == 1
    with pytest.raises(ValueError, match="predicate"):
        state.list_actors(filters=[("name", "<", "a")])
    with pytest.raises(ValueError, match="filter key"):
        state.list_actors(filters=[("colour", "=", "a")])


def test_the_rest_is_listed(ray, state):
    [node] = state.list_nodes()
    assert node.node_id == ray.get_runtime_context().get_node_id() and node.resources_total["CPU"] == 4
    assert state.get_node(node.node_id).state == "ALIVE"
    [job] = state.list_jobs()
    assert job.job_id == ray.get_runtime_context().get_job_id() and job.status == "RUNNING"
    assert os.getpid() in [worker.pid for worker in state.list_workers()]
    group = ray.util.placement_group([{"CPU": 1}], name="listed")
    assert group.wait(5)
    assert state.get_placement_group(group.id.hex()).bundles[0]["unit_resources"] == {"CPU": 1.0}
    assert [g.name for g in state.list_placement_groups()] == ["listed"]


def test_calls_are_listed_where_times_are_kept(bare_ray, backend):
    state = importlib.import_module(f"{bare_ray.__name__}.util.state")
    backend.init(num_cpus=2, log_to_driver=False)
    with pytest.raises(importlib.import_module(f"{bare_ray.__name__}.util.state.exception").RayStateApiException, match="trace"):
        state.list_tasks()
    bare_ray.shutdown()
    backend.init(num_cpus=2, log_to_driver=False, trace=True)

    @bare_ray.remote
    def work():
        return 1

    bare_ray.get([work.remote() for _ in range(3)])
    found = state.list_tasks(detail=True)
    assert [t.name for t in found if "work" in t.name] and all(t.end_time_ms >= t.start_time_ms for t in found)
    assert state.summarize_tasks()["cluster"]["total_tasks"] == 3
