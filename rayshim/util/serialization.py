"""The user's own serializers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def register_serializer(cls, *, serializer: Callable[..., Any], deserializer: Callable[..., Any]) -> None:
    """From now on instances of `cls` travel as `serializer(instance)`, and `deserializer` of that gives them back.

    `deserializer` must itself be picklable.
    """
    from rayshim.api import serializers

    serializers.register_serializer(cls, serializer, deserializer)


def deregister_serializer(cls) -> None:
    """Undoes `register_serializer(cls)`; nothing if there was none."""
    from rayshim.api import serializers

    serializers.deregister_serializer(cls)
