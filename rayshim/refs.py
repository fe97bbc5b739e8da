"""ObjectRef."""

from reactor import _core
from reactor.codec import import_ref


class ObjectRef(_core.Ref):
    """The future of a value: a call's result or what was `put`. `get` gives the value; any process may hold the ref."""

    __slots__ = ()

    def __class_getitem__(cls, item):
        import types

        return types.GenericAlias(cls, item)

    def binary(self):
        """The id, 28 bytes."""
        return _id_bytes(self.uid)

    def hex(self):
        return self.binary().hex()

    def is_nil(self):
        return False

    @classmethod
    def size(cls):
        return 28

    @classmethod
    def nil(cls):
        raise ValueError("rayshim has no nil ObjectRef: every ref refers to an object")

    def task_id(self):
        """The TaskID of the call whose result this is."""
        from rayshim.ids import TaskID

        return TaskID(self.binary()[:24])

    def job_id(self):
        from rayshim.context import job_id

        return job_id()

    def call_site(self):
        return ""

    def __repr__(self):
        return f"ObjectRef({self.hex()})"

    def __reduce__(self):
        index = _core.export_ref(self)
        if index >= 0:
            return import_ref, (index,)
        # Pickled by the user, outside any call: nobody can tell when the last copy is gone, so the object stays.
        _core.hold(self.offset)
        return _restore, (self.offset, self.uid, _run())

    def future(self):
        """A concurrent.futures.Future of the value."""
        from rayshim.awaiting import future

        return future(self)

    def as_future(self):
        """An asyncio.Future of the value, for the running loop."""
        import asyncio

        return asyncio.wrap_future(self.future())

    def __await__(self):
        return self.as_future().__await__()


def _restore(offset, uid, run):
    if run != _run():
        raise ValueError("this pickled ObjectRef is of a session that has ended: its value is gone")
    return _core.ref_at(offset)


def _run():
    """What tells the running session from all others; None without one."""
    from rayshim import session

    return session.current and session.current.settings["node"]


def _id_bytes(uid):
    return uid.to_bytes(16, "little") + b"\xff" * 4 + b"\x01\x00\x00\x00" + b"\x01\x00\x00\x00"


_core.set_ref_class(ObjectRef)
