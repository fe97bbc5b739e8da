"""ObjectRef, the reference to a value."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from reactor import _core
from reactor.codec import import_ref

from rayshim.calls.operators import Operators
from rayshim.errors import forked
from rayshim.errors.user_code import calling
from rayshim.session import out_of_band, session
from rayshim.session.ids import TaskID, object_bytes

if TYPE_CHECKING:
    import asyncio
    import concurrent.futures
    from collections.abc import Callable, Generator

    from rayshim.session.ids import JobID

T_co = TypeVar("T_co", covariant=True)


class ObjectRef(_core.Ref, Operators, Generic[T_co]):
    """A reference to a value: the result of a call, which may still be running, or a value stored with `put`.

    `get` returns the value. A ref can be passed to tasks and actors, stored and returned. The value is kept as long as a ref to it exists.
    """

    __module__ = "rayshim"
    __slots__ = ()

    def __new__(cls, id: bytes) -> ObjectRef[Any]:
        """A ref made from an id of 28 bytes. It can be compared and printed, but has no value."""
        if not isinstance(id, bytes):
            raise TypeError(
                f"Unsupported type: {type(id)}, expected bytes ({cls.__name__} at {calling()}: refs come from `.remote()` and `put`)"
            )
        if len(id) != cls.size():
            raise ValueError(
                f"ID string needs to have length {cls.size()}, got {len(id)} ({cls.__name__} at {calling()}: refs come from `.remote()` and `put`)"
            )
        from hashlib import blake2b

        ref: Any = _core.bare_ref(_BareRef, int.from_bytes(blake2b(id, digest_size=8).digest(), "little"))
        ref._id = id
        return ref

    def binary(self) -> bytes:
        """The id, 28 bytes."""
        return object_bytes(self.tag_hash)

    def hex(self) -> str:
        return self.binary().hex()

    def __bytes__(self) -> bytes:
        return self.binary()

    def is_nil(self) -> bool:
        return False

    @classmethod
    def size(cls) -> int:
        return 28

    @classmethod
    def nil(cls) -> ObjectRef[Any]:
        """The nil ref, which refers to no object."""
        return ObjectRef(b"\xff" * cls.size())

    @classmethod
    def from_random(cls) -> ObjectRef[Any]:
        import os

        return ObjectRef(os.urandom(cls.size() - 4) + b"\0" * 4)

    @classmethod
    def from_binary(cls, id_bytes: bytes) -> ObjectRef[Any]:
        return ObjectRef(id_bytes)

    @classmethod
    def from_hex(cls, hex_id: str) -> ObjectRef[Any]:
        return ObjectRef(bytes.fromhex(hex_id))

    def redis_shard_hash(self) -> int:
        """An int that depends only on the id."""
        return int.from_bytes(self.binary()[:8], "little")

    def owner_address(self) -> bytes:
        return b""

    def tensor_transport(self) -> str | None:
        """The transport of the tensors in the value; None: the object store."""
        direct = sys.modules.get("rayshim.calls.direct.methods")
        return direct and direct.transport_of(self)

    def task_id(self) -> TaskID:
        """The TaskID of the call whose result this is."""
        return TaskID(self.binary()[:24])

    def job_id(self) -> JobID:
        from rayshim.session.ids import job_id

        return job_id()

    def call_site(self) -> str:
        return ""

    def __repr__(self) -> str:
        return f"ObjectRef({self.hex()})"

    def __reduce__(self) -> tuple[Any, ...]:
        index = -1 if out_of_band.pickling_code else _core.export_ref(self)
        if index >= 0:
            return import_ref, (index,)
        if out_of_band.is_refused():
            from rayshim.errors.exceptions import OufOfBandObjectRefSerializationException

            raise OufOfBandObjectRefSerializationException(out_of_band.refusal(self.hex(), calling()))
        # Pickled by the user, outside any call: it is unknown when the last copy is gone, so the object stays until the session ends.
        _core.hold(self.offset)
        return _restore, (self.offset, self.uid, _run())

    def future(self) -> concurrent.futures.Future[T_co]:
        """A concurrent.futures.Future of the value."""
        from rayshim.session.futures import future

        return future(self)

    def _on_completed(self, callback: Callable[[Any], object]) -> None:
        """Calls `callback` with the value or the error when the call is done, in a thread of rayshim."""
        self.future().add_done_callback(lambda done: callback(done.exception() or done.result()))

    def _on_ready(self, callback: Callable[[BaseException | None], object]) -> Callable[[], None]:
        """Calls `callback(None)` when the call is done, without fetching its value, in a thread of rayshim.

        Returns a function that calls it off: `callback` then gets a RaySystemError at once."""
        from rayshim.errors.exceptions import RaySystemError
        from rayshim.session.futures import any_done

        ready = any_done((self,))
        ready.add_done_callback(
            lambda done: callback(RaySystemError("WaitAsync cancelled") if done.cancelled() else None)
        )

        def cancel() -> None:
            ready.cancel()

        return cancel

    async def _ready(self) -> ObjectRef[T_co]:
        """This ref, when the call is done."""
        import asyncio

        from rayshim.session.futures import any_done

        await asyncio.wrap_future(any_done((self,)))
        return self

    def as_future(self) -> asyncio.Future[T_co]:
        """An asyncio.Future of the value, for the running loop."""
        import asyncio

        return asyncio.wrap_future(self.future())

    def __await__(self) -> Generator[Any, None, T_co]:
        return self.as_future().__await__()


class _BareRef(ObjectRef):
    """A ref made from an id."""

    __slots__ = ("_id",)

    def binary(self) -> bytes:
        return self._id

    def is_nil(self) -> bool:
        return self._id == b"\xff" * len(self._id)

    def __reduce__(self):
        if session.current is not None:
            _core.export_ref(self)  # inside a call: an error that says why
        return ObjectRef, (self._id,)


def _restore(offset, uid, run):
    if run != _run():
        raise ValueError(_unrestorable("ref or handle"))
    return _core.ref_at(offset)


def _unrestorable(what):
    """Why a pickled ref or handle of another session cannot be read here, and what to do."""
    if session.current is None:
        origin = "this process was forked after init() and" if forked.happened else "this process"
        return (
            f"this pickled {what} cannot be read, because {origin} has no session (unpickled at {calling()}). Before, join the session in this process by "
            f"init(address=...), with the address that ray.get_runtime_context().gcs_address has in the process that pickled the {what}; or make the calls there and pass values"
        )
    return (
        f"this pickled {what} belongs to another session than that of this process, or to one that has ended (unpickled at {calling()}). If that session "
        "runs, shutdown() and then init(address=...) with its address join it; else create it again after the new init()"
    )


def _run():
    """An identifier of the running session; None without one."""
    return session.current and session.current.settings.node


_core.set_ref_class(ObjectRef)
