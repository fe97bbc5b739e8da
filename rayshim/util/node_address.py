"""The network address of this machine."""

from rayshim.errors.address import get_node_instance_id, get_node_ip_address

__all__ = ["get_node_instance_id", "get_node_ip_address"]
