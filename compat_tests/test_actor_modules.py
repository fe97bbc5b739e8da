"""An actor does not import the module in which its class is defined: the class is sent by value."""

import pytest

MODULE = """
import os
import ray

functions, handles = {}, []


@ray.remote
class Registry:
    def __init__(self):
        self.functions, handles = {}, []

    def register(self, name, function):
        self.functions[name] = function

    def names(self):
        return list(self.functions)


def register(function):
    functions[function.__name__] = function
    if ray.is_initialized():  # as it is while a worker imports this module
        registry = Registry.options(name="registry", get_if_exists=True).remote()
        handles.append(registry)
        ray.get(registry.register.remote(function.__name__, function.__name__))
    return function


@register
def one():
    pass
"""


@pytest.mark.needs_processes
def test_a_module_that_registers_with_its_own_actor_when_it_is_imported_does_not_wait_for_itself(scripts):
    scripts.write("registering.py", MODULE)
    scripts.write("program.py", """
    import ray
    import registering

    ray.init(num_cpus=2)
    registering.register(len)
    registry = ray.get_actor("registry")
    print(ray.get(registry.names.remote()))

    @ray.remote
    def in_a_task():
        return sorted(registering.functions), ray.get(ray.get_actor("registry").names.remote())

    print(ray.get(in_a_task.remote()))
    """)
    assert scripts.finished(scripts.start("program.py")) == "['len']\n(['one'], ['len', 'one'])\n"


def test_a_method_of_a_decorated_class_is_bound(ray):
    @ray.remote
    class A:
        kind = "a"

        def f(self, x):
            return x

        @staticmethod
        def g(x):
            return 2 * x

        @classmethod
        def h(cls):
            return cls.kind

    A.f.__func__.mark = 1
    assert A.f.mark == 1
    assert A.f.__self__ is A
    assert (A.kind, A.g(2), A.h()) == ("a", 4, "a")
