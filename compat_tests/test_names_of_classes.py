"""The names under which a program that says `import ray` sees Ray's classes."""

import textwrap

import pytest

MAIN = """
    import pickle
    import ray
    import ray.actor, ray.cloudpickle, ray.exceptions, ray.remote_function, ray.runtime_context
    import ray.util.multiprocessing, ray.util.scheduling_strategies, ray.util.state.common
    from ray.util import ActorPool
    from ray.util.placement_group import PlacementGroup
    from ray.util.queue import Empty, Full, Queue

    @ray.remote
    class Counter:
        def fail(self):
            raise KeyError("lost")

        def name(self, value):
            return f"{type(value).__module__}.{type(value).__name__}"

    @ray.remote
    def f(value=None):
        return type(value), all(isinstance(error, ray.exceptions.RayError) for error in value or ()), Full

    @ray.remote
    def fail():
        raise ray.exceptions.GetTimeoutError("late")

    class Mine(ray.exceptions.RayError):
        pass

    def name(cls):
        return f"{cls.__module__}.{cls.__qualname__}"

    INIT
    counter = Counter.remote()
"""

LATE = "ray.exceptions.GetTimeoutError"


def printed(scripts, source):
    return scripts.run(textwrap.dedent(MAIN) + textwrap.dedent(source)).splitlines()


def test_classes_that_a_program_meets(scripts):
    assert printed(scripts, """
        for value in counter, counter.fail, f, f.remote(), ray.get_runtime_context():
            print(name(type(value)))
        for cls in (
            ActorPool, Queue, Empty, Full, PlacementGroup, ray.exceptions.RayError, ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy,
            ray.util.multiprocessing.Pool, ray.util.state.common.TaskState,
        ):
            print(name(cls))
        print(repr(ray.exceptions.GetTimeoutError))
    """) == """ray.actor.ActorHandle ray.actor.ActorMethod ray.remote_function.RemoteFunction ray.ObjectRef ray.runtime_context.RuntimeContext
        ray.util.actor_pool.ActorPool ray.util.queue.Queue ray.util.queue.Empty ray.util.queue.Full ray.util.placement_group.PlacementGroup
        ray.exceptions.RayError ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy ray.util.multiprocessing.pool.Pool
        ray.util.state.common.TaskState""".split() + ["<class 'ray.exceptions.GetTimeoutError'>"]


def test_classes_of_errors(scripts):
    assert printed(scripts, """
        for call in counter.fail, fail:
            try:
                ray.get(call.remote())
            except Exception as error:
                print(name(type(error)), name(type(error.cause)), *[name(base) for base in type(error).__bases__])
    """) == [
        "ray.exceptions.RayTaskError(KeyError) builtins.KeyError ray.exceptions.RayTaskError builtins.KeyError",
        f"ray.exceptions.RayTaskError(GetTimeoutError) {LATE} ray.exceptions.RayTaskError {LATE}"]


def test_an_error_that_ends_the_program_has_its_name_in_the_traceback(scripts):
    path = scripts.write("main.py", textwrap.dedent(MAIN) + "ray.get(counter.fail.remote())")
    driver = scripts.start(str(path))
    assert driver.finish() == 1
    assert "\nray.exceptions.RayTaskError(KeyError): " in driver.err


def test_classes_and_errors_are_the_same_after_a_way_to_workers_and_back(scripts):
    assert printed(scripts, """
        late = ray.exceptions.GetTimeoutError("late")
        print(ray.get([counter.name.remote(Full()), counter.name.remote(f)]))
        cls, is_error, full = ray.get(f.remote([late, Mine("c")]))
        print(cls is list, is_error, full is Full)
        again = ray.get(ray.put([late, Full, {"a": Mine("b")}]))
        print(type(again[0]) is type(late), again[0].args, again[1] is Full, type(again[2]["a"]) is Mine)
        copy = pickle.loads(pickle.dumps(late))
        print(type(copy) is type(late), copy.args)
    """) == [
        "['ray.util.queue.Full', 'ray.remote_function.RemoteFunction']",
        "True True True",
        "True ('late',) True True",
        "True ('late',)",
    ]


@pytest.mark.parametrize("dumps", ["pickle.dumps", "ray.cloudpickle.dumps"])
def test_pickles_have_the_names_of_ray(scripts, dumps):
    assert printed(scripts, f"""
        for value in ray.exceptions.GetTimeoutError, Full, ActorPool, ray.remote_function.RemoteFunction:
            data = {dumps}(value)
            print(b"rayshim" in data, b"ray." in data, pickle.loads(data) is value)
    """) == ["False True True"] * 4
