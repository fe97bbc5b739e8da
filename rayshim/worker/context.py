"""The runtime context: facts about the calling driver, task or actor."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from reactor import _core

from rayshim.calls.handle import _handle_from, info_of
from rayshim.environments.runtime_env import RuntimeEnv
from rayshim.errors import deprecation
from rayshim.errors.address import get_node_ip_address
from rayshim.errors.user_code import at, calling, module_of
from rayshim.resources import accelerators, bundles, gpus
from rayshim.session import folder, session
from rayshim.session.ids import (
    ActorID,
    JobID,
    NodeID,
    PlacementGroupID,
    TaskID,
    WorkerID,
    actor_id,
    job_id,
    task_id,
    worker_id,
)
from rayshim.session.serializers import Context
from rayshim.worker import caller, running

#: The resources of the kinds of accelerators that Ray knows.
ACCELERATORS = ("GPU", "TPU", "neuron_cores", "HPU", "NPU", "RBLN", "FURIOSA", "MBLT", "TTNPU")

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

    from rayshim.calls.handle import ActorHandle
    from rayshim.calls.refs import ObjectRef
    from rayshim.session.ids import JobID
    from rayshim.session.settings import Settings


class RuntimeContext:
    """Facts of the calling driver, task or actor; ids are hex strings."""

    __module__ = "rayshim.runtime_context"

    def get_job_id(self) -> str:
        caller.available("Job ID")
        return job_id().hex()

    def get_node_id(self) -> str:
        return caller.available("Node ID").settings.node

    def get_worker_id(self) -> str:
        if caller.available("Worker ID").driver is not None and self._task_id() is None:
            return self.get_job_id().ljust(56, "f")
        return worker_id(self.get_node_id(), _core.slot(), os.getpid())

    def get_task_id(self) -> str | None:
        """The id of the running task; None, and a warning in the log, in the driver."""
        caller.warn_in_driver("get_task_id()")
        task = self._task_id()
        return task and task.hex()

    @property
    def job_id(self) -> JobID:
        """The JobID."""
        deprecation.warn("Use get_job_id() instead")
        caller.available("Job ID")
        return job_id()

    @property
    def node_id(self) -> NodeID:
        """The NodeID of this machine."""
        deprecation.warn("Use get_node_id() instead")
        return NodeID.from_hex(self.get_node_id())

    @property
    def task_id(self) -> TaskID | None:
        """The TaskID of the running task. AssertionError in the driver."""
        deprecation.warn("Use get_task_id() instead")
        caller.in_worker("task_id")
        return self._task_id()

    @property
    def actor_id(self) -> ActorID | None:
        """The ActorID of the actor that asks, None outside of actors. AssertionError in the driver."""
        deprecation.warn("Use get_actor_id() instead")
        caller.in_worker("actor_id")
        return self._actor_id()

    def _actor_id(self):
        s = session.current
        number = s.placement.actor_here() if s else 0
        facts = s.placement.facts(number) if s and number else None
        return actor_id(facts["tag_hash"]) if facts else None

    def _task_id(self) -> TaskID | None:
        tag_hash = running.tag_hash()
        if tag_hash:
            return task_id(tag_hash)
        return caller.id_of_thread() if session.in_worker() else None

    def get_task_name(self) -> str | None:
        """The name of the running call: `options(name=)` if given, else `function` or `Class.method`. None in the driver, empty in a thread that
        an actor has started."""
        caller.warn_in_driver("get_task_name()")
        function = running.running_function()
        if function is None:
            return "" if session.in_worker() else None
        facts = self._facts() if function is object.__init__ else None
        actor = (
            f"{facts['name']}:" if facts and facts.get("name") else ""
        )  # the constructor's call has the options of the actor
        return getattr(function, "_named_", None) or actor + self._in_class(running.name_of(function))

    def get_task_function_name(self) -> str | None:
        """Module (for the main script: name of its file), class and function of the running call. None in the driver, empty in a
        thread that an actor has started."""
        caller.warn_in_driver("get_task_function_name()")
        function = running.running_function()
        if function is None:
            return "" if session.in_worker() else None
        function = running.plain(function)
        facts = self._facts()
        module = info_of(facts).file_module if facts else module_of(function)
        return f"{module}.{self._in_class(running.name_of(function))}"

    def _in_class(self, name):
        facts = self._facts()
        return f"{facts['class_name']}.{name}" if facts else name

    def get_actor_id(self) -> str | None:
        """The id of the actor; None outside of actors."""
        found = self._actor_id()
        return found and found.hex()

    def get_actor_name(self) -> str | None:
        caller.warn_in_driver("get_actor_name()")
        facts = self._facts()
        return facts["name"] if facts else None

    @property
    def namespace(self) -> str:
        return caller.started().namespace

    def get_namespace(self) -> str:
        return self.namespace

    @property
    def current_actor(self) -> ActorHandle[Any]:
        """The handle of the calling actor. Raises RuntimeError outside of actors."""
        caller.started()
        facts = self._facts_of_actor()
        link = _core.link_at(
            facts["offset"], True, weak=True
        )  # weak: an actor's handle of itself does not keep it alive
        return _handle_from(link, _core.ref_at(facts["info"]))

    @property
    def was_current_actor_reconstructed(self) -> bool:
        """Whether this actor was restarted. AssertionError in the driver, RuntimeError in a task."""
        caller.in_worker("was_current_actor_reconstructed")
        return self._facts_of_actor().get("restarts", 0) > 0

    def is_canceled(self) -> bool:
        """Whether somebody has cancelled the running call. RuntimeError in the driver, and in an async actor, whose calls get a CancelledError."""
        if not caller.works():
            raise RuntimeError(
                f"This method is only available when the process is a worker. Current mode: 0 ({at('is_canceled')}: called in the driver)"
            )
        call = running.handed_on()
        in_loop = "asyncio" in sys.modules and sys.modules["asyncio"]._get_running_loop() is not None  # inline
        if call is not None and call.task is not None or in_loop and self._facts():
            raise RuntimeError(
                f"This method is not supported in an async actor. ({at('is_canceled')}: its calls get an asyncio.CancelledError)"
            )
        if call is not None and call.number is not None:
            return call.cancelled
        return bool(call.completion.cancelled if call else _core.is_cancelled() or _core.cancel_wanted())

    def get_assigned_resources(self) -> dict[str, float]:
        """{resource: amount} that the caller holds. AssertionError in the driver."""
        caller.in_worker("get_assigned_resources()")
        facts = self._facts()
        held = facts["demand"] if facts else _core.held_resources()
        return bundles.plain({k: v / _core.UNIT for k, v in held.items()})

    def get_accelerator_ids(self) -> dict[str, list[str]]:
        """{resource of an accelerator: list of ids (str) that the caller may use}."""
        facts = self._facts()
        others = accelerators.names(
            facts.get("taken") if facts else caller.started().shares, session.current.visible_accelerators
        )
        return {**{name: [] for name in ACCELERATORS}, **others, "GPU": [str(i) for i in gpu_ids()]}

    def get_resource_ids(self) -> dict[str, list[str]]:
        """The former name of `get_accelerator_ids`."""
        deprecation.warn("Use get_accelerator_ids() instead")
        return self.get_accelerator_ids()

    def get_placement_group_id(self) -> str | None:
        """The hex id of the caller's placement group, or None."""
        here = bundles.current()
        return here and here[0]

    @property
    def current_placement_group_id(self) -> PlacementGroupID:
        deprecation.warn("Use get_placement_group_id() instead")
        here = bundles.current()
        return PlacementGroupID.from_hex(here[0]) if here else PlacementGroupID.nil()

    @property
    def should_capture_child_tasks_in_placement_group(self) -> bool:
        return bundles.capturing() is not None

    def get_runtime_env_string(self) -> str:
        import json

        return json.dumps(
            {k: v for k, v in caller.started().runtime_env.items() if not isinstance(v, bytes)}, sort_keys=True
        )

    @property
    def runtime_env(self) -> RuntimeEnv:
        """The RuntimeEnv of this process."""
        return RuntimeEnv(_validate=False, **caller.started().runtime_env)

    @property
    def gcs_address(self) -> str:
        return caller.started().settings.address or "local"

    def get_node_labels(self) -> dict[str, str]:
        return dict(caller.started().settings.labels)

    def get_session_name(self) -> str:
        """The session's name, "session_<date>_<time>_<driver's pid>"."""
        return caller.available("Session name").settings.session_name

    @property
    def worker(self) -> Worker:
        """The Worker that this process is."""
        return global_worker

    def get_temp_dir(self) -> str:
        """The directory for files of sessions: `init(_temp_dir=)`, or RAY_TMPDIR, or "ray" in the system's temporary directory."""
        return caller.available("Temp directory", AssertionError).settings.temp_dir

    def _facts(self):
        return session.current and session.current.record

    def _facts_of_actor(self):
        facts = self._facts()
        if not facts:
            raise RuntimeError(f"This method is only available in an actor. (at {calling()})")
        return facts

    def get(self) -> dict[str, Any]:
        """The ids as a dict of JobID, NodeID and, in a task, TaskID and ActorID, and the namespace."""
        deprecation.warn("Use get_xxx_id() methods to get relevant ids instead")
        found: dict[str, Any] = {
            "job_id": job_id(),
            "node_id": NodeID.from_hex(self.get_node_id()),
            "namespace": self.namespace,
        }
        if caller.works():
            found["task_id"] = self._task_id()
            if (actor := self._actor_id()) is not None:
                found["actor_id"] = actor
        return found


