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

UNLOADABLE = """
    import ray

    INIT

    def refuse():
        raise ValueError("cannot be loaded")

    class Unloadable:
        def __reduce__(self):
            return refuse, ()

    unloadable = Unloadable()

    @ray.remote(max_retries=0)
    def plain():
        return unloadable

    @ray.remote(max_retries=0)
    def generator():
        yield unloadable

    def name(ref):
        try:
            ray.get(ref)
        except RuntimeError as error:
            return str(error).partition("()")[0].rpartition("ray::")[2]

    print(name(plain.remote()), name(plain.options(name="named").remote()))
    values = generator.options(name="named").remote()
    print([name(ref) for ref in generator.remote()], [name(ref) for ref in values])
    print([name(ref) for ref in generator.options(num_returns=2, name="two").remote()])
    del values
    ray.get(ray.put(1))
"""


def test_a_function_that_cannot_be_loaded_is_told_by_the_name_of_its_call(scripts):
    assert scripts.run(UNLOADABLE, num_cpus=1).splitlines() == ["plain named", "['generator'] ['named']", "['two', 'two']"]


@pytest.mark.rayshim_only
def test_a_generator_that_cannot_be_loaded_is_told_to_its_caller_alone(scripts):
    scripts.write("script.py", UNLOADABLE, num_cpus=1)
    driver = scripts.start("script.py")
    scripts.finished(driver)
    assert "Unhandled error" not in driver.err
