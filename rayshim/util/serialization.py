"""Serializers that the program registers for its own classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rayshim.session import serializers
from rayshim.session.serializers import Context

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
U = TypeVar("U")


def register_serializer(cls: type[T], *, serializer: Callable[[T], U], deserializer: Callable[[U], T]) -> None:
    """Makes instances of `cls` be sent as `serializer(instance)`; the receiver applies `deserializer` to that.

    `deserializer` must itself be picklable.
    """
    serializers.register_serializer(cls, serializer, deserializer)


def deregister_serializer(cls: type) -> None:
    """Removes the serializer of `cls`; does nothing if there is none."""
    serializers.deregister_serializer(cls)


class StandaloneSerializationContext(Context):
    """The same for libraries: what Ray hands to functions such as `ray.util.serialization_addons.apply`."""
