"""The exceptions of Ray's API: same class tree, same constructors, same key parts of the messages.

`task_error` has the base class and the error of a task.
"""

from __future__ import annotations

from typing import Any

from rayshim.errors.actor_death import ActorDeath
from rayshim.errors.task_error import (  # noqa: F401
    CrossLanguageError,
    RayError,
    RayTaskError,
    UnserializableException,
    UserCodeException,
    in_rays_words,
    make_task_error,
)


class RayActorError(RayError):
    """A call of an actor failed because of the actor itself. `actor_id` is hex or None; `error_msg` is the whole text."""

    BASE_ERROR_MSG = "The actor experienced an error before finishing this task."

    def __init__(
        self,
        actor_id: str | None = None,
        error_msg: str = BASE_ERROR_MSG,
        actor_init_failed: bool = False,
        preempted: bool = False,
    ) -> None:
        self.actor_id = actor_id
        self.error_msg = error_msg
        self._actor_init_failed = actor_init_failed
        self._preempted = preempted

    @property
    def actor_init_failed(self) -> bool:
        """Whether the constructor raised."""
        return self._actor_init_failed

    @property
    def preempted(self) -> bool:
        """Whether the actor ended because its machine was preempted; always False here."""
        return self._preempted

    def __str__(self) -> str:
        return self.error_msg


class ActorDiedError(RayActorError):
    """The actor is dead and will not be restarted.

    `cause` is the RayTaskError of its constructor, an ActorDeath, a reason (str), or None.
    """

    BASE_ERROR_MSG = "The actor died unexpectedly before finishing this task."

    def __init__(self, cause: Any = None) -> None:
        actor_id, message = None, self.BASE_ERROR_MSG
        in_constructor = isinstance(cause, RayTaskError)
        if in_constructor:
            actor_id = cause._actor_id
            message = f"The actor died because of an error raised in its creation task, {cause}"
        elif isinstance(cause, ActorDeath):
            actor_id = cause.actor_id or None
            message = "\n".join([message, *cause.lines()])
        elif cause:
            message = f"{message}\n{cause}"
        super().__init__(actor_id, message, in_constructor)

    @staticmethod
    def from_task_error(task_error: RayTaskError) -> ActorDiedError:
        """The error for an actor whose constructor raised `task_error`."""
        return ActorDiedError(task_error)


class ActorUnavailableError(RayActorError):
    """The actor cannot be reached at present, for example because it is being restarted. `actor_id` is bytes or None."""

    def __init__(self, error_message: str, actor_id: bytes | None) -> None:
        if not isinstance(actor_id, (bytes, type(None))):
            raise TypeError(f"Unsupported type: {type(actor_id)}, expected bytes")
        hex_id = actor_id.hex() if actor_id is not None else None
        super().__init__(
            hex_id,
            f"The actor {hex_id} is unavailable: {error_message}. The task may or may not have been executed on the actor.",
        )


class _TextError(RayError):
    """An error with one text, the attribute `error_message`."""

    prefix: str = ""

    def __init__(self, error_message: str) -> None:
        self.error_message: str = error_message

    def __str__(self) -> str:
        return f"{self.prefix}{self.error_message}"


class _MessageError(RayError):
    """An error with one text, the attribute `message`."""

    def __init__(self, message: str) -> None:
        self.message = message

    def __str__(self) -> str:
        return self.message


class TaskCancelledError(RayError):
    """The task was cancelled. `task_id` is its TaskID, `error_message` has details; both may be None."""

    def __init__(self, task_id: Any = None, error_message: str | None = None) -> None:
        self.task_id = task_id
        self.error_message = error_message

    def __str__(self) -> str:
        text = f"Task: {self.task_id} was cancelled. " if self.task_id else ""
        return text + (self.error_message or "")


class GetTimeoutError(RayError, TimeoutError):
    """`get(..., timeout=)`: a value was not ready in time."""


class OrderingError(RayError, RuntimeError):
    """`init(ordering="strict")`: a call or a `wait` cannot run in the order of the program's serial run."""


class ReplayError(RayError, RuntimeError):
    """`init(replay=)`: the program does not match its journal. What the text quotes from the journal cannot control a terminal."""

    def __str__(self) -> str:
        from reactor.printable import printable

        return printable(super().__str__(), lines=True)


class DeadlockError(RayError, RuntimeError):
    """Calls wait for each other's results in a cycle, so none of them can end."""


