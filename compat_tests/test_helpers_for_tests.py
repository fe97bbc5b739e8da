"""What other projects' tests import from Ray: `ray._common.test_utils`, `ray._private.test_utils`, and `ray.cluster_utils.Cluster` with one node."""

import shutil
import tempfile

import pytest

CLUSTER = """
    import ray
    from ray.cluster_utils import Cluster

    @ray.remote
    def double(x):
        return 2 * x
"""


@pytest.fixture
def own_directory(monkeypatch):
    """Sessions of this test are found by it alone."""
    directory = tempfile.mkdtemp(prefix="h", dir="/tmp")  # short: real Ray has sockets there
    monkeypatch.setenv("RAY_TMPDIR", directory)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    yield
    shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.needs_own_processes
def test_a_cluster_of_one_node(scripts, own_directory):
    assert scripts.run(CLUSTER + """
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 3, "resources": {"lamp": 2}, "include_dashboard": False})
    ray.init(address=cluster.address, log_to_driver=False)
    print(ray.cluster_resources()["CPU"], ray.cluster_resources()["lamp"], ray.get(double.remote(2)), cluster.address == cluster.gcs_address)
    print(ray.nodes()[0]["NodeID"] == cluster.head_node.node_id, cluster.list_all_nodes() == [cluster.head_node], cluster.worker_nodes)
    cluster.wait_for_nodes()
    ray.shutdown()
    print(cluster.remaining_processes_alive())
    cluster.shutdown()
    print(cluster.list_all_nodes(), cluster.address, ray.is_initialized())
    """).splitlines() == ["3.0 2.0 4 True", "True True set()", "True", "[] None False"]


@pytest.mark.needs_own_processes
def test_a_cluster_connects_its_program_and_adds_its_head_later(scripts, own_directory):
    assert scripts.run(CLUSTER + """
    try:
        Cluster(connect=True)
    except RuntimeError as error:
        print(str(error).split(".")[0])
    cluster = Cluster()
    print(cluster.address, cluster.list_all_nodes())
    cluster.add_node(include_dashboard=False)
    cluster.connect(namespace="mine")
    print(ray.cluster_resources()["CPU"], ray.get_runtime_context().namespace, cluster.connected, ray.get(double.remote(3)))
    try:
        cluster.shutdown()
    except ValueError as error:
        print(str(error).split(" will")[0], ray.is_initialized())
    cluster.shutdown()
    """).splitlines() == [
        "Cannot connect to uninitialized cluster", "None []", "1.0 mine True 6",
        "Removing a node that is connected to this Ray client is not allowed because it False"]


UTILS = """
    import os
    import ray
    from ray._common.test_utils import Semaphore, SignalActor, async_wait_for_condition, run_string_as_driver
    from ray._private.test_utils import (
        get_actor_node_id, kill_actor_and_wait_for_failure, put_object, run_string_as_driver_stdout_stderr, same_elements, wait_for_condition,
        wait_for_num_actors, wait_for_pid_to_exit)

    @ray.remote
    class A:
        def pid(self):
            return os.getpid()

    INIT
"""


@pytest.mark.needs_own_processes
def test_actors_that_tests_wait_with(scripts):
    assert scripts.run(UTILS + """
    signal = SignalActor.remote()
    waiting = signal.wait.remote()
    wait_for_condition(lambda: ray.get(signal.cur_num_waiters.remote()) == 1)
    print(ray.wait([waiting], timeout=0.1)[0], ray.get(signal.send.remote()), ray.get(waiting))
    semaphore = Semaphore.remote(1)
    ray.get(semaphore.acquire.remote())
    print(ray.get(semaphore.locked.remote()), ray.get(semaphore.release.remote()), ray.get(semaphore.locked.remote()))
    """).splitlines() == ["[] None None", "True None False"]


@pytest.mark.needs_own_processes
def test_waits_for_processes_and_other_helpers(scripts):
    assert scripts.run(UTILS + """
    actor = A.remote()
    pid = ray.get(actor.pid.remote())
    print(get_actor_node_id(actor) == ray.nodes()[0]["NodeID"])
    ray.kill(actor)
    wait_for_pid_to_exit(pid)
    print(ray.get(put_object(5, True)), ray.get(put_object(6, False)), same_elements([1, 2], [2, 1]))
    """).splitlines() == ["True", "5 6 True"]


@pytest.mark.needs_own_processes
@pytest.mark.rayshim_only  # on Ray they need the dashboard
def test_waits_for_actors(scripts):
    assert scripts.run(UTILS + """
    actor = A.remote()
    wait_for_num_actors(1, 2)
    print(ray.get(actor.pid.remote()) > 0)
    kill_actor_and_wait_for_failure(actor)
    wait_for_num_actors(1, 4)
    """).splitlines() == ["True"]


def test_conditions_and_scripts(scripts):
    assert scripts.run(UTILS + """
    import asyncio
    async def met():
        return True
    asyncio.run(async_wait_for_condition(met))
    for condition in (lambda: False), (lambda: 1 / 0):
        try:
            wait_for_condition(condition, timeout=0.2)
        except RuntimeError as error:
            print(str(error)[:52], "ZeroDivisionError" in str(error))
    try:
        wait_for_condition(lambda: 1 / 0, raise_exceptions=True)
    except ZeroDivisionError:
        print("at once")
    print(run_string_as_driver("print(5)").strip(), run_string_as_driver_stdout_stderr("print(6)"))
    """).splitlines() == [
        "The condition wasn't met before the timeout expired. False", "The condition wasn't met before the timeout expired. True", "at once", "5 ('6\\n', '')"]


def test_a_block_with_a_client_takes_the_session_that_runs_and_ends_it(scripts):
    assert scripts.run("""
    import ray
    from ray.util.client.ray_client_helpers import ray_start_client_server

    ray.init(num_cpus=2, log_to_driver=False)
    with ray_start_client_server() as client:
        print(client.get(client.put(3)), ray.cluster_resources()["CPU"])
    print(ray.is_initialized())
    """).splitlines() == ["3 2.0", "False"]
