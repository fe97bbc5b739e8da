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
    assert state.get_actor("f" * 32) is None


@pytest.mark.needs_processes
def test_dead_actors_are_listed(ray, state, counter):
    actor = counter.remote()
    ray.get(actor.pid.remote())
    ray.kill(actor)
    wait_until(lambda: [a.state for a in state.list_actors()] == ["DEAD"])
    assert "ray.kill" in state.list_actors(detail=True)[0].death_cause["actor_died_error_context"]["error_message"]
    actors = [counter.remote() for _ in range(5)]
    ray.get([a.pid.remote() for a in actors[:4]])
    assert state.summarize_actors()["cluster"]["summary"]["Counter"]["state_counts"] == {"DEAD": 1, "ALIVE": 4, "PENDING_CREATION": 1}


@pytest.mark.needs_processes
def test_why_actors_died_and_how_often_they_were_restarted(ray, state):
    class Dies:
        def __init__(self, fail=False):
            if fail:
                raise ValueError("no")

        def die(self):
            os._exit(3)

        def number(self):
            return 1

    dies = ray.remote(Dies)
    alone = dies.options(name="alone").remote()
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(alone.die.remote())  # before the others are there, who may share its process
    again = dies.options(name="again", max_restarts=1, max_task_retries=-1).remote()
    dies.options(name="unborn").remote(fail=True)
    dies.options(name="dropped").remote()
    killed = dies.options(name="killed").remote()
    again.die.options(max_task_retries=0).remote()
    ray.get([again.number.remote(), killed.number.remote()])
    ray.kill(killed)

    def found():
        return {a.name: a for a in state.list_actors(detail=True)}
    wait_until(lambda: [found()[name].state for name in ("alone", "unborn", "dropped", "killed", "again")] == ["DEAD"] * 4 + ["ALIVE"])
    actors = found()
    assert {name: a.num_restarts for name, a in actors.items()} == {"alone": 0, "again": 1, "unborn": 0, "dropped": 0, "killed": 0}
    assert not actors["again"].death_cause and list(actors["unborn"].death_cause) == ["creation_task_failure_context"]
    causes = {name: actors[name].death_cause["actor_died_error_context"] for name in ("alone", "dropped", "killed")}
    assert {name: c["reason"] for name, c in causes.items()} == {"alone": "WORKER_DIED", "dropped": "OUT_OF_SCOPE", "killed": "RAY_KILL"}
    assert {name: c["name"] for name, c in causes.items()} == {name: name for name in causes}
    assert causes["alone"]["error_message"].startswith("The actor is dead because its worker process has died")
    assert causes["alone"]["pid"] == actors["alone"].pid and causes["alone"]["never_started"] is False


def test_filters_and_limit(ray, state, counter):
    actors = [counter.options(name=name).remote() for name in "ab"]
    ray.get([actor.pid.remote() for actor in actors])
    assert [a.name for a in state.list_actors(filters=[("name", "=", "a")])] == ["a"]
    assert [a.name for a in state.list_actors(filters=[("name", "!=", "a"), ("state", "=", "alive")])] == ["b"]
    assert [a.name for a in state.list_actors(filters=[("NAME", "=", "a")])] == ["a"]
    assert len(state.list_actors(limit=1)) == 1
    with pytest.raises(ValueError, match="predicate"):
        state.list_actors(filters=[("name", "<", "a")])
    refused = importlib.import_module(f"{ray.__name__}.util.state.exception").RayStateApiException
    for key in ("colour", "num_restarts"):
        with pytest.raises(refused, match=f"filter column {key} is not supported"):
            state.list_actors(filters=[(key, "=", "a")])
    with pytest.raises(refused, match="Failed to convert"):
        state.list_actors(filters=[("pid", "=", "a")])
    assert state.list_actors(filters=[("pid", "=", "0")]) == []
    assert [w.worker_type for w in state.list_workers(filters=[("is_alive", "=", "true"), ("pid", "=", os.getpid())])] == ["DRIVER"]
    with pytest.warns(UserWarning, match="multiple '=' filters"):
        assert state.list_actors(filters=[("name", "=", "a"), ("name", "=", "b")]) == []
    for wrong in ("name=a", [("name", "=")], [("name", "=", None)]):
        with pytest.raises(ValueError):
            state.list_actors(filters=wrong)
    for limit in (None, "many"):
        with pytest.raises(ValueError):
            state.list_actors(limit=limit)
    for limit in (-1, 10_001):
        with pytest.raises(refused):
            state.list_actors(limit=limit)


