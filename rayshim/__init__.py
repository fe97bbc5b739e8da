"""Ray's core API on one machine: `import rayshim as ray`."""

import rayshim.command_path  # noqa: F401, I001  before all others
import rayshim.errors.deprecation
import rayshim.as_ray.own_name  # noqa: F401
import rayshim.as_ray.submodules  # noqa: F401
from rayshim import exceptions, remote_function, runtime_env, worker  # noqa: F401  cloudpickle takes a class by its name only where the module of that name is loaded
from rayshim.actor import ActorClass, ActorHandle, method
from rayshim.api import (
    available_resources,
    cancel,
    cluster_resources,
    get,
    get_actor,
    get_gpu_ids,
    get_runtime_context,
    init,
    is_initialized,
    kill,
    nodes,
    put,
    remote,
    shutdown,
    timeline,
    wait,
)
from rayshim.calls import binding
from rayshim.calls.generators import DynamicObjectRefGenerator, ObjectRefGenerator
from rayshim.calls.refs import ObjectRef
from rayshim.client_builder import client
from rayshim.cross_language import java_actor_class, java_function
from rayshim.errors.logs import logger
from rayshim.session.ids import (
    ActorClassID,
    ActorID,
    ClusterID,
    FunctionID,
    JobID,
    NodeID,
    PlacementGroupID,
    TaskID,
    UniqueID,
    WorkerID,
)
from rayshim.session.version import RAY_COMMIT as __commit__
from rayshim.session.version import (
    VERSION as __version__,
)  # rayshim.alias.install() replaces it by Ray's version

ObjectID = ObjectRef
SCRIPT_MODE, WORKER_MODE, SPILL_WORKER_MODE, RESTORE_WORKER_MODE = 0, 1, 3, 4


# Names that are imported at first use: rayshim's own, so that `dir` shows only Ray's names, and those that few programs need.
_MODULE_OF = {
    "graph": "api",
    "report": "api",
    "digest": "api",
    "exit_actor": "actor",
    "packed": "placement.packed",
    "LoggingConfig": "job_config",
    "ClientBuilder": "client_builder",
    "Language": "cross_language",
    "AUTO_INIT_APIS": "_private.top_level",
    "NON_AUTO_INIT_APIS": "_private.top_level",
    "ray_constants": "_private.top_level",
    "serialization": "_private.top_level",
    "state": "_private.top_level",
    "log": "_private",
}
TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from typing import Any

    from rayshim import (
        _private,
        _raylet,
        actor,
        cloudpickle,
        dag,
        experimental,
        internal,
        job_config,
        remote_function,
        runtime_context,
        types,
        util,
    )
    from rayshim.actor import exit_actor
    from rayshim.api import digest, graph, report
    from rayshim.client_builder import ClientBuilder
    from rayshim.cross_language import Language
    from rayshim.job_config import LoggingConfig
    from rayshim.placement.packed import packed

    # What a program gets from this package: a checker takes other imported names for private ones.
    __all__ = [
        "RESTORE_WORKER_MODE",
        "SCRIPT_MODE",
        "SPILL_WORKER_MODE",
        "WORKER_MODE",
        "ActorClass",
        "ActorClassID",
        "ActorHandle",
        "ActorID",
        "ClientBuilder",
        "ClusterID",
        "DynamicObjectRefGenerator",
        "FunctionID",
        "JobID",
        "Language",
        "LoggingConfig",
        "NodeID",
        "ObjectID",
        "ObjectRef",
        "ObjectRefGenerator",
        "PlacementGroupID",
        "TaskID",
        "UniqueID",
        "WorkerID",
        "__commit__",
        "__version__",
        "_private",
        "_raylet",
        "actor",
        "available_resources",
        "cancel",
        "client",
        "cloudpickle",
        "cluster_resources",
        "dag",
        "digest",
        "exceptions",
        "exit_actor",
        "experimental",
        "get",
        "get_actor",
        "get_gpu_ids",
        "get_runtime_context",
        "graph",
        "init",
        "internal",
        "is_initialized",
        "java_actor_class",
        "java_function",
        "job_config",
        "kill",
        "logger",
        "method",
        "nodes",
        "packed",
        "put",
        "remote",
        "remote_function",
        "report",
        "runtime_context",
        "runtime_env",
        "shutdown",
        "timeline",
        "types",
        "util",
        "wait",
    ]
del TYPE_CHECKING
_MODULES = (
    "util",
    "dag",
    "experimental",
    "runtime_context",
    "job_config",
    "cloudpickle",
    "_raylet",
    "_private",
    "internal",
    "remote_function",
    "types",
)


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"rayshim.{name}")
    if name in _MODULE_OF:
        value = globals()[name] = getattr(import_module(f"rayshim.{_MODULE_OF[name]}"), name)
        return value
    from rayshim.as_ray.alias import submodule

    return submodule(__name__, name)


binding.load = lambda: __getattr__("dag")
worker.shown = lambda name: getattr(__getattr__("_private").top_level.worker, name)
