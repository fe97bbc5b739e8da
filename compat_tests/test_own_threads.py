"""The runtime context in threads that a program's own code has started in an actor."""

import asyncio
import threading
import time

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


def test_a_thread_of_a_task_runs_no_call(ray):
    @ray.remote
    def ask():
        return facts(ray), in_thread(lambda: (facts(ray), facts(ray))), in_thread(lambda: facts(ray))

    of_call, (first, second), other = ray.get(ask.remote())
    check(ray, of_call, first)
    assert first == second
    assert other[0] != first[0]


def test_a_thread_of_a_plain_actor_runs_no_call(ray):
    @ray.remote
    class Plain:
        def __init__(self):
            self.of_constructor = self.ask()

        def constructed(self):
            return self.of_constructor

        def ask(self):
            return facts(ray), in_thread(lambda: facts(ray))

        def stream(self):
            yield facts(ray), in_thread(lambda: facts(ray))

    actor = Plain.remote()
    check(ray, *ray.get(actor.ask.remote()))
    check(ray, *ray.get(actor.constructed.remote()))
    check(ray, *ray.get(next(actor.stream.remote())))


def test_a_thread_belongs_to_the_actor_that_started_it_while_others_run(ray):
    @ray.remote
    class Asks:
        def start(self):
            self.seen, self.stop = set(), threading.Event()
            self.thread = threading.Thread(target=self.watch)
            self.thread.start()

        def watch(self):
            own = threading.Thread(target=self.look)  # started in its turn by the thread
            own.start()
            while not self.stop.wait(0.0005):
                self.look()
            own.join()

        def look(self):
            self.seen.add((*facts(ray), ray.get_runtime_context().current_actor.name.remote()))

        def name(self):
            return "Asks"

        def end(self):
            self.stop.set()
            self.thread.join()
            return facts(ray), {seen[1:-1] for seen in self.seen}, {ref for *_, ref in self.seen}

    @ray.remote
    class Busy:
        def work(self):
            return sum(x * x for x in range(20_000))

    actor, others = Asks.remote(), [Busy.remote() for _ in range(4)]
    ray.get(actor.start.remote())
    for _ in range(20):
        ray.get([other.work.remote() for other in others])
    (_, _, _, *own), seen, names = ray.get(actor.end.remote())
    assert seen == {("", "", *own)}
    assert set(ray.get(list(names))) == {"Asks"}


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


@pytest.mark.parametrize("idle", [True, False])
def test_exit_actor_in_a_thread_of_the_actors_own_ends_it_after_its_running_call(ray, idle):
    @ray.remote
    class Owner:
        def begin(self, idle):
            self.go = threading.Event()
            thread = threading.Thread(target=self.leave)
            thread.start()
            if not idle:
                self.go.set()
                thread.join()
            return "begun"

        def leave(self):
            self.go.wait()
            time.sleep(0.1)  # the call of `let` has ended
            ray.actor.exit_actor()

        def let(self):
            self.go.set()

        def here(self):
            time.sleep(0.05)
            return True

        def work(self):
            return sum(x * x for x in range(20_000))

    actor, others = Owner.remote(), [Owner.remote() for _ in range(4)]
    assert ray.get(actor.begin.remote(idle)) == "begun"
    if idle:
        ray.get(actor.let.remote())
    with pytest.raises(ray.exceptions.ActorDiedError, match="INTENDED_USER_EXIT"):
        while True:
            ray.get([other.work.remote() for other in others])
            ray.get(actor.here.remote(), timeout=30)
    assert ray.get([other.here.remote() for other in others]) == [True] * 4
