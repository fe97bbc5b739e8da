"""This process's part in the session, as Ray's libraries ask for it: what Ray calls the global worker."""

import os
from types import SimpleNamespace

from reactor import _core

from rayshim.errors.exceptions import RaySystemError
from rayshim.session import folder, session
from rayshim.session.ids import ActorID, actor_id

SCRIPT_MODE, WORKER_MODE, LOCAL_MODE = 0, 1, 2


class GlobalWorker:
    """Facts of this process.

    Attributes:
        mode: SCRIPT_MODE in a driver, WORKER_MODE in a worker, None without a session.
        connected: whether there is a session.
    """

    @property
    def mode(self):
        s = session.current
        if s is None:
            return None
        return SCRIPT_MODE if s.driver is not None else WORKER_MODE

    @property
    def connected(self):
        return session.current is not None

    @property
    def actor_id(self):
        """The ActorID of the actor that asks; nil outside of actors."""
        s = session.current
        number = s and (_core.running()[1] or (s.record["number"] if s.record else 0))
        return actor_id(number) if number else ActorID.nil()

    @property
    def core_worker(self):
        self.check_connected()
        return _core_worker

    @property
    def node(self):
        return node if self.connected else None

    def check_connected(self):
        if not self.connected:
            raise RaySystemError("Ray has not been started yet. You can start Ray with 'ray.init()'.")

    def get_serialization_context(self):
        return _serialization


class _CoreWorker:
    def add_object_out_of_scope_callback(self, ref, callback):
        """See rayshim.worker.out_of_scope.watch."""
        from rayshim.worker.out_of_scope import watch

        return watch(ref, callback)

    def get_disable_job_level_lineage_reconstruction(self):
        return False

    def get_local_memory_store_bytes_used(self):
        """Bytes of objects that lie in this process alone: none do, all are in the shared store."""
        return 0


class _Serialization:
    def _register_cloudpickle_reducer(self, cls, reducer):
        """Instances of `cls` are pickled by `reducer`, which gives what `__reduce__` gives."""
        import cloudpickle
        from reactor import codec

        cloudpickle.CloudPickler.dispatch_table[cls] = codec.reducers[cls] = reducer

    def _unregister_cloudpickle_reducer(self, cls):
        import cloudpickle
        from reactor import codec

        cloudpickle.CloudPickler.dispatch_table.pop(cls, None)
        codec.reducers.pop(cls, None)

    def serialize(self, value):
        """An object with `total_bytes`, what the value takes in the store."""
        return SimpleNamespace(total_bytes=_core.Ref.size.__get__(_core.put(value)))


class Node:
    """The folders that a Ray node keeps for a session; here they end with it. No log is rotated here: each process writes to the driver."""

    max_bytes, backup_count = 0, 0

    def get_session_dir_path(self):
        return folder.path()

    def get_logs_dir_path(self):
        return os.path.join(folder.path(), "logs")

    @property
    def session_name(self):
        return f"session_{session.current.settings['driver']}"

    @property
    def cluster_id(self):
        """A number of the session, 28 bytes in hex."""
        from hashlib import sha256

        return sha256(session.current.settings["node"].encode()).hexdigest()[:56]


global_worker, node = GlobalWorker(), Node()
_core_worker, _serialization = _CoreWorker(), _Serialization()
