"""The functions of Ray's top level: `init`, `get`, `put`, `wait`, `remote`, `kill` and the others."""

from rayshim.api.cluster import available_resources, cluster_resources, nodes
from rayshim.api.control import cancel, get_actor, kill, list_named_actors
from rayshim.api.decorator import remote
from rayshim.api.observe import digest, get_gpu_ids, get_runtime_context, graph, report, timeline
from rayshim.api.start import init, is_initialized, shutdown
from rayshim.api.values import get, put, wait

__all__ = [
    "available_resources",
    "cancel",
    "cluster_resources",
    "digest",
    "get",
    "get_actor",
    "get_gpu_ids",
    "get_runtime_context",
    "graph",
    "init",
    "is_initialized",
    "kill",
    "list_named_actors",
    "nodes",
    "put",
    "remote",
    "report",
    "shutdown",
    "timeline",
    "wait",
]
