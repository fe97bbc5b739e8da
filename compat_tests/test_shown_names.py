"""What `dir` shows of the package: functions that are not Ray's would stand beside its own in completions."""

import inspect

FUNCTIONS = """available_resources cancel client cluster_resources get get_actor get_gpu_ids get_runtime_context init is_initialized java_actor_class
java_function kill method nodes put remote shutdown timeline wait"""


def test_the_functions_of_the_package_are_rays(bare_ray):
    shown = {name for name, _ in inspect.getmembers(bare_ray, inspect.isfunction)}
    assert shown == {"__getattr__", *FUNCTIONS.split()}


def test_the_strings_of_the_package_are_those_of_each_module(bare_ray):
    assert [name for name, _ in inspect.getmembers(bare_ray, lambda value: isinstance(value, str)) if not name.startswith("__")] == []