class WorkerCrashedError(RayError):
    """The process that ran the task died."""

    _details: str = ""

    @classmethod
    def of(cls, details: str) -> WorkerCrashedError:
        """The error with a sentence about how the process died."""
        error = cls()
        error._details = details
        return error

    def __str__(self) -> str:
        return f"The worker died unexpectedly while executing this task. {self._details}".rstrip()


class AsyncioActorExit(RayError):
    """`exit_actor()` was called in an async actor."""


class PendingCallsLimitExceeded(RayError):
    """The actor already has as many pending calls as its `max_pending_calls` allows."""


class PlasmaObjectNotAvailable(RayError):
    """The object was not available in time."""


class ObjectRefStreamEndOfStreamError(RayError):
    """The generator has no more results."""


class OufOfBandObjectRefSerializationException(RayError):
    """An ObjectRef was pickled outside the runtime, where its object cannot be kept alive. (Ray's spelling.)"""


class TaskUnschedulableError(_TextError):
    """The task can never run here."""

    prefix = "The task is not schedulable: "


class ActorUnschedulableError(_TextError):
    """The actor can never be placed here."""

    prefix = "The actor is not schedulable: "


class RuntimeEnvSetupError(RayError):
    """The runtime environment could not be set up; `error_message` may be None."""

    def __init__(self, error_message: str | None = None) -> None:
        self.error_message = error_message

    def __str__(self) -> str:
        return "\n".join(filter(None, ("Failed to set up runtime environment.", self.error_message)))


class ActorAlreadyExistsError(ValueError, RayError):
    """An actor with this name exists already."""

    def __init__(self, error_message: str) -> None:
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self) -> str:
        return self.error_message


class ActorHandleNotFoundError(ValueError, RayError):
    """The handle belongs to no actor of this session, for example because it is from before `shutdown()`."""

    def __init__(self, error_message: str) -> None:
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self) -> str:
        return self.error_message


class TaskPlacementGroupRemoved(RayError):
    """The task's placement group was removed."""

    def __str__(self) -> str:
        return "The placement group corresponding to this task has been removed."


class ActorPlacementGroupRemoved(RayError):
    """The actor's placement group was removed."""

    def __str__(self) -> str:
        return "The placement group corresponding to this Actor has been removed."


class RaySystemError(RayError):
    """The runtime itself failed; `client_exc` is the cause, `traceback_str` a str or None."""

    def __init__(self, client_exc: Any, traceback_str: str | None = None) -> None:
        self.client_exc = client_exc
        self.traceback_str = traceback_str

    def __str__(self) -> str:
        text = f"System error: {self.client_exc}"
        return f"{text}\ntraceback: {self.traceback_str}" if self.traceback_str else text


class RayChannelError(RaySystemError):
    """A channel failed."""


class RayChannelTimeoutError(RayChannelError, TimeoutError):
    """A channel of a Compiled Graph was not ready in time."""


class RayCgraphCapacityExceeded(RaySystemError):
    """Too many executions of a Compiled Graph are in flight."""


class RayDirectTransportError(RaySystemError):
    """A direct transfer between devices failed."""


class StreamingGeneratorReplayInconsistentError(RaySystemError):
    """A generator was run again and yielded a different number of values."""


class LocalRayletDiedError(RayError):
    """The machine's runtime died."""

    def __str__(self) -> str:
        return "The task's local raylet died."


class NodeDiedError(_MessageError):
    """The machine died."""


class OutOfMemoryError(_MessageError):
    """The machine ran low on memory, and the task was stopped to free some."""


class AuthenticationError(_MessageError):
    """A token is missing or wrong."""

    def __str__(self) -> str:
        return f"{self.message}. For more information, see: https://docs.ray.io/en/latest/ray-security/token-auth.html"


class RpcError(_MessageError):
    """A remote procedure call failed; `rpc_code` is the code of the transport, or None."""

    def __init__(self, message: str, rpc_code: int | None = None) -> None:
        super().__init__(message)
        self.rpc_code = rpc_code


class ObjectStoreFullError(RayError):
    """The object store has no room for the object, even after waiting."""

    def __str__(self) -> str:
        return (
            f"{super().__str__()}\nThe local object store is full of objects that are still in scope and cannot be "
            "evicted. Tip: delete refs and arrays that are no longer needed, or set a larger `init(object_store_memory=)`."
        )


