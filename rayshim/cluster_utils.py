"""`ray.cluster_utils.Cluster`: a session in a process of its own, which a program or a test starts and ends."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

from rayshim import api
from rayshim.cli import cluster
from rayshim.errors.user_code import at, calling
from rayshim.session import session

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AutoscalingCluster", "Cluster", "cluster_not_supported"]

_DEFAULTS = {"num_cpus": 1, "num_gpus": 0, "object_store_memory": 150 << 20}
_AS_HEAD = (
    "num_cpus",
    "num_gpus",
    "resources",
    "labels",
    "memory",
    "object_store_memory",
    "node_ip_address",
    "temp_dir",
)
_DIES = "from reactor import _core; _core.die_with_parent(15); "
_GRACE_SECONDS = 16


class Node:
    """The one node of a Cluster.

    Attributes:
        gcs_address: address (str) for `init(address=...)`.
        node_id: hex id (str), as in `ray.nodes()`.
        head: True.
        redis_address: None.
    """

    head = True
    redis_address = None

    def __init__(self, process: subprocess.Popen[bytes], facts: Mapping[str, Any]) -> None:
        self._process = process
        self.gcs_address: str = facts["address"]
        self.node_id: str = facts["node"]
        self.unique_id = self.node_id
        self.node_ip_address = self.gcs_address.rpartition(":")[0]

    @property
    def address(self) -> str:
        return self.gcs_address

    @property
    def address_info(self) -> dict[str, Any]:
        return {
            "node_ip_address": self.node_ip_address,
            "gcs_address": self.gcs_address,
            "address": self.gcs_address,
            "node_id": self.node_id,
        }

    def is_head(self) -> bool:
        """True: a Cluster has no other node."""
        return self.head

    def remaining_processes_alive(self) -> bool:
        """Whether the process of the session runs."""
        return self._process.poll() is None

    def any_processes_alive(self) -> bool:
        return self.remaining_processes_alive()

    def kill_all_processes(self, check_alive: bool = True, allow_graceful: bool = False, wait: bool = False) -> None:
        """Ends the session: all workers, actors and tasks in it. `allow_graceful=False` kills its process, and the kernel ends the others."""
        if self.remaining_processes_alive():
            self._process.send_signal(signal.SIGTERM if allow_graceful else signal.SIGKILL)
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Cluster:
    """A session that does not belong to one driver: drivers attach to it by `init(address=cluster.address)`.

    It has one node, the head; a second `add_node` raises NotImplementedError, as all of a session is on one machine.

    Arguments:
        initialize_head: add the head at once.
        connect: and attach this program to it.
        head_node_args: arguments of `add_node` for the head.
        shutdown_at_exit: end the session when this program ends, however it does.
    """

    def __init__(
        self,
        initialize_head: bool = False,
        connect: bool = False,
        head_node_args: dict[str, Any] | None = None,
        shutdown_at_exit: bool = True,
    ) -> None:
        self.head_node: Node | None = None
        self.worker_nodes: set[Node] = set()
        self.redis_address = None
        self.webui_url = None
        self.connected = False
        self._shutdown_at_exit = shutdown_at_exit
        self._pid = os.getpid()
        if not initialize_head and connect:
            raise RuntimeError(f"Cannot connect to uninitialized cluster. ({at('Cluster')}: set initialize_head=True)")
        if initialize_head:
            self.add_node(**(head_node_args or {}))
            if connect:
                self.connect()

    @property
    def gcs_address(self) -> str | None:
        return self.head_node and self.head_node.gcs_address

    @property
    def address(self) -> str | None:
        """The address (str) for `init`, None without a head."""
        return self.gcs_address

    def connect(self, namespace: str | None = None) -> None:
        """Attaches this program to the session."""
        if self.address is None or self.connected:
            found = "is connected already" if self.connected else "has no node yet: call add_node() first"
            raise AssertionError(f"connect() at {calling()}: this Cluster {found}")
        api.init(self.address, namespace=namespace, ignore_reinit_error=True)
        self.connected = True

    def add_node(self, wait: bool = True, **node_args: Any) -> Node:
        """Starts the session, as the cluster's head, and waits until it runs.

        Arguments: `num_cpus` (default: 1), `num_gpus` (0), `resources`, `labels`, `memory`, `object_store_memory` (150 MiB), `temp_dir`, `env_vars`,
        `_system_config`; others of Ray's have no meaning on one machine and are ignored.

        Raises NotImplementedError for a second node.
        """
        if self.head_node is not None:
            raise NotImplementedError(
                f"rayshim runs on one machine as one node, and cannot add a second one to a Cluster ({at('add_node')}). Give the resources of all nodes to "
                "the head, Cluster(head_node_args=...), or run this program on real Ray"
            )
        given = {**_DEFAULTS, **{name: value for name, value in node_args.items() if value is not None}}
        options = cluster.options_of_head(["--head", "--port=0"])
        options.update({name: given[name] for name in _AS_HEAD if name in given})
        options.update(system_config=given.get("_system_config") or {}, include_dashboard=False)
        variables = {name: str(value) for name, value in given.get("env_vars", {}).items()}
        process, facts = cluster.started(options, _DIES if self._shutdown_at_exit else "", variables)
        if "error" in facts:
            process.wait()
            raise RuntimeError(f"add_node() at {calling()}: {facts['error']}")
        self.head_node = Node(process, facts)
        if self._shutdown_at_exit:
            atexit.register(self._end)
        return self.head_node

    def remove_node(self, node: Node, allow_graceful: bool = True) -> None:
        """Ends the session. Raises ValueError, after a `shutdown`, if this program is attached to it."""
        attached = session.current
        if attached is not None and attached.settings.address == node.gcs_address:
            api.shutdown()
            raise ValueError(
                "Removing a node that is connected to this Ray client is not allowed because it will break the driver. You can use the get_other_node "
                f"utility to avoid removing a node that the Ray client is connected. ({at('remove_node')}: call ray.shutdown() first)"
            )
        node.kill_all_processes(allow_graceful=allow_graceful)
        if node is self.head_node:
            self.head_node = None

    def wait_for_nodes(self, timeout: float = 30) -> None:
        """Returns when the session runs. Raises TimeoutError if it has ended."""
        until = time.monotonic() + timeout
        while not all(node.remaining_processes_alive() for node in self.list_all_nodes()):
            if time.monotonic() > until:
                raise TimeoutError(f"Timed out while waiting for nodes to join. ({at('wait_for_nodes')})")
            time.sleep(0.1)

    def list_all_nodes(self) -> list[Node]:
        """The nodes that were added: the head, or none."""
        return [self.head_node] if self.head_node else []

    def remaining_processes_alive(self) -> bool:
        """Whether the session's process runs."""
        return all(node.remaining_processes_alive() for node in self.list_all_nodes())

    def shutdown(self) -> None:
        """Ends the session."""
        if self.head_node is not None:
            self.remove_node(self.head_node)

    def _end(self):
        if self.head_node is not None and self._pid == os.getpid():  # and not in a child that was forked
            self.head_node.kill_all_processes(allow_graceful=True)


class AutoscalingCluster:
    """Not provided: a cluster whose nodes come and go."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"rayshim runs on one machine as one node, and has no autoscaler ({at('AutoscalingCluster')}). Use Cluster with one node, or real Ray"
        )


cluster_not_supported = False
