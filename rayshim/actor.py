"""`ray.actor`."""

from typing import Generic, TypeVar

from rayshim.calls.actor_class import ActorClass, ActorClassInheritanceException
from rayshim.calls.class_info import method
from rayshim.calls.handle import ActorHandle, ActorMethod
from rayshim.worker.exit import exit_actor

T = TypeVar("T")


class ActorProxy(ActorHandle, Generic[T]):
    """For annotations: the handle of an actor of class T."""


__all__ = [
    "ActorClass",
    "ActorClassInheritanceException",
    "ActorHandle",
    "ActorMethod",
    "ActorProxy",
    "exit_actor",
    "method",
]
