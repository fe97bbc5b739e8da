"""The resources that a node has by itself, and what of placement groups is told among resources."""

import pytest

from compat_tests.processes import wait_until


def test_a_task_asks_for_the_node_with_an_address(ray):
    @ray.remote(num_cpus=0)
    def where():
        return ray.util.get_node_ip_address()

    address = ray.util.get_node_ip_address()
    assert ray.get(where.options(resources={f"node:{address}": 0.01}).remote(), timeout=60) == address
    assert ray.get(where.options(resources={"node:__internal_head__": 0.01}).remote(), timeout=60) == address


def test_a_node_tells_the_address_that_its_programs_see(ray):
    address = ray.util.get_node_ip_address()
    [node] = ray.nodes()
    assert node["NodeManagerAddress"] == address
    assert node["Resources"][f"node:{address}"] == ray.cluster_resources()[f"node:{address}"] == 1.0


def test_an_error_tells_the_address_of_its_node(ray):
    @ray.remote
    def fail():
        raise KeyError("here")

    with pytest.raises(KeyError) as caught:
        ray.get(fail.remote())
    assert f"ip={ray.util.get_node_ip_address()}" in str(caught.value)


def test_resources_of_a_placement_group_are_not_told_under_names_of_their_own(ray):
    group = ray.util.placement_group([{"CPU": 2, "lamp": 1}])
    assert ray.get(group.ready()) == group
    wait_until(lambda: ray.available_resources().get("CPU") == 2, 20, "the group's CPUs are taken")
    assert ray.available_resources()["lamp"] == 1
    names = {*ray.cluster_resources(), *ray.available_resources(), *ray.nodes()[0]["Resources"]}
    assert not [name for name in names if "_group_" in name]
    ray.util.remove_placement_group(group)
    wait_until(lambda: ray.available_resources().get("CPU") == 4, 20, "the CPUs are back")


def test_resources_are_not_changed_in_a_running_session(ray):
    import importlib

    with pytest.raises(DeprecationWarning, match="Dynamic custom resources are deprecated"):
        importlib.import_module(f"{ray.__name__}.experimental").set_resource("lamp", 5)
