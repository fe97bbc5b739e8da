"""The part of `ray.util` that rayshim provides; each name is loaded from its module when first used."""

_MODULES = {
    "ActorPool": "actor_pool",
    "as_completed": "unordered",
    "deregister_serializer": "serialization",
    "disable_log_once_globally": "debug",
    "enable_periodic_logging": "debug",
    "get_node_instance_id": "node_address",
    "get_node_ip_address": "node_address",
    "inspect_serializability": "check_serialize",
    "list_named_actors": "named_actors",
    "log_once": "debug",
    "map_unordered": "unordered",
    "register_serializer": "serialization",
}

__all__ = list(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(
            f"module 'rayshim.util' has no attribute '{name}': rayshim does not provide ray.util.{name}. "
            f"It provides {', '.join(__all__)}."
        )
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
