"""`ray._raylet`: classes that programs import from there because Ray has no public module for them."""

# ruff: noqa: F401

from enum import IntEnum
from importlib import import_module

from reactor import _core

from rayshim.api.cluster import available_resources, nodes
from rayshim.calls.generators import DynamicObjectRefGenerator, ObjectRefGenerator, StreamingGeneratorStats  # noqa: F401
from rayshim.calls.refs import ObjectRef  # noqa: F401
from rayshim.cross_language import Language
from rayshim.experimental import internal_kv
from rayshim.over.time_series import merge_instantaneous_total_cython, time_weighted_average_cython
from rayshim.resources.strategies import selected
from rayshim.session.ids import (
    ActorClassID,
    ActorID,
    BaseID,
    ClusterID,
    FunctionID,
    JobID,
    NodeID,
    PlacementGroupID,
    TaskID,
    UniqueID,
    WorkerID,
)
from rayshim.worker.threads import running as async_task_id  # noqa: F401  the call that runs in this coroutine

StreamingObjectRefGenerator = ObjectRefGenerator  # the names of earlier releases
ObjectID = ObjectRef

RESOURCE_UNIT_SCALING = _core.UNIT
OPTIMIZED = 1  # the core is always built with optimization
RAY_NODE_ID_KEY = "ray.io/node-id"
RAY_NODE_ACCELERATOR_TYPE_KEY = "ray.io/accelerator-type"
RAY_NODE_GROUP_KEY = "ray.io/node-group"
RAY_NODE_MARKET_TYPE_KEY = "ray.io/market-type"
RAY_NODE_REGION_KEY = "ray.io/availability-region"
RAY_NODE_ZONE_KEY = "ray.io/availability-zone"
RAY_NODE_TPU_POD_TYPE_KEY = "ray.io/tpu-pod-type"
RAY_NODE_TPU_SLICE_NAME_KEY = "ray.io/tpu-slice-name"
RAY_NODE_TPU_TOPOLOGY_KEY = "ray.io/tpu-topology"
RAY_NODE_TPU_WORKER_ID_KEY = "ray.io/tpu-worker-id"
NODE_MARKET_TYPE_ENV = "RAY_NODE_MARKET_TYPE"
NODE_REGION_ENV = "RAY_NODE_REGION"
NODE_TYPE_NAME_ENV = "RAY_NODE_TYPE_NAME"
NODE_ZONE_ENV = "RAY_NODE_ZONE"
IMPLICIT_RESOURCE_PREFIX = "node:__internal_implicit_resource_"
STREAMING_GENERATOR_RETURN = -2
RAY_INTERNAL_NAMESPACE_PREFIX = "_ray_internal_"
RAY_INTERNAL_DASHBOARD_NAMESPACE = "_ray_internal_dashboard"
GRPC_STATUS_CODE_RESOURCE_EXHAUSTED = 8
GRPC_STATUS_CODE_UNAVAILABLE = 14
GRPC_STATUS_CODE_DEADLINE_EXCEEDED = 4
GRPC_STATUS_CODE_UNKNOWN = 2
GRPC_STATUS_CODE_UNIMPLEMENTED = 12


def _messages(name):
    """A module of the messages of Ray's core."""
    return import_module(f"ray.core.generated.{name}")


class AuthenticationMode(IntEnum):
    """The way in which a cluster's processes prove that they belong to it."""

    DISABLED = 0
    TOKEN = 1


def get_authentication_mode():
    """DISABLED: only processes of the same user can use a session, which the kernel checks."""
    return AuthenticationMode.DISABLED


def validate_authentication_token(header, expected=None):
    """Whether the "Bearer ..." header of a request is right. Without authentication each is."""
    return True


