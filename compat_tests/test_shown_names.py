"""What `dir` shows of the package: functions that are not Ray's would stand beside its own in completions.

In a program of its own: names of rayshim's that a program has used are shown from then on."""

import json

FUNCTIONS = """available_resources cancel client cluster_resources get get_actor get_gpu_ids get_runtime_context init is_initialized java_actor_class
java_function kill method nodes put remote shutdown timeline wait"""


def shown(scripts, what):
    scripts.write("script.py", f"""
        import inspect, json
        import ray
        print(json.dumps([name for name, _ in inspect.getmembers(ray, {what})]))
        """)
    return json.loads(scripts.finished(scripts.start("script.py")))


def test_the_functions_of_the_package_are_rays(scripts):
    assert set(shown(scripts, "inspect.isfunction")) == {"__getattr__", *FUNCTIONS.split()}


def test_the_strings_of_the_package_are_those_of_each_module(scripts):
    assert [name for name in shown(scripts, "lambda value: isinstance(value, str)") if not name.startswith("__")] == []
