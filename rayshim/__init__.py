"""Ray's core API on one machine: `import rayshim as ray`."""

from rayshim import exceptions
from rayshim.actor import ActorClass, ActorHandle, exit_actor, method
from rayshim.api import (
    available_resources,
    cancel,
    cluster_resources,
    get,
    get_actor,
    get_gpu_ids,
    get_runtime_context,
    graph,
    init,
    is_initialized,
    kill,
    nodes,
    put,
    remote,
    report,
    shutdown,
    timeline,
    wait,
)
from rayshim.ids import (
    ActorClassID,
    ActorID,
    FunctionID,
    JobID,
    NodeID,
    PlacementGroupID,
    TaskID,
    UniqueID,
    WorkerID,
)
from rayshim.refs import ObjectRef

ObjectID = ObjectRef
__version__ = "2.60.0"  # the version of Ray whose API this is
SCRIPT_MODE, WORKER_MODE, LOCAL_MODE = 0, 1, 2


def __getattr__(name):
    if name == "util":
        import rayshim.util

        return rayshim.util
    raise AttributeError(f"module 'rayshim' has no attribute '{name}': rayshim does not provide ray.{name}")
