"""The runtime context: who is asking."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from reactor import _core

from rayshim.calls.handle import _handle_from
from rayshim.calls.refs import _id_bytes
from rayshim.calls.runtime_env import RuntimeEnv
from rayshim.errors.sites import at, calling, module_of
from rayshim.placement import bundles
from rayshim.session import gpus, session
from rayshim.session.ids import PlacementGroupID, TaskID, actor_id, job_id

if TYPE_CHECKING:
    from rayshim.calls.handle import ActorHandle


class RuntimeContext:
    """Facts of the calling driver, task or actor; ids are hex strings."""

    def get_job_id(self) -> str:
        return job_id().hex()

    def get_node_id(self) -> str:
        return session.current.settings["node"]

    def get_worker_id(self) -> str:
        from hashlib import sha256

        return sha256(f"{session.current.settings['node']}/{_core.slot()}/{os.getpid()}".encode()).hexdigest()[:56]

    def get_task_id(self) -> str | None:
        """The running task's, None in the driver."""
        task = self._task_id()
        return task and task.hex()

    def _task_id(self) -> TaskID | None:
        call = _handed_on()
        uid = call.uid if call else _core.running()[0]
        if not uid:
            return None
        return TaskID(_id_bytes(uid)[:24])

    def get_task_name(self) -> str | None:
        """The running call's `options(name=)`; else the name of the function, or of class and method. None in the driver."""
        function = _running_function()
        if function is None:
            return None
        return getattr(function, "_named_", None) or self._in_class(_name(function))

    def get_task_function_name(self) -> str | None:
        """Module (of a script: its file's name), class and function of the running call. None in the driver."""
        function = _running_function()
        if function is None:
            return None
        function = getattr(function, "_unnamed_", function)
        facts = self._facts()
        module = _core.get_one(_core.ref_at(facts["info"]), None).file_module if facts else module_of(function)
        return f"{module}.{self._in_class(_name(function))}"

    def _in_class(self, name):
        facts = self._facts()
        return f"{facts['class_name']}.{name}" if facts else name

    def get_actor_id(self) -> str | None:
        """The actor's, None outside of actors."""
        number = self._number()
        if not number:
            return None
        return actor_id(number).hex()

    def get_actor_name(self) -> str | None:
        facts = self._facts()
        return facts["name"] if facts else None

    @property
    def namespace(self) -> str:
        return session.current.namespace

    def get_namespace(self) -> str:
        return self.namespace

    @property
    def current_actor(self) -> ActorHandle[Any]:
        """The handle of the actor that asks. RuntimeError outside of actors."""
        facts = self._facts()
        if not facts:
            raise RuntimeError(f"This method is only available in an actor. (at {calling()})")
        link = _core.link_at(facts["offset"], True, weak=True)  # an actor does not keep itself alive
        return _handle_from(link, _core.ref_at(facts["info"]))

    @property
    def was_current_actor_reconstructed(self) -> bool:
        if not self._facts():
            raise RuntimeError(f"This method is only available in an actor. (at {calling()})")
        return self._facts().get("restarts", 0) > 0

    def is_canceled(self) -> bool:
        """Whether somebody has cancelled the running call. RuntimeError in an async actor, whose calls get a CancelledError."""
        call = _handed_on()
        if call is not None and call.task is not None:
            raise RuntimeError(
                f"This method is not supported in an async actor. ({at('is_canceled')}: its calls get an asyncio.CancelledError)"
            )
        if call is not None and call.number is not None:
            return call.cancelled
        return bool(call.completion.unwanted if call else _core.unwanted() or _core.cancel_wanted())

    def get_assigned_resources(self) -> dict[str, float]:
        """{resource: amount} that the caller holds."""
        facts = self._facts()
        held = facts["demand"] if facts else _core.held_resources()
        return bundles.plain({k: v / _core.UNIT for k, v in held.items()})

    def get_accelerator_ids(self) -> dict[str, list[str]]:
        return {"GPU": [str(i) for i in gpu_ids()]}

    get_resource_ids = get_accelerator_ids

    def get_placement_group_id(self) -> str | None:
        """The hex id of the placement group that the caller is in, or None."""
        here = bundles.current()
        return here and here[0]

    @property
    def current_placement_group_id(self) -> PlacementGroupID:
        here = bundles.current()
        return PlacementGroupID.from_hex(here[0]) if here else PlacementGroupID.nil()

    @property
    def should_capture_child_tasks_in_placement_group(self) -> bool:
        return bundles.capturing() is not None

    def get_runtime_env_string(self) -> str:
        import json

        return json.dumps(
            {k: v for k, v in session.current.runtime_env.items() if not isinstance(v, bytes)}, sort_keys=True
        )

    @property
    def runtime_env(self) -> RuntimeEnv:
        """The RuntimeEnv of the process that asks."""
        return RuntimeEnv(_validate=False, **session.current.runtime_env)

    @property
    def gcs_address(self) -> str:
        return "local"

    def get_node_labels(self) -> dict[str, str]:
        return dict(session.current.settings["labels"])

    def get_session_name(self) -> str:
        return f"session_{session.current.settings['driver']}"

    @property
    def worker_id(self) -> str:
        return self.get_worker_id()

    @property
    def node_id(self) -> str:
        return self.get_node_id()

    @property
    def job_id(self) -> str:
        return self.get_job_id()

    @property
    def task_id(self) -> str | None:
        return self.get_task_id()

    @property
    def actor_id(self) -> str | None:
        return self.get_actor_id()

    def _number(self):
        s = session.current
        return _core.running()[1] or (s.record["number"] if s.record else 0)

    def _facts(self):
        s = session.current
        if s.inline:
            made = s.inline_actors.get(_core.running()[1])
            return made and made.facts
        return s.record

    def get(self) -> dict[str, Any]:
        """The basic ids as a dict."""
        return {"job_id": self.get_job_id(), "node_id": self.get_node_id(), "namespace": self.namespace}


def _running_function():
    """The function or method of the running call; object.__init__ while an actor is constructed; None where no call runs."""
    call = _handed_on()
    if call:
        return call.function
    if not _core.running()[0]:
        return None
    return _core.running_callable() or object.__init__


def _name(function):
    return getattr(function, "__name__", type(function).__name__)


def _handed_on():
    """The call that runs in this thread or coroutine of a threaded or async actor, else None."""
    from rayshim.worker.threads import running

    return running.get(None)


def gpu_ids() -> list[int] | list[str]:
    """See `rayshim.get_gpu_ids`."""
    s = session.current
    if s is None:
        return []
    actor = s.inline_actors.get(_core.running()[1])
    return gpus.names(actor.gpus if actor else s.gpus, s.gpus_told)
