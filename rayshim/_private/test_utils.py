"""`ray._private.test_utils`: those of Ray's helpers for tests that other projects import. Names that are missing here, as SignalActor, are taken from
`ray._common.test_utils` of the installed Ray package, to which Ray has moved them. The module is part of the package because tests of other projects
import it when they run under `python -m rayshim`. Rayshim's own unit tests do not use it."""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import socket
import subprocess
import sys
import time
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from reactor.runtime.processes import descendants

from rayshim import api
from rayshim.as_ray import alias
from rayshim.errors.user_code import at
from rayshim.session import session
from rayshim.util.placement_group import placement_group_table, remove_placement_group
from rayshim.util.state import get_actor, list_actors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_DRIVER_SECONDS = 300
_STATES = ("DEPENDENCIES_UNREADY", "PENDING_CREATION", "ALIVE", "RESTARTING", "DEAD")


def _within(condition, seconds, pause=0.1):
    """Whether `condition()` becomes true within the time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(pause)
    return True


def wait_for_condition(
    condition_predictor: Callable[..., Any],
    timeout: float = 10,
    retry_interval_ms: float = 100,
    raise_exceptions: bool = False,
    **kwargs: Any,
) -> None:
    """Returns when `condition_predictor(**kwargs)` is true. An exception of it counts as false, unless `raise_exceptions`. Raises RuntimeError after
    `timeout` seconds."""
    until, last = time.monotonic() + timeout, ""
    while time.monotonic() <= until:
        try:
            if condition_predictor(**kwargs):
                return
        except Exception:
            if raise_exceptions:
                raise
            last = f" Last exception: {traceback.format_exc()}"
        time.sleep(retry_interval_ms / 1000)
    raise RuntimeError(f"The condition wasn't met before the timeout expired.{last}")


def wait_for_assertion(
    assertion_predictor: Callable[..., Any],
    timeout: float = 10,
    retry_interval_ms: float = 100,
    raise_exceptions: bool = False,
    **kwargs: Any,
) -> None:
    """Returns when `assertion_predictor(**kwargs)` raises no AssertionError; after `timeout` seconds the error is raised."""

    def holds():
        try:
            assertion_predictor(**kwargs)
        except AssertionError:
            return False
        return True

    try:
        wait_for_condition(holds, timeout, retry_interval_ms, raise_exceptions)
    except RuntimeError:
        assertion_predictor(**kwargs)


def wait_until_succeeded_without_exception(
    func: Callable[..., Any],
    exceptions: tuple[type[BaseException], ...],
    *args: Any,
    timeout_ms: float = 1000,
    retry_interval_ms: float = 100,
    raise_last_ex: bool = False,
) -> bool:
    """Whether `func(*args)` returns within the time; calls of it that raise one of `exceptions` are repeated."""
    until = time.monotonic() + timeout_ms / 1000
    last = None
    while time.monotonic() <= until:
        try:
            func(*args)
            return True
        except exceptions as error:
            last = error
            time.sleep(retry_interval_ms / 1000)
    if raise_last_ex:
        text = "".join(traceback.format_exception(last)) if last else ""
        raise Exception(f"Timed out while testing, {text}")  # noqa: TRY002  Ray raises this class
    return False


def run_string_as_driver_stdout_stderr(
    driver_script: str,
    env: dict[str, str] | None = None,
    encode: str = "utf-8",
    timeout: float | None = _DRIVER_SECONDS,
) -> tuple[str, str]:
    """Runs the text of a script in an interpreter of its own; returns (stdout, stderr). Raises CalledProcessError if its exit status is not 0."""
    done = subprocess.run(
        [sys.executable, "-"], input=driver_script.encode(encode), capture_output=True, env=env, timeout=timeout
    )
    printed = done.stdout.decode(encode), done.stderr.decode(encode)
    if done.returncode:
        print(*printed, sep="\n")
        raise subprocess.CalledProcessError(done.returncode, done.args, *printed)
    return printed


def run_string_as_driver_nonblocking(driver_script: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Starts the text of a script in an interpreter of its own; its stdout and stderr are pipes."""
    program = "import sys; script = sys.stdin.read(); sys.stdin.close(); del sys; exec('del script\\n' + script)"
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe, stderr=pipe, env=env)
    assert process.stdin is not None
    process.stdin.write(driver_script.encode())
    process.stdin.close()
    return process


