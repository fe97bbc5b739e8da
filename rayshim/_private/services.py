"""`ray._private.services`."""

from rayshim.util.node_address import get_node_instance_id, get_node_ip_address

__all__ = ["get_node_instance_id", "get_node_ip_address"]