class GcsClient:
    """Ray's client of its cluster's head: keys and values, which are the session's, and the nodes, which are this machine.

    Nodes are described by messages of the installed Ray package (`ray.core.generated`), so these methods need it.
    """

    def __init__(self, address=None, cluster_id=None, **kwargs):
        self.address, self.cluster_id = address, cluster_id

    def internal_kv_get(self, key, namespace=None, timeout=None):
        return internal_kv._internal_kv_get(key, namespace=namespace)

    def internal_kv_put(self, key, value, overwrite=True, namespace=None, timeout=None):
        """1 if the key is new, else 0."""
        return int(not internal_kv._internal_kv_put(key, value, overwrite, namespace=namespace))

    def internal_kv_del(self, key, del_by_prefix=False, namespace=None, timeout=None):
        return internal_kv._internal_kv_del(key, del_by_prefix=del_by_prefix, namespace=namespace)

    def internal_kv_keys(self, prefix, namespace=None, timeout=None):
        return internal_kv._internal_kv_list(prefix, namespace=namespace)

    def internal_kv_exists(self, key, namespace=None, timeout=None):
        return internal_kv._internal_kv_exists(key, namespace=namespace)

    def get_all_node_info(self, timeout=None):
        """{NodeID: GcsNodeInfo}."""
        gcs_pb2 = _messages("gcs_pb2")

        return {
            NodeID.from_hex(node["NodeID"]): gcs_pb2.GcsNodeInfo(
                node_id=bytes.fromhex(node["NodeID"]),
                node_manager_address=node["NodeManagerAddress"],
                node_manager_hostname=node["NodeManagerHostname"],
                node_name=node["NodeName"],
                state=gcs_pb2.GcsNodeInfo.ALIVE,
                resources_total=node["Resources"],
                labels=node["Labels"],
                is_head_node=True,
            )
            for node in nodes()
        }

    def get_all_resource_usage(self, timeout=None):
        """A GetAllResourceUsageReply: what each node has, and what of it is free."""
        gcs_pb2, gcs_service_pb2 = _messages("gcs_pb2"), _messages("gcs_service_pb2")
        batch = [
            gcs_pb2.ResourcesData(
                node_id=bytes.fromhex(node["NodeID"]),
                resources_total=node["Resources"],
                resources_available=available_resources(),
            )
            for node in nodes()
        ]
        return gcs_service_pb2.GetAllResourceUsageReply(resource_usage_data=gcs_pb2.ResourceUsageBatchData(batch=batch))

    def get_draining_nodes(self, timeout=None):
        """{hex id: deadline} of the nodes that are about to leave: none, this machine stays."""
        return {}


class MessagePackSerializer:
    """Ray's form of values for other languages: MessagePack, with what that lacks as an extension of Python's own."""

    _PYTHON = 101

    @classmethod
    def dumps(cls, o, python_serializer=None):
        """bytes. What MessagePack lacks goes through `python_serializer`; without one a TypeError is raised."""
        import msgpack

        def default(value):
            if python_serializer is None:
                return value
            return msgpack.ExtType(cls._PYTHON, msgpack.dumps(python_serializer(value)))

        try:
            return msgpack.dumps(o, default=default, use_bin_type=True, strict_types=True)
        except ValueError:  # it contains itself
            return msgpack.dumps(default(o), default=default, use_bin_type=True, strict_types=True)

    @classmethod
    def loads(cls, s, python_deserializer=None):
        """The value of bytes that `dumps` has made."""
        import msgpack

        def extension(code, data):
            if code == cls._PYTHON and python_deserializer is not None:
                return python_deserializer(msgpack.loads(data))
            raise ValueError(f"Unrecognized ext type id: {code}")

        return msgpack.loads(s, ext_hook=extension, raw=False, strict_map_key=False)


def node_labels_match_selector(node_labels, selector):
    """Whether a node with these labels ({key: value}) satisfies the selector ({key: "value", "!value", "in(a, b)" ...})."""
    return selected(selector, node_labels)


IMPLICIT_RESOURCE_PREFIX = "node:__internal_implicit_resource_"


def build_address(host, port):
    """ "host:port", an IPv6 host in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_address(address):
    """(host, port) of "host:port", None if there is no port."""
    host, colon, port = address.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        return None
    return host.strip("[]"), port


def is_ipv6(host):
    return ":" in host


def get_localhost_ip():
    return "127.0.0.1"


def get_all_interfaces_ip():
    return "0.0.0.0"


def is_localhost(host):
    return host in ("localhost", "127.0.0.1", "::1")


def node_ip_address_from_perspective(address=None):
    from rayshim.util.node_address import get_node_ip_address

    return get_node_ip_address()