def check_call_subprocess(argv: list[str], capture_stdout: bool = False, capture_stderr: bool = False) -> Any:
    """Runs a command; returns what it prints (str): that of stdout, that of stderr, both as a pair, or None. Raises CalledProcessError."""
    pipe = subprocess.PIPE
    done = subprocess.run(
        argv, check=True, text=True, stdout=pipe if capture_stdout else None, stderr=pipe if capture_stderr else None
    )
    if capture_stdout and capture_stderr:
        return done.stdout, done.stderr
    return done.stdout if capture_stdout else done.stderr


def check_call_ray(args: list[str], capture_stdout: bool = False, capture_stderr: bool = False) -> Any:
    """`check_call_subprocess` of the command `ray`."""
    return check_call_subprocess(["ray", *args], capture_stdout, capture_stderr)


def wait_for_pid_to_exit(pid: int, timeout: float = 20) -> None:
    """Returns when the process has ended. Raises TimeoutError after `timeout` seconds."""
    if not _within(lambda: not descendants.lives(pid), timeout):
        raise TimeoutError(f"Timed out while waiting for process {pid} to exit.")


def convert_actor_state(state: int | None) -> str | None:
    """The name of an actor's state, which Ray's messages give as a number; None: no state is given."""
    return _STATES[state] if state else None


def wait_for_num_actors(num_actors: int, state: int | None = None, timeout: float = 10) -> None:
    """Returns when there are so many actors, of this state if one is given, a number as `convert_actor_state` takes it. Raises TimeoutError after `timeout`
    seconds."""
    name = convert_actor_state(state)
    filters, limit = [("state", "=", name)] if name else None, max(num_actors, 1)
    if not _within(lambda: len(list_actors(filters=filters, limit=limit)) >= num_actors, timeout):
        raise TimeoutError("Timed out while waiting for global state.")


def kill_actor_and_wait_for_failure(actor: Any, timeout: float = 10, retry_interval_ms: float = 100) -> None:
    """Kills an actor, and returns when it is dead or restarted. Raises RuntimeError after `timeout` seconds."""
    actor_id = actor._actor_id.hex()

    def facts():
        record = get_actor(id=actor_id)
        assert record is not None
        return record.state, record.num_restarts or 0

    def failed():
        state, restarts = facts()
        return state == "DEAD" or restarts > before

    before = facts()[1]
    api.kill(actor)
    if not _within(failed, timeout, retry_interval_ms / 1000):
        raise RuntimeError(f"It took too much time to kill an actor: {actor_id}")


def get_actor_node_id(actor_handle: Any) -> str:
    """The hex id of the node on which an actor runs."""
    return api.get(actor_handle.__ray_call__.remote(lambda self: api.get_runtime_context().get_node_id()))


def is_placement_group_removed(pg: Any) -> bool:
    """Whether the group has been removed."""
    table = placement_group_table(pg)
    return table.get("state") == "REMOVED"


@api.remote
def _put(obj):
    return obj


def put_object(obj: Any, use_ray_put: bool) -> Any:
    """A ref of `obj`: by `put`, or as the result of a task."""
    return api.put(obj) if use_ray_put else _put.remote(obj)


def same_elements(elems_a: Iterable[Any], elems_b: Iterable[Any]) -> bool:
    """Whether each element of one is in the other, too."""
    one, other = list(elems_a), list(elems_b)
    return all(x in other for x in one) and all(x in one for x in other)


def recursive_fnmatch(dirpath: str | os.PathLike[str], pattern: str) -> list[str]:
    """Paths of the files in a directory and below it whose names match the pattern."""
    return [os.path.join(root, name) for root, _, names in os.walk(dirpath) for name in fnmatch.filter(names, pattern)]


