"""Identifiers with the sizes, text and constructors of Ray's.

An id is an immutable byte string of a fixed length. As in Ray, an actor's id ends with its job's id, and a
task's id ends with the id of the actor that runs it (the nil actor for a plain task).
"""

from __future__ import annotations

from os import urandom
from typing import TYPE_CHECKING, Any

from rayshim.errors.user_code import calling

if TYPE_CHECKING:
    from typing_extensions import Self


_int = int  # JobID has a method of that name


class BaseID:
    """An id of `SIZE` bytes; the base of all ids.

    `BaseID(data)` takes exactly `SIZE` bytes. Raises TypeError for anything but bytes and ValueError for another
    length.
    """

    __slots__ = ("_data",)
    SIZE = 0

    def __init__(self, data: bytes) -> None:
        if not isinstance(data, bytes):
            raise TypeError(f"Unsupported type: {type(data)}, expected bytes ({type(self).__name__} at {calling()})")
        if len(data) != self.SIZE:
            raise ValueError(
                f"ID string needs to have length {self.SIZE}, got {len(data)} ({type(self).__name__} at {calling()})"
            )
        self._data = data

    @classmethod
    def from_binary(cls, id_bytes: bytes) -> Self:
        """The id made of these bytes; errors as the constructor's."""
        return cls(id_bytes)

    @classmethod
    def from_hex(cls, hex_id: str | bytes) -> Self:
        """The id written as `hex_id` (str or ASCII bytes); as in Ray, the nil id if that is not hex of the right length."""
        if isinstance(hex_id, bytes):
            hex_id = hex_id.decode("ascii", "replace")
        if not isinstance(hex_id, str):
            raise TypeError(
                f"Unsupported type: {type(hex_id)}, expected str or bytes ({cls.__name__}.from_hex() at {calling()})"
            )
        if len(hex_id) != 2 * cls.SIZE:
            return cls.nil()
        try:
            return cls(bytes.fromhex(hex_id))
        except ValueError:
            return cls.nil()

    @classmethod
    def from_random(cls) -> Self:
        """A fresh id of random bytes from the operating system (so that forked processes never share one)."""
        return cls(urandom(cls.SIZE))

    @classmethod
    def nil(cls) -> Self:
        """The id that stands for none: all bytes 255."""
        return cls(b"\xff" * cls.SIZE)

    @classmethod
    def size(cls) -> int:
        """The length in bytes."""
        return cls.SIZE

    def binary(self) -> bytes:
        """The bytes."""
        return self._data

    def hex(self) -> str:
        """The bytes in lower-case hex."""
        return self._data.hex()

    def is_nil(self) -> bool:
        """Whether this is the nil id."""
        return self._data == b"\xff" * self.SIZE

    def redis_shard_hash(self) -> int:
        """An int that depends on the bytes alone, the same in every process."""
        return int.from_bytes(self._data[:8], "little")

    def __bytes__(self) -> bytes:
        return self._data

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._data == other._data  # pyright: ignore[reportAttributeAccessIssue]

    def __hash__(self) -> int:
        return self.redis_shard_hash()  # the same in each run, as on Ray: hashes of bytes are not

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._data.hex()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._data,)


class UniqueID(BaseID):
    """28 bytes without structure."""

    __slots__ = ()
    SIZE = 28


class NodeID(UniqueID):
    """A machine of the cluster."""

    __slots__ = ()


class WorkerID(UniqueID):
    """A process that runs tasks or an actor; the driver has one too."""

    __slots__ = ()


class ClusterID(UniqueID):
    """A cluster, here one session."""

    __slots__ = ()


class FunctionID(UniqueID):
    """A remote function."""

    __slots__ = ()


class ActorClassID(UniqueID):
    """A remote class."""

    __slots__ = ()


class JobID(BaseID):
    """One driver's session: 4 bytes, a little-endian number."""

    __slots__ = ()
    SIZE = 4

    @classmethod
    def from_int(cls, value: int) -> JobID:
        """The job of that number. AssertionError (Ray's choice) above 2**32 - 1, OverflowError below 0."""
        if value < 0:
            raise OverflowError(f"can't convert negative value to uint32_t (JobID.from_int({value}) at {calling()})")
        if value > 0xFFFFFFFF:
            raise AssertionError(f"Maximum JobID integer is 2**32 - 1. (JobID.from_int({value}) at {calling()})")
        return cls(value.to_bytes(4, "little"))

    def int(self) -> _int:
        """The number."""
        return int.from_bytes(self._data, "little")


