"""A task whose function needs a module that the worker does not have: the error has the function's name."""

import pytest

pytestmark = pytest.mark.needs_processes

SOURCE = """
    import sys
    import types
    import ray

    INIT
    module = sys.modules["only_here"] = types.ModuleType("only_here")
    exec("def missing(): return 1", module.__dict__)
    missing = module.missing

    @ray.remote
    def good():
        return 1

    def uses():
        return missing()

    for function in (ray.remote(missing), ray.remote(num_cpus=0.5)(missing), ray.remote(uses)):
        ray.get(good.remote())
        try:
            ray.get(function.remote())
        except RuntimeError as error:
            print(str(error).partition("()")[0].partition("ray::")[2])
            print("cannot be found from sys.path [" in str(error), "No module named 'only_here'" in str(error))
"""


def test_the_error_has_the_name_of_the_function_and_where_it_was_looked_for(scripts):
    assert scripts.run(SOURCE, num_cpus=1).splitlines() == ["missing", "True True"] * 2 + ["uses", "True True"]
