"""What other projects' tests import from Ray: `ray._common.test_utils`, `ray._private.test_utils`, and `ray.cluster_utils.Cluster` with one node."""

import shutil
import tempfile
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="some of these modules are those of Ray's package")

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
def test_the_first_node_of_a_cluster_is_its_head(scripts, own_directory):
    assert scripts.run("""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    [node] = cluster.list_all_nodes()
    print(node.is_head(), node.head, node.redis_address)
    print([each.node_id for each in cluster.list_all_nodes() if not each.is_head()])
    cluster.shutdown()
    """) == "True True None\n[]\n"


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


MORE_UTILS = """
    import os
    import subprocess
    import sys
    import types
    import ray
    from pathlib import Path
    from ray._private.test_utils import (
        _pid_alive, generate_runtime_env_dict, get_gpu_visible_devices_env_var, kill_processes, no_resource_leaks_excluding_node_resources,
        object_memory_usage, persistent_gcs_test_enabled, placement_group_assert_no_leak, redis_replicas, rocksdb_gcs_test_enabled, wait_for_condition,
        wait_for_children_of_pid, wait_for_children_of_pid_to_exit)
    from ray.util import placement_group, placement_group_table

    INIT
"""


@pytest.mark.needs_own_processes
def test_resources_that_tests_leave_behind(scripts):
    assert scripts.run(MORE_UTILS + """
    groups = [placement_group([{"CPU": 1}], name=name) for name in ("one", "other")]
    print(all(group.wait(30) for group in groups), no_resource_leaks_excluding_node_resources())
    placement_group_assert_no_leak(groups)
    wait_for_condition(no_resource_leaks_excluding_node_resources)
    print({entry["state"] for entry in placement_group_table().values()}, object_memory_usage() >= 0)
    """).splitlines() == ["True False", "{'REMOVED'} True"]


@pytest.mark.needs_own_processes
def test_processes_that_tests_start(scripts):
    assert scripts.run(MORE_UTILS + """
    child = subprocess.Popen([sys.executable, "-c", "import subprocess; subprocess.Popen(['cat'], stdin=-1).wait()"])
    wait_for_children_of_pid(child.pid)
    for wait in lambda: wait_for_children_of_pid(child.pid, 5, timeout=0.2), lambda: wait_for_children_of_pid_to_exit(child.pid, timeout=0.2):
        try:
            wait()
        except TimeoutError as error:
            print(str(error).split(str(child.pid))[0].split("Children")[0].strip())
    print(_pid_alive(child.pid))
    kill_processes([types.SimpleNamespace(process=child)])
    print(_pid_alive(child.pid), wait_for_children_of_pid_to_exit(os.getpid(), 0.1) if not ray.is_initialized() else None)
    """).splitlines() == [
        "Timed out while waiting for process", "Timed out while waiting for process children to exit.", "True", "False None"]


def test_facts_for_tests(scripts):
    assert scripts.run(MORE_UTILS + """
    print(generate_runtime_env_dict("pip", "python_object", None), generate_runtime_env_dict("conda", "python_object", None, ["a"]))
    path = Path(os.environ["TMPDIR"] if "TMPDIR" in os.environ else "/tmp")
    written = generate_runtime_env_dict("pip", "file", path, ["a", "b"])["pip"]
    print(Path(written).read_text().split(), Path(written).suffix, Path(generate_runtime_env_dict("conda", "file", path)["conda"]).suffix)
    print(get_gpu_visible_devices_env_var(), redis_replicas(), persistent_gcs_test_enabled(), rocksdb_gcs_test_enabled())
    """).splitlines() == [
        "{'pip': ['pip-install-test==0.5']} {'conda': {'dependencies': ['pip', {'pip': ['a']}]}}", "['a', 'b'] .txt .yml",
        "CUDA_VISIBLE_DEVICES 1 False False"]


@pytest.mark.rayshim_only
def test_helpers_that_look_into_rays_processes_are_refused_when_they_are_called(scripts):
    assert scripts.run("""
    from ray._private.test_utils import get_error_message, init_error_pubsub, kill_raylet
    import ray._private.test_utils
    for helper in init_error_pubsub, lambda: get_error_message(None, 1), lambda: ray._private.test_utils.get_node_stats({}):
        try:
            helper()
        except NotImplementedError as error:
            print(str(error).split(" looks")[0])
    print(kill_raylet.__name__, hasattr(ray._private.test_utils, "no_such_helper"))
    """).splitlines() == [
        "ray._private.test_utils.init_error_pubsub()", "ray._private.test_utils.get_error_message()", "ray._private.test_utils.get_node_stats()",
        "kill_raylet False"]


def test_rules_of_runtime_environments_that_tests_ask_of_rays_modules(scripts):
    assert scripts.run("""
    from ray._private.path_utils import is_path
    from ray._private.collections_utils import split
    from ray._private.resource_and_label_spec import ResourceAndLabelSpec
    from ray._private.runtime_env import validation
    from ray._private.runtime_env.packaging import Protocol, parse_path
    from ray._private.runtime_env.uri_cache import URICache
    print(validation.parse_and_validate_py_modules(["s3://bucket/a.zip"]), validation.parse_and_validate_env_vars({"a": "b"}))
    print(validation.parse_and_validate_pip(["a"]), validation.parse_and_validate_conda("file-free"), is_path("s3://a"), is_path("/a"))
    for wrong in lambda: validation.parse_and_validate_env_vars({"a": 1}), lambda: validation.parse_and_validate_py_modules("a"):
        try:
            wrong()
        except (TypeError, ValueError) as error:
            print(type(error).__name__, str(error)[:40])
    cache = URICache(max_total_size_bytes=10)
    cache.add("a", 4)
    print(cache.get_total_size_bytes(), "a" in cache, Protocol.S3.name, list(split([1, 2, 3], 2)))
    print(ResourceAndLabelSpec(num_cpus=3, num_gpus=0, memory=1, object_store_memory=1, resources={}).resolve(is_head=False).num_cpus)
    """).splitlines() == [
        "['s3://bucket/a.zip'] {'a': 'b'}", "{'packages': ['a'], 'pip_check': False} file-free False True",
        "TypeError runtime_env['env_vars'] must be of type ", "TypeError `py_modules` must be a list of strings, ", "4 True S3 [[1, 2], [3]]", "3"]


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
