"""The one machine, as Ray describes a cluster."""

import os

from reactor import _core

from rayshim import session
from rayshim.sites import at


def _amounts(which):
    session.ensure()
    amounts = {name: pair[which] / _core.UNIT for name, pair in _core.resources().items()}
    if which == 1:
        amounts["object_store_memory"] -= _core.large_values()  # as in Ray, small ones do not count
    return amounts


def cluster_resources():
    """{resource: amount} that the machine offers."""
    return {name: amount for name, amount in _amounts(0).items() if amount}


def available_resources():
    """{resource: amount} that is free now; what is used up is left out."""
    return {name: amount for name, amount in _amounts(1).items() if amount > 0}


def nodes():
    """A list with this machine's entry, with the keys that Ray gives. RaySystemError without a session."""
    s = session.current
    if s is None:
        from rayshim.exceptions import RaySystemError

        raise RaySystemError("Ray has not been started yet. Trying to use state API before ray.init() has been called. "
                             f"({at('nodes')}: call init() first)")
    return [
        {
            "NodeID": s.settings["node"],
            "Alive": True,
            "NodeManagerAddress": "127.0.0.1",
            "NodeManagerHostname": os.uname().nodename,
            "NodeManagerPort": 0,
            "ObjectManagerPort": 0,
            "ObjectStoreSocketName": "",
            "RayletSocketName": "",
            "MetricsExportPort": 0,
            "NodeName": "127.0.0.1",
            "RuntimeEnvAgentPort": 0,
            "DeathReason": 0,
            "DeathReasonMessage": "",
            "alive": True,
            "Resources": cluster_resources(),
            "Labels": dict(s.settings["labels"]),
        }
    ]


class RayContext:
    """What `init` returns: facts of the session, by attribute or key; as a context manager it shuts down at the end."""

    def __init__(self, s):
        import sys

        self.dashboard_url = ""
        self.python_version = "{}.{}.{}".format(*sys.version_info[:3])
        self.ray_version = sys.modules["rayshim"].__version__
        self.ray_commit = ""
        self.address_info = {
            "node_ip_address": "127.0.0.1",
            "redis_address": None,
            "object_store_address": "",
            "raylet_socket_name": "",
            "webui_url": "",
            "session_dir": "",
            "metrics_export_port": 0,
            "gcs_address": "local",
            "address": "local",
            "dashboard_agent_listen_port": 0,
            "node_id": s.settings["node"],
        }

    def __getitem__(self, key):
        return self.address_info[key] if key in self.address_info else getattr(self, key)

    def __contains__(self, key):
        return key in self.address_info

    def __iter__(self):
        return iter(self.address_info)

    def __len__(self):
        return len(self.address_info)

    def keys(self):
        return self.address_info.keys()

    def items(self):
        return self.address_info.items()

    def values(self):
        return self.address_info.values()

    def get(self, key, default=None):
        return self.address_info.get(key, default)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.disconnect()

    def disconnect(self):
        from rayshim.api import shutdown

        shutdown()

    def __repr__(self):
        return f"RayContext(placement={session.current.settings['placement']!r})" if session.current else "RayContext(ended)"
