"""`ray.actor`."""

from rayshim.calls.actor_class import ActorClass, ActorClassInheritanceException
from rayshim.calls.class_info import method
from rayshim.calls.handle import ActorHandle, ActorMethod, ActorProxy
from rayshim.worker.exit import exit_actor

__all__ = [
    "ActorClass",
    "ActorClassInheritanceException",
    "ActorHandle",
    "ActorMethod",
    "ActorProxy",
    "exit_actor",
    "method",
]
