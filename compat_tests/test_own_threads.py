"""The runtime context in threads that a program's own code has started in an actor."""

import asyncio
import threading

import pytest

pytestmark = pytest.mark.needs_processes


def facts(ray):
    context = ray.get_runtime_context()
    return context.get_task_id(), context.get_task_name(), context.get_task_function_name(), context.get_actor_id(), context.get_job_id()


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def check(ray, of_call, of_thread):
    id_of_call, _, _, *others = of_call
    id_of_thread, name, function_name, *others_of_thread = of_thread
    assert others == others_of_thread
    assert len(id_of_thread) == len(id_of_call) and id_of_thread != id_of_call
    assert name == function_name == ""


def test_a_thread_of_a_threaded_actor_runs_no_call(ray):
    @ray.remote(max_concurrency=2)
    class Threaded:
        def ask(self):
            return facts(ray), in_thread(lambda: (facts(ray), facts(ray)))

    of_call, (first, second) = ray.get(Threaded.remote().ask.remote())
    check(ray, of_call, first)
    assert first == second


def test_a_thread_of_an_async_actor_runs_no_call(ray):
    @ray.remote
    class Async:
        async def ask(self):
            return facts(ray), in_thread(lambda: facts(ray)), await asyncio.get_running_loop().run_in_executor(None, facts, ray)

        async def ask_beside(self):
            return facts(ray), await asyncio.to_thread(facts, ray)

    actor = Async.remote()
    of_call, of_thread, of_executor = ray.get(actor.ask.remote())
    check(ray, of_call, of_thread)
    check(ray, of_call, of_executor)
    of_call, beside = ray.get(actor.ask_beside.remote())  # to_thread takes the context of the coroutine along
    assert of_call == beside
