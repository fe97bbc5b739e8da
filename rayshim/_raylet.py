"""`ray._raylet`: classes that programs import from there because Ray has no public module for them."""

# ruff: noqa: F401

from reactor import _core

from rayshim.calls.generators import DynamicObjectRefGenerator, ObjectRefGenerator, StreamingGeneratorStats  # noqa: F401
from rayshim.calls.refs import ObjectRef  # noqa: F401
from rayshim.experimental import internal_kv
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

RESOURCE_UNIT_SCALING = _core.UNIT
RAY_NODE_ID_KEY = "ray.io/node-id"
RAY_INTERNAL_NAMESPACE_PREFIX = "_ray_internal_"
GRPC_STATUS_CODE_RESOURCE_EXHAUSTED = 8
GRPC_STATUS_CODE_UNAVAILABLE = 14
GRPC_STATUS_CODE_DEADLINE_EXCEEDED = 4
GRPC_STATUS_CODE_UNKNOWN = 2
GRPC_STATUS_CODE_UNIMPLEMENTED = 12


class GcsClient:
    """Ray's client of its cluster's head, as far as it keeps keys and values: they are the session's."""

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
