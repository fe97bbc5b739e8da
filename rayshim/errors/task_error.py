"""The base class of Ray's exceptions, the error of a task, and how both travel between processes.

A failed task stores a `RayTaskError` as its result. `get` raises its `as_instanceof_cause()`, which is also an instance of the
user's own exception class. Errors travel between processes by `to_bytes` and `from_bytes`, which also work for a user's
exception that cannot be unpickled.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from rayshim.errors.address import get_node_ip_address

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = "Traceback (most recent call last):"


class RayError(Exception):
    """Base class of the runtime's exceptions. It is pickled with its attributes, whatever arguments its constructor takes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)

    def to_bytes(self) -> bytes:
        """This error as bytes for another process: the pickled error, and its text in case it cannot be unpickled there."""
        import pickle
        from traceback import format_exception

        text = in_rays_words("".join(format_exception(type(self), self, None)))
        try:
            pickled = _pickled(self)
        except Exception:
            pickled = b""  # the reader falls back on the text
        return pickle.dumps((pickled, text))

    @staticmethod
    def from_bytes(b: bytes) -> RayError:
        """The error that `to_bytes` made, or an UnserializableException with its text if it cannot be unpickled."""
        import pickle

        return _unpickled(*pickle.loads(b))

    @staticmethod
    def from_ray_exception(ray_exception: Any) -> RayError:
        """The error of an object with `language` (0: Python), `serialized_exception` (bytes) and `formatted_exception_string`."""
        if ray_exception.language != 0:
            return CrossLanguageError(ray_exception)
        text = getattr(ray_exception, "formatted_exception_string", "No formatted exception string available.")
        return _unpickled(ray_exception.serialized_exception, text)


class CrossLanguageError(RayError):
    """Code in another language raised an exception. Takes an object with `language` and `formatted_exception_string`."""

    def __init__(self, ray_exception: Any) -> None:
        super().__init__(
            f"An exception raised from {ray_exception.language}:\n{ray_exception.formatted_exception_string}"
        )


def _unpickled(pickled, text):
    import pickle

    try:
        return pickle.loads(pickled)
    except Exception:
        return UnserializableException(text)


class RayTaskError(RayError):
    """A task or an actor's method raised an exception.

    Arguments:
        function_name: name of the task or method: `f`, `Actor.method`.
        traceback_str: the formatted remote traceback, a str.
        cause: the exception. If it cannot be pickled, a RayError with its class and text replaces it.
        proctitle, pid, ip: the process that ran the task; defaults are `ray::<function_name>`, this process, this machine.
        actor_repr, actor_id: the actor (str, hex), None for a plain task.
    """

    def __init__(
        self,
        function_name: str,
        traceback_str: str,
        cause: BaseException,
        proctitle: str | None = None,
        pid: int | None = None,
        ip: str | None = None,
        actor_repr: str | None = None,
        actor_id: str | None = None,
    ) -> None:
        self.proctitle: str = proctitle or f"ray::{function_name}"
        self.pid: int = pid or os.getpid()
        self.ip: str = ip or get_node_ip_address()
        self.function_name = function_name
        self.traceback_str = traceback_str
        self.actor_repr = actor_repr
        self._actor_id = actor_id
        try:
            _pickled(cause)
        except Exception as error:
            cause = _unpicklable(cause, error, traceback_str)
        self.cause = cause
        self.args: tuple[Any, ...] = (function_name, traceback_str, cause, proctitle, pid, ip)

    def make_dual_exception_instance(self) -> RayTaskError:
        """The same; TypeError where the cause's class cannot be subclassed."""
        from rayshim.errors.dual import dual

        return dual(self, RayTaskError)

    def as_instanceof_cause(self) -> RayTaskError:
        """This error as an instance of both RayTaskError and the cause's class, with the cause's attributes.

        If the cause's class cannot be subclassed, logs a warning and returns `self`.
        """
        if issubclass(RayTaskError, type(self.cause)):
            return self
        try:
            return self.make_dual_exception_instance()
        except Exception as error:
            import logging

            logging.getLogger("rayshim").warning(
                "User exception type %s in RayTaskError can't be subclassed! This exception is raised as RayTaskError "
                "only. You can use `ray_task_error.cause` to access the user exception. Failure in subclassing: %s",
                type(self.cause),
                error,
            )
            return self

    def __str__(self) -> str:
        title = f"{_cyan(self.proctitle + '()')} (pid={self.pid}, ip={self.ip}"
        if self.actor_repr:
            title += f", actor_id={self._actor_id}, repr={self.actor_repr}"
        title += ")"
        lines = self.traceback_str.strip("\n").split("\n")
        if isinstance(self.cause, UserCodeException):
            from rayshim.errors.tracebacks import without_files_of

            lines = without_files_of("ray/data/_internal/", lines)
        if lines[0].strip().startswith("+ Exception Group"):
            lines.insert(0, _HEADER)
        return "\n".join(title if line.rstrip() == _HEADER else line for line in lines)


