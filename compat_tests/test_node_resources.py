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


def _of_groups(amounts):
    return {name: amount for name, amount in amounts.items() if "_group_" in name}


def test_what_a_placement_group_has_reserved_is_told_under_names_of_its_own_but_not_of_the_node(ray):
    group = ray.util.placement_group([{"CPU": 2, "lamp": 1}])
    assert ray.get(group.ready()) == group
    key = group.id.hex()
    amounts = {"CPU": 2.0, "lamp": 1.0, "bundle": 1000.0}
    expected = {f"{kind}_group_{place}{key}": n for kind, n in amounts.items() for place in ("", "0_")}
    wait_until(lambda: _of_groups(ray.available_resources()) == expected, 20, "the group's resources are told")
    assert _of_groups(ray.cluster_resources()) == expected
    assert (ray.cluster_resources()["CPU"], ray.cluster_resources()["lamp"]) == (4, 2)
    assert (ray.available_resources()["CPU"], ray.available_resources()["lamp"]) == (2, 1)
    assert _of_groups(ray.nodes()[0]["Resources"]) == {}
    ray.util.remove_placement_group(group)
    wait_until(lambda: ray.available_resources().get("CPU") == 4, 20, "the CPUs are back")
    wait_until(lambda: _of_groups(ray.cluster_resources()) == {}, 20, "the names are gone")


@pytest.mark.needs_concurrency
def test_what_runs_in_a_bundle_takes_of_the_resources_of_its_group(ray):
    group = ray.util.placement_group([{"CPU": 2}])
    ray.get(group.ready())

    @ray.remote(num_cpus=1)
    class Actor:
        def ping(self):
            return "here"

    strategies = ray.util.scheduling_strategies
    strategy = strategies.PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=0)
    actor = Actor.options(scheduling_strategy=strategy).remote()
    assert ray.get(actor.ping.remote(), timeout=60) == "here"
    name = f"CPU_group_{group.id.hex()}"
    wait_until(lambda: ray.available_resources().get(name) == 1, 20, "one CPU of the group is taken")
    assert ray.available_resources()["CPU"] == 2
    ray.kill(actor)
    wait_until(lambda: ray.available_resources().get(name) == 2, 20, "the CPU is back in the group")
    ray.util.remove_placement_group(group)


def test_resources_are_not_changed_in_a_running_session(ray):
    import importlib

    with pytest.raises(DeprecationWarning, match="Dynamic custom resources are deprecated"):
        importlib.import_module(f"{ray.__name__}.experimental").set_resource("lamp", 5)