runtime_context = RuntimeContext()  # the same for all callers: it holds nothing of its own


def gpu_ids() -> list[int] | list[str]:
    """See `rayshim.get_gpu_ids`."""
    s = session.current
    if s is None:
        return []
    return gpus.names(s.placement.gpus(), s.visible_gpus)


SCRIPT_MODE, WORKER_MODE, LOCAL_MODE, SPILL_WORKER_MODE, RESTORE_WORKER_MODE = range(5)


class _Client:
    """`global_worker.gcs_client`."""

    @property
    def address(self) -> str:
        return runtime_context.gcs_address


class _CoreWorker:
    """`global_worker.core_worker`."""

    def current_actor_is_asyncio(self) -> bool:
        """Whether the caller is an async actor."""
        concurrency = sys.modules.get("rayshim.worker.concurrency")
        return bool(concurrency and concurrency.has_loop())

    def get_actor_id(self) -> ActorID:
        """The ActorID, the nil one outside of actors."""
        return ActorID.from_hex(runtime_context.get_actor_id() or "")

    def get_worker_id(self) -> WorkerID:
        """The WorkerID."""
        return WorkerID.from_hex(runtime_context.get_worker_id())

    def get_current_job_id(self) -> JobID:
        return job_id()

    def get_current_node_id(self) -> NodeID:
        return NodeID.from_hex(runtime_context.get_node_id())

    def get_current_task_id(self) -> TaskID:
        """The running task's TaskID; in the driver the one that stands for its own code."""
        of_driver = runtime_context.get_job_id().rjust(48, "f") if session.current.driver is not None else ""
        return runtime_context._task_id() or TaskID.from_hex(of_driver)

    def add_object_out_of_scope_callback(self, ref: ObjectRef[Any], callback: Callable[[bytes], object]) -> bool:
        """See rayshim.worker.out_of_scope.watch."""
        from rayshim.worker.out_of_scope import watch

        return watch(ref, callback)

    def get_disable_job_level_lineage_reconstruction(self) -> bool:
        return False

    def get_local_memory_store_bytes_used(self) -> int:
        """Bytes of objects that lie in this process alone: none do, all are in the shared store."""
        return 0


