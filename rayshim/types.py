"""`ray.types`."""

from typing import Generic, TypeVar

T = TypeVar("T")


class ObjectRef(Generic[T]):
    """For annotations: a ref to a T. The refs themselves are `ray.ObjectRef`."""
