"""The cluster's state as Ray's libraries ask for it: one node, which neither grows nor drains."""

import rayshim
from rayshim.session import session


def actors(actor_id=None):
    """{actor id (hex): facts} of all actors; with an id, the facts of that one."""
    from rayshim.util.state import list_actors

    found = {actor.actor_id: {"ActorID": actor.actor_id, "State": actor.state, "Name": actor.name} for actor in list_actors()}
    return found if actor_id is None else found.get(actor_id, {})


def total_resources_per_node():
    """{node id (hex): {resource: amount}}."""
    return {node["NodeID"]: dict(node["Resources"]) for node in rayshim.nodes()}


def available_resources_per_node():
    """{node id (hex): {resource: amount}}."""
    return {node["NodeID"]: rayshim.available_resources() for node in rayshim.nodes()}


def node_ids():
    return [node["NodeID"] for node in rayshim.nodes()]


class _State:
    def get_draining_nodes(self):
        """{node id: deadline} of nodes that are about to leave: none ever is."""
        return {}

    def get_cluster_config(self):
        """The autoscaler's configuration: there is none."""
        return None

    def get_max_resources_from_cluster_config(self):
        return None

    def node_table(self):
        return rayshim.nodes()

    def cluster_resources(self):
        return rayshim.cluster_resources()

    def available_resources_per_node(self):
        return available_resources_per_node()

    def _check_connected(self):
        session.ensure()


state = _State()