class SerializationContext(Context):
    """`global_worker.get_serialization_context()`."""

    def __init__(self, worker: Worker | None = None) -> None:
        pass

    def serialize(self, value: Any) -> SimpleNamespace:
        """An object with `total_bytes`, the size of the value in the store. Starts a session if none runs."""
        from types import SimpleNamespace

        from reactor import _core

        session.ensure()
        return SimpleNamespace(total_bytes=_core.Ref.size.__get__(_core.put(value)))


def address_info(settings: Settings) -> dict[str, Any]:
    """The addresses of the node of a session with these settings, under Ray's names. What is not there is None, 0 or ""."""
    address = settings.address or "local"
    return {
        "node_ip_address": get_node_ip_address(),
        "redis_address": None,
        "object_store_address": "",
        "raylet_socket_name": "",
        "webui_url": "",
        "session_dir": "",
        "metrics_export_port": 0,
        "gcs_address": address,
        "address": address,
        "dashboard_agent_listen_port": 0,
    }


class _Node:
    """`global_worker.node`: the session as Ray's files would have it."""

    max_bytes: int = 0  # of log files: none is rotated
    backup_count: int = 0
    head: bool = True
    redis_address: str | None = None
    redis_password: str = ""
    webui_url: str = ""  # there is no dashboard

    def is_head(self) -> bool:
        return self.head

    @property
    def unique_id(self) -> str:
        return self.node_id

    @property
    def node_id(self) -> str:
        return runtime_context.get_node_id()

    @property
    def gcs_address(self) -> str:
        return runtime_context.gcs_address

    address = gcs_address

    @property
    def address_info(self) -> dict[str, Any]:
        return address_info(session.current.settings)

    @property
    def session_name(self) -> str:
        return runtime_context.get_session_name()

    @property
    def node_ip_address(self) -> str:
        return get_node_ip_address()

    @property
    def cluster_id(self) -> str:
        return session.current.settings.node

    def get_session_dir_path(self) -> str:
        """A folder for files of the session; it is made when first asked for, and removed at the end of the session."""
        return folder.path()

    def get_logs_dir_path(self) -> str:
        """The one for logs in it."""
        return os.path.join(folder.path(), "logs")


