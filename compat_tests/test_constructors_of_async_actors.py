"""The runtime context in the constructor of an async actor, and in the tasks that it starts in the actor's loop."""

import asyncio

import pytest


def names(ray):
    context = ray.get_runtime_context()
    return context.get_task_name(), context.get_task_function_name().split(".", 1)[1], context.get_actor_name()


@pytest.fixture
def kept(ray):
    @ray.remote
    class Kept:
        def __init__(self):
            self.constructed = names(ray), ray.get_runtime_context().get_task_id()
            self.started = asyncio.get_running_loop().create_task(self.later())

        async def later(self):
            await asyncio.sleep(0.1)
            return names(ray), ray.get_runtime_context().get_task_id()

        async def found(self):
            return self.constructed, names(ray)

        async def found_later(self):
            return await self.started

    return Kept


@pytest.mark.parametrize("options, prefix, name", [({}, "", ""), ({"name": "keeper"}, "keeper:", "keeper")], ids=["plain", "named"])
def test_it_tells_of_the_constructor(ray, kept, options, prefix, name):
    (constructed, task_id), called = ray.get(kept.options(**options).remote().found.remote())
    assert constructed[0] == f"{prefix}Kept.__init__" and constructed[1].endswith("Kept.__init__") and constructed[2] == name
    assert len(task_id) == 48
    assert called[0] == "Kept.found"


def test_a_task_of_the_loop_that_the_constructor_has_started_is_the_constructors(ray, kept, backend):
    if backend.is_serial:
        pytest.skip("inline runs such a task within the call that waits for it")
    actor = kept.remote()
    (constructed, _) = ray.get(actor.found.remote())
    assert ray.get(actor.found_later.remote()) == constructed
