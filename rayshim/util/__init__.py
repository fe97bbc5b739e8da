"""The part of `ray.util` that rayshim provides. Most names are imported from their modules at first use."""

from rayshim.util.placement_group import (
    placement_group,
)  # imported early: a later import of its module of the same name would replace the function

_MODULES = {
    "ActorPool": "actor_pool",
    "Deprecated": "annotations",
    "DeveloperAPI": "annotations",
    "PublicAPI": "annotations",
    "as_completed": "unordered",
    "deregister_serializer": "serialization",
    "disable_log_once_globally": "debug",
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

__all__ = [*_MODULES, placement_group.__name__]  # noqa: PLE0604


def __getattr__(name):
    if name in _SUBMODULES:
        from importlib import import_module

        value = globals()[name] = import_module(f"{__name__}.{_SUBMODULES[name]}")
        return value
    if name not in _MODULES:
        from rayshim.errors.sites import calling

        raise AttributeError(
            f"module 'rayshim.util' has no attribute '{name}': rayshim does not provide ray.util.{name}. "
            f"It provides {', '.join(__all__)}. (at {calling()})"
        )
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
