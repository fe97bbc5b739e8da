"""The part of `ray.util` that rayshim provides. Most names are imported from their modules at first use."""

from rayshim.util.placement_group import (
    placement_group as placement_group,
)  # imported early: a later import of its module of the same name would replace the function

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from typing import Any

    from rayshim.util import accelerators as accelerators
    from rayshim.util import actor_group as actor_group
    from rayshim.util import actor_pool as actor_pool
    from rayshim.util import annotations as annotations
    from rayshim.util import client as client
    from rayshim.util import collective as collective
    from rayshim.util import debug as debug
    from rayshim.util import debugpy as ray_debugpy
    from rayshim.util import iter as iter
    from rayshim.util import metrics as metrics
    from rayshim.util import multiprocessing as multiprocessing
    from rayshim.util import queue as queue
    from rayshim.util import rpdb as pdb
    from rayshim.util import scheduling_strategies as scheduling_strategies
    from rayshim.util import state as state
    from rayshim.util import timer as timer
    from rayshim.util.actor_pool import ActorPool as ActorPool
    from rayshim.util.annotations import Deprecated as Deprecated
    from rayshim.util.annotations import DeveloperAPI as DeveloperAPI
    from rayshim.util.annotations import PublicAPI as PublicAPI
    from rayshim.util.check_serialize import inspect_serializability as inspect_serializability
    from rayshim.util.client_connect import connect as connect
    from rayshim.util.client_connect import disconnect as disconnect
    from rayshim.util.debug import disable_log_once_globally as disable_log_once_globally
    from rayshim.util.debug import enable_periodic_logging as enable_periodic_logging
    from rayshim.util.debug import log_once as log_once
    from rayshim.util.named_actors import list_named_actors as list_named_actors
    from rayshim.util.node_address import get_node_instance_id as get_node_instance_id
    from rayshim.util.node_address import get_node_ip_address as get_node_ip_address
    from rayshim.util.placement_group import get_current_placement_group as get_current_placement_group
    from rayshim.util.placement_group import get_placement_group as get_placement_group
    from rayshim.util.placement_group import placement_group_table as placement_group_table
    from rayshim.util.placement_group import remove_placement_group as remove_placement_group
    from rayshim.util.serialization import deregister_serializer as deregister_serializer
    from rayshim.util.serialization import register_serializer as register_serializer
    from rayshim.util.unordered import as_completed as as_completed
    from rayshim.util.unordered import map_unordered as map_unordered
del TYPE_CHECKING

_MODULES = {
    "ActorPool": "actor_pool",
    "Deprecated": "annotations",
    "DeveloperAPI": "annotations",
    "PublicAPI": "annotations",
    "as_completed": "unordered",
    "connect": "client_connect",
    "deregister_serializer": "serialization",
    "disable_log_once_globally": "debug",
    "disconnect": "client_connect",
    "enable_periodic_logging": "debug",
    "get_current_placement_group": "placement_group",
    "get_node_instance_id": "node_address",
    "get_node_ip_address": "node_address",
    "get_placement_group": "placement_group",
    "inspect_serializability": "check_serialize",
    "list_named_actors": "named_actors",
    "log_once": "debug",
    "map_unordered": "unordered",
    "placement_group_table": "placement_group",
    "remove_placement_group": "placement_group",
    "register_serializer": "serialization",
}

_SUBMODULES = {
    name: name
    for name in (
        "accelerators",
        "actor_group",
        "actor_pool",
        "annotations",
        "client",
        "collective",
        "debug",
        "iter",
        "metrics",
        "multiprocessing",
        "queue",
        "scheduling_strategies",
        "state",
        "timer",
    )
} | {"pdb": "rpdb", "ray_debugpy": "debugpy"}

_NOT_PUBLIC = ("Deprecated", "DeveloperAPI", "PublicAPI")
__all__ = [  # noqa: PLE0604
    *(name for name in _MODULES if name not in _NOT_PUBLIC),
    *("accelerators", "collective", "iter", "pdb", "ray_debugpy"),
    placement_group.__name__,
]


def __getattr__(name: str) -> "Any":
    if name in _SUBMODULES:
        from importlib import import_module

        value = globals()[name] = import_module(f"{__name__}.{_SUBMODULES[name]}")
        return value
    if name not in _MODULES:
        from rayshim.as_ray.alias import submodule
        from rayshim.errors.user_code import calling

        try:
            return submodule(__name__, name)
        except AttributeError as error:
            raise AttributeError(f"{error}. It provides {', '.join(__all__)}. (at {calling()})") from None
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