@contextlib.contextmanager
def chdir(d: str | os.PathLike[str]) -> Iterator[None]:
    """Has `d` as the working directory in the block."""
    before = os.getcwd()
    os.chdir(d)
    try:
        yield
    finally:
        os.chdir(before)


def generate_system_config_map(**kwargs: Any) -> dict[str, Any]:
    """{"_system_config": kwargs}, for `init`."""
    return {"_system_config": kwargs}


def get_current_unused_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("", 0))
        return found.getsockname()[1]


def wait_until_server_available(address: str, timeout_ms: float = 5000, retry_interval_ms: float = 100) -> bool:
    """Whether a server listens at HOST:PORT within the time."""
    host, _, port = address.rpartition(":")
    until = time.monotonic() + timeout_ms / 1000
    while time.monotonic() <= until:
        try:
            with socket.create_connection((host, int(port)), 1):
                return True
        except OSError:
            time.sleep(retry_interval_ms / 1000)
    return False


def format_web_url(url: str) -> str:
    """`url` with the protocol http, if it has none."""
    return url if url.startswith(("http://", "https://")) else f"http://{url}"


def get_other_nodes(cluster: Any, exclude_head: bool = False) -> list[Any]:
    """The nodes of a Cluster that this program is not attached to."""
    own = session.ensure().settings.address
    return [
        node
        for node in cluster.list_all_nodes()
        if node.gcs_address != own and not (exclude_head and node is cluster.head_node)
    ]


def get_non_head_nodes(cluster: Any) -> list[Any]:
    """The nodes of a Cluster but its head."""
    return [node for node in cluster.list_all_nodes() if node is not cluster.head_node]


def safe_write_to_results_json(
    result: dict[str, Any], default_file_name: str = "/tmp/release_test_output.json", env_var: str = "TEST_OUTPUT_JSON"
) -> None:
    """Writes `result` as JSON to the file that the environment variable names; the file is whole at any time."""
    path = os.environ.get(env_var, default_file_name)
    with open(f"{path}.tmp", "w") as file:
        json.dump(result, file)
    os.replace(f"{path}.tmp", path)


def external_redis_test_enabled() -> bool:
    """False: there is no Redis."""
    return False


def client_test_enabled() -> bool:
    """False: Ray Client is not tried."""
    return False


def sandbox_test_enabled() -> bool:
    """Whether the environment variable TEST_SANDBOX is "1"."""
    return os.environ.get("TEST_SANDBOX") == "1"


def placement_group_assert_no_leak(pgs_created: Iterable[Any]) -> None:
    """Removes the groups, and returns when no group is left and all that they had reserved is available. Raises RuntimeError if that takes too long."""
    for group in pgs_created:
        remove_placement_group(group)
    wait_for_condition(lambda: all(entry["state"] == "REMOVED" for entry in placement_group_table().values()))
    whole = {
        name: amount
        for name, amount in api.cluster_resources().items()
        if name not in ("memory", "object_store_memory")
    }

    def recovered():
        available = api.available_resources()
        return not any("_group_" in name or whole.get(name, amount) != amount for name, amount in available.items())

    wait_for_condition(recovered)


def no_resource_leaks_excluding_node_resources() -> bool:
    """Whether all resources are available; those of a node's name do not count."""
    whole, available = (
        {name: amount for name, amount in found.items() if "node" not in name}
        for found in (api.cluster_resources(), api.available_resources())
    )
    return whole == available


def object_memory_usage() -> float:
    """How many bytes of the object store are used."""
    name = "object_store_memory"
    return api.cluster_resources().get(name, 0) - api.available_resources().get(name, 0)


def wait_for_children_of_pid(pid: int, num_children: int = 1, timeout: float = 20) -> None:
    """Returns when the process has so many children. Raises TimeoutError after `timeout` seconds."""
    if not _within(lambda: len(_children(pid)) >= num_children, timeout):
        found = _children(pid)
        raise TimeoutError(
            f"Timed out while waiting for process {pid} children to start ({len(found)}/{num_children} started: {found})."
        )


