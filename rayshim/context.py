"""The runtime context: who is asking."""

import os

from reactor import _core

from rayshim import session


def job_id():
    from rayshim.ids import JobID

    return JobID.from_int(1)


class RuntimeContext:
    """Facts of the calling driver, task or actor; ids are hex strings."""

    def get_job_id(self):
        return job_id().hex()

    def get_node_id(self):
        return session.current.settings["node"]

    def get_worker_id(self):
        from hashlib import sha256

        return sha256(f"{session.current.settings['node']}/{_core.slot()}/{os.getpid()}".encode()).hexdigest()[:56]

    def get_task_id(self):
        """The running task's, None in the driver."""
        task = self._task_id()
        return task and task.hex()

    def _task_id(self):
        uid, _ = _core.running()
        if not uid:
            return None
        from rayshim.ids import TaskID
        from rayshim.refs import _id_bytes

        return TaskID(_id_bytes(uid)[:24])

    def get_task_name(self):
        name = _core.running_name()
        if name is None:
            return None
        facts = self._facts()
        return f"{facts['class_name']}.{name}" if facts else name

    get_task_function_name = get_task_name

    def get_actor_id(self):
        """The actor's, None outside of actors."""
        number = self._number()
        if not number:
            return None
        from rayshim.actor import actor_id

        return actor_id(number).hex()

    def get_actor_name(self):
        facts = self._facts()
        return facts["name"] if facts else None

    @property
    def namespace(self):
        return session.current.namespace

    def get_namespace(self):
        return self.namespace

    @property
    def current_actor(self):
        """The handle of the actor that asks. RuntimeError outside of actors."""
        facts = self._facts()
        if not facts:
            raise RuntimeError("This method is only available in an actor.")
        from rayshim.actor import _handle_from

        link = _core.link_at(facts["offset"], True)
        if link is None:
            raise RuntimeError("the actor's last handle is gone; it cannot have a new one")
        return _handle_from(link, _core.ref_at(facts["info"]))

    @property
    def was_current_actor_reconstructed(self):
        if not self._facts():
            raise RuntimeError("This method is only available in an actor.")
        return False

    def get_assigned_resources(self):
        """{resource: amount} that the caller holds."""
        facts = self._facts()
        if facts:
            return {k: v / 10000 for k, v in facts["demand"].items()}
        return {k: v / 10000 for k, v in _core.held_resources().items()}

    def get_accelerator_ids(self):
        return {"GPU": [str(i) for i in gpu_ids()]}

    get_resource_ids = get_accelerator_ids

    def get_placement_group_id(self):
        return None

    def get_runtime_env_string(self):
        import json

        return json.dumps(session.current.settings["runtime_env"])

    @property
    def runtime_env(self):
        return session.current.settings["runtime_env"]

    @property
    def gcs_address(self):
        return "local"

    def get_node_labels(self):
        return {"ray.io/node-id": self.get_node_id()}

    def get_session_name(self):
        return f"session_{session.current.settings['driver']}"

    @property
    def worker_id(self):
        return self.get_worker_id()

    @property
    def node_id(self):
        return self.get_node_id()

    @property
    def job_id(self):
        return self.get_job_id()

    @property
    def task_id(self):
        return self.get_task_id()

    @property
    def actor_id(self):
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

    def get(self):
        """The basic ids as a dict."""
        return {"job_id": self.get_job_id(), "node_id": self.get_node_id(), "namespace": self.namespace}


def gpu_ids():
    """See `rayshim.get_gpu_ids`."""
    s = session.current
    if s is None:
        return []
    actor = s.inline_actors.get(_core.running()[1])
    return [gpu for gpu, _ in (actor.gpus if actor else s.gpus)]
