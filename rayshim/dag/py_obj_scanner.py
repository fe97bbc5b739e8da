"""Finds the nodes of a graph in any picklable object, and replaces them."""

import io
import pickle
import sys

import cloudpickle

from rayshim.calls.actor_class import ActorClass
from rayshim.calls.function import RemoteFunction
from rayshim.calls.handle import ActorHandle
from rayshim.calls.refs import ObjectRef
from rayshim.dag.base import DAGNodeBase

_PLAIN = (int, float, complex, bool, str, bytes, type(None))


class _PyObjScanner(cloudpickle.CloudPickler):
    """One scan for objects of `source_type`: first `find_nodes(obj)`, then, if needed, `replace_nodes(table)`.

    It visits an object by pickling it, so an object that cannot be pickled raises its error here.
    """

    def __init__(self, source_type=DAGNodeBase):
        self._buffer = io.BytesIO()
        super().__init__(self._buffer)
        self._source_type = source_type
        self._objects = []  # what the pickle refers to by number
        self._found = None
        self._obj = None

    def find_nodes(self, obj):
        """All nodes in `obj`, in the order in which they occur, once for each occurrence."""
        if self._found is not None:
            raise RuntimeError("find_nodes was called twice on one scanner")
        self._found, self._obj = [], obj
        if not isinstance(obj, _PLAIN):
            self.dump(obj)
        return self._found

    def replace_nodes(self, table):
        """A copy of `obj` with `table[node]` in place of each node."""
        if isinstance(self._obj, _PLAIN):
            return self._obj
        self._buffer.seek(0)
        return _Replacer(self._buffer, self._objects, self._source_type, table).load()

    def persistent_id(self, obj):
        if isinstance(obj, self._source_type):
            self._found.append(obj)
        elif not _is_opaque(obj):
            return None
        self._objects.append(obj)
        return len(self._objects) - 1

    def clear(self):
        """Drops the references to the scanned object."""
        self._objects, self._found, self._obj = [], [], None


class _Replacer(pickle.Unpickler):
    def __init__(self, file, objects, source_type, table):
        super().__init__(file)
        self._objects, self._source_type, self._table = objects, source_type, table

    def persistent_load(self, number):
        obj = self._objects[number]
        return self._table[obj] if isinstance(obj, self._source_type) else obj


def _is_opaque(obj):
    """Whether an object contains no nodes and is passed unchanged: arrays, and refs and handles, which must not be counted twice."""
    if isinstance(obj, (ObjectRef, ActorHandle, ActorClass, RemoteFunction)):
        return True
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and isinstance(obj, numpy.ndarray):
        return obj.dtype != object
    return hasattr(torch, "Tensor") and isinstance(obj, torch.Tensor)