def make_task_error(
    function_name: str,
    exc: BaseException,
    pid: int | None = None,
    actor_repr: str | None = None,
    *,
    actor_id: str | None = None,
    proctitle: str | None = None,
    ip: str | None = None,
    skip: Sequence[str] = (),
    dependency: bool = False,
    advice: str = "",
) -> RayTaskError:
    """The RayTaskError for an exception that a task has just raised.

    Arguments:
        function_name, pid, actor_repr, actor_id, proctitle, ip: see RayTaskError.
        exc: the exception, with its traceback. If it is itself the error of another task, the new error has the same
            original cause and shows both tracebacks.
        skip: directories (str) of the runtime, whose frames are left out.
        advice: a line that stands before the last one, which has the class and the text of the exception.
        dependency: True if the task did not run because one of its arguments is a ref whose value is the error `exc`.
    """
    from rayshim.errors.tracebacks import format_remote

    cause = exc.cause if isinstance(exc, RayTaskError) else exc
    if dependency:
        kind = RayTaskError if isinstance(exc, RayTaskError) else type(exc)
        text = (
            f"{_HEADER}\n  At least one of the input arguments for this task could not be computed:\n"
            f"{kind.__module__}.{kind.__qualname__}: {exc}"
        )
    else:
        text = format_remote(exc, skip)
        if _HEADER not in text:  # no line of Python has raised it
            text = f"{_HEADER}\n{text}"
        if advice:
            above, _, last = text.rstrip("\n").rpartition("\n")
            text = f"{above}\n  {advice}\n{last}\n"
    return RayTaskError(function_name, in_rays_words(text), cause, proctitle, pid, ip, actor_repr, actor_id)


def in_rays_words(text: str) -> str:
    """`text` with the exceptions under their names in Ray, `ray.exceptions.…`."""
    return text.replace("rayshim.exceptions.", "ray.exceptions.")


class UserCodeException(RayError):
    """Libraries raise this for an exception in their user's code."""


class UnserializableException(RayError):
    """The exception of a task cannot be unpickled here. This error has its text instead."""

    def __init__(self, original_stack_trace: Any) -> None:
        self._original_stack_trace = original_stack_trace

    def __str__(self) -> str:
        return (
            "Failed to deserialize exception. Refer to https://docs.ray.io/en/latest/ray-core/objects/serialization.html"
            "#custom-serializers-for-exceptions for more information.\n"
            f"Original exception:\n{self._original_stack_trace}"
        )


def _unpicklable(cause, error, traceback_str):
    import logging

    name = f"{type(cause).__module__}.{type(cause).__name__}"
    logging.getLogger("rayshim").warning(
        "The original cause of the RayTaskError (%s) isn't serializable: %s", name, error
    )
    return RayError(f"Exception {name} isn't serializable: {error}.\nOriginal exception details:\n{traceback_str}")


def _pickled(value):
    from reactor import codec

    return codec.pickled(value)


def _restore(error_class, args, attributes):
    error = error_class.__new__(error_class, *args)  # __init__ is passed over: it may want more, or do work again
    error.__dict__.update(attributes)
    return error


def _cyan(text):
    import sys

    try:
        shown = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    except (AttributeError, ValueError):  # no stderr, or a closed one
        shown = False
    return f"\x1b[36m{text}\x1b[39m" if shown else text


for _class in (RayError, CrossLanguageError, RayTaskError, UserCodeException, UnserializableException):
    _class.__module__ = "rayshim.exceptions"  # the name that programs import, tracebacks show and pickles keep
del _class
