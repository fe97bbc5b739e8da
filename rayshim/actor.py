"""`ray.actor`."""

from typing import TypeVar

from rayshim.calls.actor_class import ActorClass, ActorClassInheritanceException
from rayshim.calls.class_info import method
from rayshim.calls.handle import ActorHandle, ActorMethod
from rayshim.worker.exit import exit_actor

T = TypeVar("T")
ActorProxy = ActorHandle[T] | type[T]  # in annotations: what `Class.remote()` gives, with the methods of the class

__all__ = ["ActorClass", "ActorClassInheritanceException", "ActorHandle", "ActorMethod", "ActorProxy", "exit_actor", "method"]
