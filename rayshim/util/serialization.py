"""Serializers that the program registers for its own classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
U = TypeVar("U")


def register_serializer(cls: type[T], *, serializer: Callable[[T], U], deserializer: Callable[[U], T]) -> None:
    """Makes instances of `cls` be sent as `serializer(instance)`; the receiver applies `deserializer` to that.

    `deserializer` must itself be picklable.
    """
    from rayshim.api import serializers

    serializers.register_serializer(cls, serializer, deserializer)


def deregister_serializer(cls: type) -> None:
    """Removes the serializer of `cls`; does nothing if there is none."""
    from rayshim.api import serializers

    serializers.deregister_serializer(cls)


class StandaloneSerializationContext:
    """The same for libraries: what Ray hands to functions such as `ray.util.serialization_addons.apply`."""

    def _register_cloudpickle_serializer(self, cls, custom_serializer, custom_deserializer):
        register_serializer(cls, serializer=custom_serializer, deserializer=custom_deserializer)

    def _unregister_cloudpickle_reducer(self, cls):
        deregister_serializer(cls)
