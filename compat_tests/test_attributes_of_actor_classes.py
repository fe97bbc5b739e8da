"""Attributes of actor classes that programs and frameworks read."""

import inspect


def test_an_actor_class_tells_its_options(ray):
    @ray.remote(num_cpus=0.5, resources={"x": 1})
    class WithOptions:
        pass

    @ray.remote
    class Plain:
        pass

    assert WithOptions._default_options == {"num_cpus": 0.5, "resources": {"x": 1}} and Plain._default_options == {}
    told = WithOptions.__ray_metadata__
    assert (told.num_cpus, told.resources, told.max_restarts, told.max_task_retries, told.memory) == (0.5, {"x": 1}, 0, 0, None)
    assert Plain.__ray_metadata__.num_cpus is None and Plain.__ray_metadata__ is Plain.__ray_metadata__


def test_an_actor_class_tells_its_methods(ray):
    @ray.remote
    class Counter:
        def __init__(self, start, step=1):
            pass

        def plain(self, x, *, y=2):
            pass

        @ray.method(num_returns=2, max_task_retries=3)
        def two(self):
            pass

        def stream(self):
            yield 1

        @staticmethod
        def static(a):
            pass

        @classmethod
        def of_class(cls, b):
            pass

    methods = Counter.__ray_metadata__.method_meta
    own = ("__init__", "plain", "two", "stream", "static", "of_class")
    assert set(own) < set(methods.methods) and {"__ray_ready__", "__ray_call__", "__ray_terminate__"} < set(methods.methods)
    assert {name: [p.name for p in methods.signatures[name] if p.name != "_ray_trace_ctx"] for name in own} == {
        "__init__": ["start", "step"], "plain": ["x", "y"], "two": [], "stream": [], "static": ["a"], "of_class": ["b"]
    }
    assert methods.signatures["plain"][1].kind is inspect.Parameter.KEYWORD_ONLY and methods.signatures["plain"][1].default == 2
    assert methods.num_returns["two"] == 2 and methods.num_returns["plain"] is None and methods.max_task_retries == {"two": 3}
    assert [name for name, found in methods.method_is_generator.items() if found] == ["stream"]
    assert not methods.has_tensor_transport_methods and methods.concurrency_group_for_methods == {}


def test_the_modified_class_of_an_actor_class_is_a_subclass_of_the_programs(ray):
    class Plain:
        """Text."""

        def f(self):
            return 3

    found = ray.remote(Plain).__ray_metadata__.modified_class
    assert found is not Plain and found.__mro__[1] is Plain and found.__ray_actor_class__ is Plain
    assert (found.__name__, found.__module__) == ("Plain", __name__)
    assert found().f() == 3 and found().__ray_ready__() and found().__ray_call__(lambda self, x: self.f() + x, 1) == 4

    @ray.remote
    class Derived(found):
        def g(self):
            return self.f() + 1

    actor = Derived.remote()
    assert ray.get([actor.f.remote(), actor.g.remote(), actor.__ray_call__.remote(lambda self: self.g())]) == [3, 4, 4]
    ray.get(actor.__ray_ready__.remote())