class OutOfDiskError(RayError):
    """Neither the object store nor the disk has room for the object."""

    def __str__(self) -> str:
        return (
            f"{super().__str__()}\nThe object cannot be created because the local object store is full and the local "
            "disk's utilization is over capacity (95% by default). Tip: use `df` to see the disk's use."
        )


class ObjectLostError(RayError):
    """The object is lost although refs to it exist. Takes its hex id, its owner (bytes or None), and the place where the
    ref was created (str, may be empty)."""

    _reason = "All copies of {} have been lost."

    def __init__(self, object_ref_hex: str, owner_address: bytes | None, call_site: str) -> None:
        self.object_ref_hex = object_ref_hex
        self.owner_address = owner_address
        self.call_site: str = call_site.replace(" | ", "\n  ")

    def _base_str(self):
        origin = f"The ObjectRef was created at: {self.call_site}" if self.call_site else ""
        return f"Failed to retrieve object {self.object_ref_hex}. {origin}".rstrip()

    def __str__(self) -> str:
        return f"{self._base_str()}\n\n{self._reason.format(self.object_ref_hex)}"


class ObjectFetchTimedOutError(ObjectLostError):
    """The object was not found in time."""

    _reason = "Fetch for object {} timed out because no locations were found for the object."


class ReferenceCountingAssertionError(ObjectLostError, AssertionError):
    """The object was deleted although refs to it exist: a bug of the runtime."""

    _reason = "The object has already been deleted by the reference counting protocol. This should not happen."


class ObjectFreedError(ObjectLostError):
    """The program freed the object explicitly."""

    _reason = (
        "The object was manually freed using the internal `free` call. "
        "Please ensure that `free` is only called once the object is no longer needed."
    )


class OwnerDiedError(ObjectLostError):
    """The process that created the object has ended, and the object is lost with it."""

    _reason = (
        "The object's owner has exited. This is the Python worker that first created the ObjectRef via `.remote()` "
        "or `ray.put()`."
    )

    @classmethod
    def of(cls, owner: str) -> OwnerDiedError:
        """That of a task whose submitter has ended. `owner`: its name."""
        error = cls("", None, "")
        error._owner = owner
        return error

    _owner = ""

    def _base_str(self):
        return (
            f"The process that has submitted the task has ended ({self._owner})."
            if self._owner
            else super()._base_str()
        )


class ObjectReconstructionFailedError(ObjectLostError):
    """The object is lost and could not be computed again; `reason` is a code, `reason_message` a sentence, both may be None."""

    def __init__(
        self,
        object_ref_hex: str,
        reason: str | None = None,
        reason_message: str | None = None,
        owner_address: bytes | None = None,
        call_site: str = "",
    ) -> None:
        super().__init__(object_ref_hex, owner_address, call_site)
        self.reason = reason
        self.reason_message: str = reason_message or "Unknown error reason."

    def __str__(self) -> str:
        return f"{self._base_str()}\n\n[{self.reason or 'UNKNOWN'}] {self.reason_message}"


#: Those of them that Ray names in this list, in its order.
RAY_EXCEPTION_TYPES: list[type[Exception]] = [
    PlasmaObjectNotAvailable,
    RayError,
    RayTaskError,
    WorkerCrashedError,
    RayActorError,
    ObjectStoreFullError,
    ObjectLostError,
    ObjectFetchTimedOutError,
    ReferenceCountingAssertionError,
    ObjectReconstructionFailedError,
    OwnerDiedError,
    GetTimeoutError,
    AsyncioActorExit,
    RuntimeEnvSetupError,
    TaskPlacementGroupRemoved,
    ActorPlacementGroupRemoved,
    PendingCallsLimitExceeded,
    LocalRayletDiedError,
    TaskUnschedulableError,
    ActorDiedError,
    ActorUnschedulableError,
    ActorUnavailableError,
    RayChannelError,
    RayChannelTimeoutError,
    OufOfBandObjectRefSerializationException,
    RayCgraphCapacityExceeded,
    UnserializableException,
    ActorAlreadyExistsError,
    ActorHandleNotFoundError,
    AuthenticationError,
]

for _class in [
    value
    for value in globals().values()
    if isinstance(value, type) and value.__module__ == __name__ and not value.__name__.startswith("_")
]:
    _class.__module__ = "rayshim.exceptions"  # the name that programs import, tracebacks show and pickles keep
del _class
