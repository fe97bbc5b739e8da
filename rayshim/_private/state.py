"""`ray._private.state`: what there is in the session, as dicts."""

from rayshim.api.cluster import available_resources, cluster_resources, nodes
from rayshim.api.observe import timeline
from rayshim.errors.address import get_node_ip_address
from rayshim.session import session
from rayshim.util.placement_group import PlacementGroup, placement_group_table
from rayshim.util.state import sources


def actors(actor_id=None, job_id=None, actor_state_name=None):
    """{hex id: dict} of the actors, the last dead ones included; with `actor_id` that one's dict, {} of an unknown one."""
    session.ensure()
    found = {record.actor_id: _actor(record) for record in sources.actors()}
    if actor_id is not None:
        return found.get(actor_id, {})
    return {key: facts for key, facts in found.items() if actor_state_name in (None, facts["State"])}


def _actor(record):
    return {
        "ActorID": record.actor_id,
        "ActorClassName": record.class_name,
        "IsDetached": record.is_detached,
        "Name": record.name,
        "JobID": record.job_id,
        "Address": {"IPAddress": get_node_ip_address(), "Port": 0, "NodeID": record.node_id},
        "OwnerAddress": {"IPAddress": get_node_ip_address(), "Port": 0, "NodeID": record.node_id},
        "State": record.state,
        "NumRestarts": record.num_restarts,
        "Pid": record.pid,
    }


def jobs():
    """The programs in the session, as dicts: this one."""
    session.ensure()
    return [
        {
            "JobID": record.job_id,
            "DriverIPAddress": record.driver_info.node_ip_address,
            "DriverPid": int(record.driver_info.pid),
            "Timestamp": record.start_time,
            "StartTime": record.start_time,
            "EndTime": record.end_time,
            "IsDead": False,
            "Entrypoint": record.entrypoint,
        }
        for record in sources.jobs()
    ]


def available_resources_per_node():
    """{hex id of the node: {resource: amount} that is free}."""
    return {node["NodeID"]: available_resources() for node in nodes()}


def total_resources_per_node():
    """{hex id of the node: {resource: amount} that it has}."""
    return {node["NodeID"]: cluster_resources() for node in nodes()}


def object_transfer_timeline(filename=None):
    """Transfers of objects between machines: none, with one machine. A list, or None when written to a file as JSON."""
    if filename is None:
        return []
    import json

    with open(filename, "w") as file:
        json.dump([], file)


class GlobalState:
    """The same as methods of one object, `state`."""

    actor_table = staticmethod(
        lambda actor_id=None, job_id=None, actor_state_name=None: actors(actor_id, job_id, actor_state_name)
    )
    available_resources = staticmethod(available_resources)
    available_resources_per_node = staticmethod(available_resources_per_node)
    cluster_resources = staticmethod(cluster_resources)
    job_table = staticmethod(jobs)
    node_table = staticmethod(nodes)
    total_resources_per_node = staticmethod(total_resources_per_node)

    @staticmethod
    def get_draining_nodes():
        """{hex id of a node that is about to leave: deadline}: the one machine never is."""
        return {}

    @staticmethod
    def get_cluster_config():
        """The autoscaler's configuration: there is none."""
        return

    get_max_resources_from_cluster_config = get_cluster_config

    @staticmethod
    def placement_group_table(placement_group_id=None):
        """See `ray.util.placement_group_table`; takes the group's id."""
        return placement_group_table(placement_group_id and PlacementGroup(placement_group_id))


state = GlobalState()
__all__ = [
    "GlobalState",
    "actors",
    "available_resources",
    "available_resources_per_node",
    "cluster_resources",
    "jobs",
    "nodes",
    "object_transfer_timeline",
    "state",
    "timeline",
    "total_resources_per_node",
]
