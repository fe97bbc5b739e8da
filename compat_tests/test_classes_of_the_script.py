"""The module of an actor class that the main script defines. Errors and names of calls give the name of the script's file, not `__main__`."""

import re

SCRIPT = """
    import ray

    @ray.remote
    class Counter:
        def add(self):
            raise ValueError("no number")

        def name(self):
            return ray.get_runtime_context().get_task_function_name()

    class Plain:
        def __init__(self):
            raise ValueError("not made")

    @ray.remote
    def in_a_task():
        counter = Counter.remote()
        return error_of(counter.add.remote()), ray.get(counter.name.remote())

    def error_of(ref):
        try:
            ray.get(ref)
        except Exception as error:
            return str(error).replace("\\n", " ")

    if __name__ == "__main__":
        INIT
        counter = Counter.remote()
        print(error_of(counter.add.remote()))
        print(error_of(ray.remote(Plain).remote().__ray_ready__.remote()))
        error, name = ray.get(in_a_task.remote())
        print(error)
        print(ray.get(counter.name.remote()), name)
"""


def test_errors_and_names_of_calls_give_the_scripts_file_as_the_module_of_its_classes(scripts):
    lines = [line for line in scripts.run(SCRIPT).splitlines() if "Exception raised in creation task" not in line]
    assert [re.search(r"repr=<(\S+) object at 0x", line)[1] for line in lines[:3]] == ["script.Counter", "script.Plain", "script.Counter"]
    assert lines[3] == "script.Counter.name script.Counter.name"