def test_the_environment_before_init_says_how_high_a_limit_may_be(scripts):
    out = scripts.run(
        """
        import os
        import ray
        from ray.util.state import list_actors
        from ray.util.state.exception import RayStateApiException

        os.environ["RAY_MAX_LIMIT_FROM_API_SERVER"] = "40000"
        INIT
        print(list_actors(limit=40_000))
        try:
            list_actors(limit=40_001)
        except RayStateApiException as error:
            print("limit 40000. Use a lower limit, or set the `RAY_MAX_LIMIT_FROM_API_SERVER`" in str(error))
        """
    )
    assert out.splitlines() == ["[]", "True"]


def test_ids_that_cannot_be_are_refused(ray, state):
    refused = importlib.import_module(f"{ray.__name__}.util.state.exception").RayStateApiException
    for get, size in ((state.get_actor, 16), (state.get_node, 28), (state.get_task, 24)):
        with pytest.raises(refused, match=f"needs to have length {size}, got 1"):
            get("00")
        with pytest.raises(refused, match="Non-hexadecimal"):
            get("no")
    assert state.get_actor("f" * 32) is None and state.get_worker("no") is None and state.get_placement_group("00") is None
    with pytest.raises(refused):
        state.get_actor(None)


def test_records_have_all_fields_and_details_only_when_asked(ray, state, counter):
    common = importlib.import_module(f"{ray.__name__}.util.state.common")
    actor = counter.remote()
    ray.get(actor.pid.remote())
    [brief], [full] = state.list_actors(), state.list_actors(detail=True)
    assert {name for name in common.ActorState.detail_columns() if brief[name] is None} >= {"num_restarts", "required_resources", "is_detached"}
    assert common.ActorState.base_columns() == {"actor_id", "class_name", "state", "job_id", "name", "node_id", "pid", "ray_namespace"}
    assert full.num_restarts == 0 and full.is_detached is False and "repr_name" in common.ActorState.filterable_columns()
    assert set(full.asdict()) == common.ActorState.columns()
    [node] = state.list_nodes(detail=True)
    assert node.start_time_ms > 1.5e12 and node.end_time_ms == 0 and state.list_nodes()[0].start_time_ms is None
    assert state.list_jobs()[0].status.is_terminal() is False and state.list_jobs()[0].type.value == "DRIVER"


def test_the_client_lists_gets_and_summarizes(ray, state, counter):
    common = importlib.import_module(f"{ray.__name__}.util.state.common")
    actors = [counter.remote() for _ in range(2)]
    ray.get([actor.pid.remote() for actor in actors])
    client = state.StateApiClient()
    wanted = common.ListApiOptions(filters=[("class_name", "=", "counter")], limit=1)
    assert len(client.list(common.StateResource.ACTORS, wanted, True)) == 1
    assert client.get(common.StateResource.NODES, ray.nodes()[0]["NodeID"], common.GetApiOptions()).is_head_node
    told = client.summary(common.SummaryResource.ACTORS, options=common.SummaryApiOptions(), raise_on_missing_output=True)
    assert told["cluster"]["total_actors"] == 2


def test_what_is_not_kept_is_told(ray, state):
    refused = importlib.import_module(f"{ray.__name__}.util.state.exception").RayStateApiException
    node = ray.nodes()[0]["NodeID"]
    for ask in (state.list_objects, state.summarize_objects, lambda: state.get_objects("00"), state.list_runtime_envs):
        with pytest.raises(refused, match="keeps no list"):
            ask()
    with pytest.raises(refused, match="writes no log files"):
        next(state.get_log(node_id=node, filename="raylet.out"))
    with pytest.raises(ValueError, match="None of actor_id"):
        next(state.get_log(node_id=node))
    with pytest.raises(AssertionError, match="node id is required"):
        state.list_logs()
    assert state.list_logs(node_id=node) == {} and state.list_cluster_events() == []


def test_nothing_is_listed_without_a_session(bare_ray):
    state = importlib.import_module(f"{bare_ray.__name__}.util.state")
    with pytest.raises(ConnectionError, match="Could not find any running Ray instance"):
        state.list_actors()
    assert not bare_ray.is_initialized()


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


def _states(found):
    return sorted((task.name.rpartition(".")[2], task.state) for task in found)


def test_ended_calls_are_counted_without_a_trace(ray, state):
    @ray.remote
    def work():
        return 1

    @ray.remote
    class Worker:
        def fails(self):
            raise ValueError

    worker = Worker.remote()
    ray.get([work.remote() for _ in range(3)])
    with pytest.raises(ValueError):
        ray.get(worker.fails.remote())
    wait_until(lambda: _states(state.list_tasks()) == [("__init__", "FINISHED"), ("fails", "FAILED"), *[("work", "FINISHED")] * 3])
    assert len(state.list_tasks(filters=[("state", "=", "FINISHED")], limit=2)) == 2
    assert [t.error_type for t in state.list_tasks(filters=[("type", "=", "ACTOR_TASK")])] == ["TASK_EXECUTION_EXCEPTION"]
    told = state.summarize_tasks()["cluster"]
    assert told["total_tasks"] == 3 and told["total_actor_tasks"] == 1 and told["total_actor_scheduled"] == 1
    assert told["summary"]["work"]["state_counts"] == {"FINISHED": 3}


