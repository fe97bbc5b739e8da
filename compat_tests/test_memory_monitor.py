"""The machine's memory runs out: a worker is ended before the kernel ends a process of its own choice, and its call is run again, or raises
OutOfMemoryError. The limit is put a little above what is in use when a script begins."""

import pytest

pytestmark = pytest.mark.needs_processes
tasks = pytest.mark.needs_own_processes  # packed placement has the same workers for tasks

HEAD = """
        import os, sys, time
        from reactor.runtime.supervisor.out_of_memory import usage

        used, total = usage()
        os.environ.update(RAY_memory_usage_threshold=str((used + (1500 << 20)) / total), RAY_task_oom_retry_delay_base_ms="100",
                          RAY_task_oom_retries=RETRIES)
        import numpy as np
        import ray
        INIT

        def eat(times=10**6, counter="counter"):
            \"\"\"Takes up to 8 GB, if it was not called `times` times before.\"\"\"
            with open(counter, "a") as file:
                file.write("x")
            if os.path.getsize(counter) > times:
                return "enough"
            taken = []
            for _ in range(40):
                taken.append(np.ones(200 << 17))
                time.sleep(0.03)
            time.sleep(10)
            return "all"

        def runs(counter="counter"):
            number = os.path.getsize(counter)
            os.remove(counter)
            return number

        def say(*values):
            print(">", *values)

        def outcome(ref):
            try:
                return ray.get(ref, timeout=60)
            except ray.exceptions.RayError as error:
                return type(error).__name__

        @ray.remote
        class Actor:
            def __init__(self, times=0):
                if times:
                    eat(times)

            def eat(self, times=10**6):
                return eat(times)

            def number(self):
                return 1
"""


def source(body, retries="-1"):
    return HEAD.replace("RETRIES", repr(retries)) + body


def said(output):
    """What the script has said; on Ray, messages of the raylet stand between."""
    return [line[2:] for line in output.splitlines() if line.startswith("> ")]


TASKS = """
        task = ray.remote(eat)
        say(outcome(task.options(max_retries=0).remote()), runs())
        say(outcome(task.options(max_retries=1).remote(2)), runs())
        ref = task.options(max_retries=0).remote()
        try:
            ray.get(ref, timeout=60)
        except ray.exceptions.OutOfMemoryError as error:
            say("low on memory" in str(error), "Set max_retries" in str(error), "RAY_memory_usage_threshold" in error.message)
"""


@tasks
def test_a_task_is_run_again_without_end_if_it_has_any_retries(scripts):
    assert said(scripts.run(source(TASKS))) == ["OutOfMemoryError 1", "enough 3", "True True True"]


FEW = """
        task = ray.remote(eat)
        say(outcome(task.options(max_retries=5).remote()), runs())

        @ray.remote(max_retries=1)
        def values():
            yield 1
            yield eat(1)

        stream = values.remote()
        say(outcome(next(stream)), outcome(next(stream)), runs())
"""


@tasks
def test_the_number_of_these_retries_can_be_limited(scripts):
    assert said(scripts.run(source(FEW, retries="1"))) == ["OutOfMemoryError 2", "1 enough 2"]


ACTORS = """
        plain = Actor.remote()
        say(outcome(plain.eat.remote()), outcome(plain.number.remote()))
        os.remove("counter")
        unborn = Actor.remote(times=10**6)
        say(outcome(unborn.number.remote()))
        os.remove("counter")
        restarted = Actor.options(max_restarts=1).remote()
        eaten = outcome(restarted.eat.remote())
        while (number := outcome(restarted.number.remote())) == "ActorUnavailableError":
            time.sleep(0.1)
        say(eaten, number, runs())
        retried = Actor.options(max_restarts=1, max_task_retries=1).remote()
        say(outcome(retried.eat.remote(1)), outcome(retried.number.remote()), runs())
"""


def test_an_actor_ends_or_is_restarted(scripts):
    assert said(scripts.run(source(ACTORS))) == [
        "OutOfMemoryError OutOfMemoryError", "OutOfMemoryError", "ActorUnavailableError 1 1", "enough 1 2"]


BESIDE = """
        @ray.remote(max_retries=1)
        def hold():
            kept = np.ones(800 << 17)
            open("holds", "w").close()
            while not os.path.exists("go"):
                time.sleep(0.01)
            return len(kept)

        first = hold.remote()
        while not os.path.exists("holds"):
            time.sleep(0.01)
        say(outcome(ray.remote(max_retries=1)(eat).remote(1)), runs())
        open("go", "w").close()
        say(outcome(first) == 800 << 17)
"""


@tasks
def test_a_later_call_makes_room_for_those_before_it(scripts):
    assert said(scripts.run(source(BESIDE), num_cpus=2)) == ["enough 2", "True"]


MUCH = """
        @ray.remote(max_retries=0)
        def much():
            taken = np.ones(2500 << 17)
            time.sleep(1)
            return len(taken)

        say(outcome(much.remote()))
"""


@tasks
@pytest.mark.parametrize("variable, value", [("memory_monitor_refresh_ms", "0"), ("min_memory_free_bytes", "1000")])
def test_it_can_be_turned_off_and_the_limit_put_higher(scripts, variable, value):
    text = source(MUCH).replace("import numpy", f"os.environ['RAY_{variable}'] = '{value}'\n        import numpy")
    assert said(scripts.run(text)) == [str(2500 << 17)]
