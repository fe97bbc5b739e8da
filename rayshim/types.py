"""A generic type for annotations, `ObjectRef[T]`. Source: ray.types."""

from typing import Generic, TypeVar

T = TypeVar("T")


class ObjectRef(Generic[T]):
    """The ref of an object of type T, in annotations."""