def test_calls_of_workers_that_have_ended_are_counted(ray, state):
    @ray.remote(max_calls=1)
    def works_once():
        return 1

    ray.get([works_once.remote() for _ in range(2)])
    wait_until(lambda: _states(state.list_tasks()) == [("works_once", "FINISHED")] * 2)


@pytest.mark.needs_processes
def test_constructors_are_listed_by_what_became_of_their_actors(ray, state, counter):
    @ray.remote
    class Fails:
        def __init__(self):
            raise ValueError

    named, ended, fails = counter.options(name="the counter").remote(), counter.remote(), Fails.remote()
    ray.get([named.pid.remote(), ended.pid.remote(), ended.pid.remote()])
    ray.kill(ended)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(fails.__ray_ready__.remote())
    constructors = [("type", "=", "ACTOR_CREATION_TASK")]
    found = sorted((t.name, t.func_or_class_name, t.state, t.error_type) for t in state.list_tasks(filters=constructors))
    assert found == [
        ("Counter.__init__", "Counter.__init__", "FINISHED", None),
        ("Fails.__init__", "Fails.__init__", "FAILED", "TASK_EXECUTION_EXCEPTION"),
        ("the counter:Counter.__init__", "Counter.__init__", "FINISHED", None),
    ]
    assert {t.actor_id for t in state.list_tasks(filters=constructors)} == {a.actor_id for a in state.list_actors()}


@pytest.mark.needs_concurrency
def test_constructors_of_actors_that_never_began(ray, state, counter):
    waits, killed = counter.options(num_cpus=1000).remote(), counter.options(num_cpus=1001).remote()
    ray.kill(killed)
    outcome = lambda: sorted((t.state, t.error_type) for t in state.list_tasks() if t.type == "ACTOR_CREATION_TASK")  # noqa: E731
    wait_until(lambda: outcome() == [("FAILED", "WORKER_DIED"), ("PENDING_NODE_ASSIGNMENT", None)])
    del waits


@pytest.mark.needs_own_processes
def test_an_actor_is_alive_once_its_constructor_has_ended(ray, state, gate):
    @ray.remote
    class Waits:
        def __init__(self):
            gate.enter()

    actor = Waits.remote()
    constructor = lambda: [t.state for t in state.list_tasks(filters=[("func_or_class_name", "=", "Waits.__init__")])]  # noqa: E731
    wait_until(lambda: [a.state for a in state.list_actors()] == ["PENDING_CREATION"] and constructor() == ["RUNNING"])
    gate.open()
    ray.get(actor.__ray_ready__.remote())
    assert [a.state for a in state.list_actors()] == ["ALIVE"] and constructor() == ["FINISHED"]


@pytest.mark.needs_concurrency
def test_running_and_queued_tasks_are_listed_without_a_trace(ray, state, gate):
    @ray.remote(num_cpus=3)
    def waits():
        gate.enter()

    @ray.remote
    class Worker:
        def waits_too(self):
            gate.enter()

    refs = [waits.remote() for _ in range(3)]
    worker = Worker.remote()
    last = worker.waits_too.remote()
    expected = [("__init__", "FINISHED")] + [("waits", "PENDING_NODE_ASSIGNMENT")] * 2 + [("waits", "RUNNING"), ("waits_too", "RUNNING")]
    wait_until(lambda: _states(state.list_tasks()) == expected)
    waiting = {t.task_id for t in state.list_tasks(filters=[("state", "=", "PENDING_NODE_ASSIGNMENT")])}
    assert waiting < {ref.task_id().hex() for ref in refs}
    assert state.get_task(waiting.pop()).name == "waits"
    gate.open()
    ray.get([*refs, last])


def test_calls_have_ids_and_times_with_a_trace(bare_ray, backend):
    state = importlib.import_module(f"{bare_ray.__name__}.util.state")
    backend.init(num_cpus=2, log_to_driver=False, trace=True)

    @bare_ray.remote(max_retries=0)
    def work(fails):
        if fails:
            raise ValueError
        return 1

    refs = [work.remote(fails) for fails in (False, True)]
    bare_ray.wait(refs, num_returns=2)
    with pytest.raises(ValueError):
        bare_ray.get(refs[1])
    wait_until(lambda: _states(state.list_tasks()) == [("work", "FAILED"), ("work", "FINISHED")])
    assert [state.get_task(ref).state for ref in refs] == ["FINISHED", "FAILED"]
    assert state.get_task(refs[0].task_id().hex()).end_time_ms >= state.get_task(refs[0]).start_time_ms > 1.5e12
    assert state.get_task("f" * 48) is None
    assert state.summarize_tasks()["cluster"]["total_tasks"] == 2
