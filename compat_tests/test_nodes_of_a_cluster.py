"""What a node of `ray.cluster_utils.Cluster` tells of itself: tests of other projects choose nodes by it."""

import shutil
import tempfile
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="ray.cluster_utils is a module of Ray's package")


@pytest.fixture
def own_directory(monkeypatch):
    """Sessions of this test are found by it alone."""
    directory = tempfile.mkdtemp(prefix="n", dir="/tmp")  # short: real Ray has sockets there
    monkeypatch.setenv("RAY_TMPDIR", directory)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    yield
    shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.needs_own_processes
def test_the_first_node_of_a_cluster_is_its_head(scripts, own_directory):
    assert scripts.run("""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    [node] = cluster.list_all_nodes()
    print(node.is_head(), node.head, node.redis_address)
    print([each.node_id for each in cluster.list_all_nodes() if not each.is_head()])
    cluster.shutdown()
    """) == "True True None\n[]\n"
