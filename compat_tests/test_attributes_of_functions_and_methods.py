"""Attributes of remote functions and of actors' methods that programs read, and names that are refused."""

import pytest


def test_a_remote_function_tells_its_options(ray):
    @ray.remote(num_cpus=0.5, max_retries=1)
    def function():
        return 1

    assert function._default_options == {"num_cpus": 0.5, "max_retries": 1}
    assert (function._num_cpus, function._num_gpus, function._max_retries, function._max_calls) == (0.5, None, 1, 0)
    assert function._retry_exceptions is False and function._runtime_env is None and function._resources is None
    assert not hasattr(function, "_of_no_option")


def test_a_method_tells_its_name_its_results_and_its_actor(ray):
    @ray.remote
    class Actor:
        def plain(self):
            return 1

        @ray.method(num_returns=2)
        def two(self):
            return 1, 2

        def yields(self):
            yield 1

    actor = Actor.remote()
    assert (actor.plain._method_name, actor.plain._num_returns, actor.two._num_returns) == ("plain", 1, 2)
    assert actor.yields._num_returns == "streaming" and actor.yields._is_generator and not actor.plain._is_generator
    assert actor.plain._actor == actor


@pytest.mark.parametrize("resources", [{1: 1}, {"lamp": "1"}, {"lamp": -1}, {"CPU": 1}])
def test_wrong_resources_are_refused(ray, resources):
    @ray.remote
    def function():
        return 1

    with pytest.raises((ValueError, TypeError, AttributeError)):
        function.options(resources=resources).remote()


@pytest.mark.parametrize("arguments, error", [
    ({"_unknown": 1}, RuntimeError),
    ({"unknown": 1}, RuntimeError),
    ({"resources": {"memory": 1}}, AssertionError),
    ({"resources": {"object_store_memory": 1}}, AssertionError),
    ({"resources": {"GPU": 1}}, AssertionError),
], ids=str)
def test_init_refuses_names_that_it_does_not_have(backend, bare_ray, arguments, error):
    with pytest.raises(error):
        backend.init(**arguments)
    assert not bare_ray.is_initialized()


def test_a_resource_of_amount_0_is_not_in_the_table_of_groups(ray):
    group = ray.util.placement_group([{"CPU": 1, "GPU": 0}])
    ray.get(group.ready())
    assert group.bundle_specs == [{"CPU": 1, "GPU": 0}]
    assert ray.util.placement_group_table(group)["bundles"] == {0: {"CPU": 1}}
    ray.util.remove_placement_group(group)


def test_all_of_util_can_be_imported(ray):
    names = set(ray.util.__all__)
    assert {"ActorPool", "accelerators", "collective", "iter", "pdb", "placement_group", "ray_debugpy"} <= names
    assert "PublicAPI" not in names and ray.util.PublicAPI