class ActorID(BaseID):
    """16 bytes: 12 of its own, then its job's id."""

    __slots__ = ()
    SIZE = 16

    @classmethod
    def of(cls, job_id: JobID, parent_task_id: TaskID, parent_task_counter: int) -> ActorID:
        """The actor that task `parent_task_id` of `job_id` created as its operation number `parent_task_counter`."""
        _of_types((job_id, JobID), (parent_task_id, TaskID))
        return cls(_digest(parent_task_id, parent_task_counter, 12) + job_id.binary())

    @property
    def job_id(self) -> JobID:
        """The JobID this actor belongs to."""
        return JobID(self._data[12:])


class TaskID(BaseID):
    """24 bytes: 8 of its own, then the id of the actor that runs it (for a plain task the nil actor of its job)."""

    __slots__ = ()
    SIZE = 24

    @classmethod
    def for_driver_task(cls, job_id: JobID) -> TaskID:
        """The driver's own 'task'."""
        _of_types((job_id, JobID))
        return cls(b"\xff" * 20 + job_id.binary())

    @classmethod
    def for_fake_task(cls, job_id: JobID) -> TaskID:
        """A random task of this job, for an object that no task made."""
        _of_types((job_id, JobID))
        return cls(urandom(20) + job_id.binary())

    @classmethod
    def for_actor_creation_task(cls, actor_id: ActorID) -> TaskID:
        """The constructor call of this actor."""
        _of_types((actor_id, ActorID))
        return cls(b"\xff" * 8 + actor_id.binary())

    @classmethod
    def for_actor_task(
        cls, job_id: JobID, parent_task_id: TaskID, parent_task_counter: int, actor_id: ActorID
    ) -> TaskID:
        """The method call that `parent_task_id` made on `actor_id` as its operation number `parent_task_counter`."""
        _of_types((job_id, JobID), (parent_task_id, TaskID), (actor_id, ActorID))
        return cls(_digest(parent_task_id, parent_task_counter, 8) + actor_id.binary())

    @classmethod
    def for_normal_task(cls, job_id: JobID, parent_task_id: TaskID, parent_task_counter: int) -> TaskID:
        """The function call that `parent_task_id` made as its operation number `parent_task_counter`."""
        _of_types((job_id, JobID), (parent_task_id, TaskID))
        return cls(_digest(parent_task_id, parent_task_counter, 8) + b"\xff" * 12 + job_id.binary())

    def actor_id(self) -> ActorID:
        """The ActorID of the actor that runs this task."""
        return ActorID(self._data[8:])

    def job_id(self) -> JobID:
        """The JobID this task belongs to."""
        return JobID(self._data[20:])


class PlacementGroupID(BaseID):
    """18 bytes: 14 of its own, then its job's id."""

    __slots__ = ()
    SIZE = 18

    @classmethod
    def of(cls, job_id: JobID) -> PlacementGroupID:
        """A fresh placement group of this job."""
        _of_types((job_id, JobID))
        return cls(urandom(14) + job_id.binary())


def _of_types(*given):
    """AssertionError, as in Ray, unless each id is of its class."""
    for value, wanted in given:
        if not isinstance(value, wanted):
            raise AssertionError(f"a {wanted.__name__} is needed, not {value!r} (at {calling()})")


def _digest(parent_task_id, counter, size):
    """`size` bytes that depend on nothing but the parent and the operation's number: the same in every run."""
    from hashlib import blake2b

    return blake2b(parent_task_id.binary() + counter.to_bytes(8, "little"), digest_size=size).digest()


def actor_id(tag_hash: int) -> ActorID:
    """The ActorID of the actor whose link has this `tag_hash`."""
    return ActorID(tag_hash.to_bytes(12, "little") + b"\x01\x00\x00\x00")


for _class in (
    UniqueID,
    NodeID,
    WorkerID,
    ClusterID,
    FunctionID,
    ActorClassID,
    JobID,
    ActorID,
    TaskID,
    PlacementGroupID,
):
    _class.__module__ = "rayshim"  # from where programs import them
del _class


def object_bytes(tag_hash: int) -> bytes:
    """The 28 bytes of the id of the ref with this `tag_hash`."""
    return tag_hash.to_bytes(16, "little") + b"\xff" * 4 + b"\x01\x00\x00\x00" + b"\x01\x00\x00\x00"


def task_id(tag_hash: int) -> TaskID:
    """The TaskID of the call whose first result has this `tag_hash`."""
    return TaskID(object_bytes(tag_hash)[:24])


def worker_id(node: str, slot: int, pid: int) -> str:
    """The hex id of the worker with this place and process, on the node with this hex id."""
    from hashlib import sha256

    return sha256(f"{node}/{slot}/{pid}".encode()).hexdigest()[:56]


_job = 1


def job_id() -> JobID:
    """The JobID of the driver for which this process works: the number of the driver in its session."""
    return JobID.from_int(_job)


def set_job(number):
    global _job
    _job = number