class Worker:
    """The role of this process in the session."""

    core_worker: _CoreWorker = _CoreWorker()
    gcs_client: _Client = _Client()
    node: _Node = _Node()

    @property
    def connected(self) -> bool:
        return session.current is not None

    def get_serialization_context(self) -> SerializationContext:
        return SerializationContext()

    def get_current_out_offset(self) -> int:
        """Where the next line goes in the file of this process's output. There is no file."""
        return 0

    get_current_err_offset = get_current_out_offset

    def check_connected(self) -> None:
        """RaySystemError without a session."""
        if session.current is None:
            from rayshim.errors.exceptions import RaySystemError

            raise RaySystemError("Ray has not been started yet. You can start Ray with 'ray.init()'.")

    @property
    def mode(self) -> int | None:
        """SCRIPT_MODE in the driver, WORKER_MODE in a worker, None without a session."""
        s = session.current
        return None if s is None else SCRIPT_MODE if s.driver is not None else WORKER_MODE

    @property
    def current_job_id(self) -> JobID:
        return job_id()

    @property
    def current_node_id(self) -> NodeID:
        return self.core_worker.get_current_node_id()

    @property
    def current_task_id(self) -> TaskID:
        return self.core_worker.get_current_task_id()

    @property
    def actor_id(self) -> ActorID:
        return self.core_worker.get_actor_id()

    @property
    def worker_id(self) -> bytes:
        return self.core_worker.get_worker_id().binary()

    @property
    def node_ip_address(self) -> str:
        return self.node.node_ip_address

    @property
    def namespace(self) -> str:
        return runtime_context.namespace

    @property
    def runtime_env(self) -> str:
        return runtime_context.get_runtime_env_string()


global_worker = Worker()