def wait_for_children_of_pid_to_exit(pid: int, timeout: float = 20) -> None:
    """Returns when the children that the process has now have ended. Raises TimeoutError after `timeout` seconds."""
    children = _children(pid)
    if not _within(lambda: not any(descendants.lives(child) for child in children), timeout):
        alive = [child for child in children if descendants.lives(child)]
        raise TimeoutError(f"Timed out while waiting for process children to exit. Children still alive: {alive}.")


def _children(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]
    return []


def _pid_alive(pid: int) -> bool:
    return descendants.lives(pid)


def kill_processes(process_infos: Iterable[Any]) -> None:
    """Kills processes, and returns when they have ended. Raises TimeoutError if one has not within 5 seconds."""
    for info in process_infos:
        with contextlib.suppress(ProcessLookupError):
            info.process.kill()
            try:
                info.process.wait(timeout=5)
            except subprocess.TimeoutExpired as error:
                raise TimeoutError(f"Process {info.process.pid} did not exit within 5 seconds after SIGKILL") from error


def generate_runtime_env_dict(
    field: str, spec_format: str, tmp_path: Path, pip_list: list[str] | None = None
) -> dict[str, Any]:
    """A runtime environment with the field "pip" or "conda": packages in a file ("file") or in the environment itself ("python_object")."""
    packages = ["pip-install-test==0.5"] if pip_list is None else pip_list
    given: Any = packages if field == "pip" else {"dependencies": ["pip", {"pip": packages}]}
    if spec_format == "file":
        end = "txt" if field == "pip" else "yml"
        path = tmp_path / f"{field}-{hash(str(packages))}.{end}"
        # JSON is YAML, too
        path.write_text("\n".join(packages) if field == "pip" else json.dumps(given))
        given = str(path)
    return {field: given}


def get_gpu_visible_devices_env_var() -> str | None:
    """The name of the environment variable that says which GPUs a process may use, such as CUDA_VISIBLE_DEVICES."""
    found = import_module("ray._private.accelerators" if alias.is_installed() else "rayshim._private.accelerators")
    return found.get_accelerator_manager_for_resource("GPU").get_visible_accelerator_ids_env_var()


def rocksdb_gcs_test_enabled() -> bool:
    """False: there is no GCS."""
    return False


def persistent_gcs_test_enabled() -> bool:
    """False: no session outlives its processes."""
    return False


def redis_replicas() -> int:
    """The environment variable TEST_EXTERNAL_REDIS_REPLICAS, 1 by default."""
    return int(os.environ.get("TEST_EXTERNAL_REDIS_REPLICAS", "1"))


# Ray's helpers that look into Ray's own processes and files, or that need its dashboard, its autoscaler or Redis
_INSIDE = (
    "check_local_files_gced check_spilled_mb get_dashboard_agent_address get_error_message get_gcs_memory_used get_load_metrics_report "
    "get_log_batch get_log_data get_log_message get_log_sources get_metric_check_condition get_node_stats get_redis_cli "
    "get_resource_usage get_system_metric_for_component init_error_pubsub init_log_pubsub kill_process_by_name kill_raylet "
    "make_global_state_accessor raw_metric_timeseries redis_sentinel_replicas request_with_auth_token reset_autoscaler_v2_enabled_cache "
    "setup_tls start_redis_instance start_redis_sentinel_instance teardown_tls wait_for_aggregator_agent "
    "wait_for_aggregator_agent_if_enabled wait_for_dashboard_agent_available"
)


def _looks_inside(name):
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"ray._private.test_utils.{name}() looks into Ray's own processes, files or services, which rayshim does not have ({at(name)}). Test what "
            "programs see instead, or run this test on real Ray"
        )

    refused.__name__ = refused.__qualname__ = name
    return refused


def __getattr__(name: str) -> Any:
    if name in _INSIDE.split():  # a test file can be imported, and its other tests run
        return _looks_inside(name)
    if not name.startswith("__") and alias.is_installed():
        try:
            return getattr(import_module("ray._common.test_utils"), name)
        except (ImportError, AttributeError):
            pass
    raise AttributeError(
        f"module 'ray._private.test_utils' has no attribute {name!r}: rayshim provides those of Ray's helpers for tests that work on one machine and "
        "do not look into Ray's own processes"
    )
