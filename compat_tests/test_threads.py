from concurrent.futures import ThreadPoolExecutor

import pytest


def test_threads_of_the_driver_call_and_get(ray):
    @ray.remote
    def square(x):
        return x * x

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda x: ray.get(square.remote(x)), range(50))) == [x * x for x in range(50)]


def test_threads_of_the_driver_share_an_actor_without_losing_a_call(ray):
    @ray.remote
    class Counter:
        def __init__(self):
            self.value = 0

        def increment(self):
            self.value += 1
            return self.value

    counter = Counter.remote()
    with ThreadPoolExecutor(4) as threads:
        seen = list(threads.map(lambda _: ray.get(counter.increment.remote()), range(100)))
    assert sorted(seen) == list(range(1, 101))


def test_each_thread_puts_and_gets_its_own(ray):
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda x: ray.get(ray.put(x)), range(100))) == list(range(100))


def test_a_thread_of_a_task_may_use_the_api(ray):
    @ray.remote
    def one():
        return 1

    @ray.remote
    def parent():
        with ThreadPoolExecutor(2) as threads:
            return list(threads.map(lambda _: ray.get(one.remote()), range(2)))

    assert ray.get(parent.remote()) == [1, 1]


@pytest.mark.needs_processes
@pytest.mark.rayshim_only
def test_the_interpreter_ends_well_while_threads_wait(scripts):
    """A thread that wakes when the interpreter is ending is ended by Python. Something there is slow to go, so that they do wake."""
    scripts.run("""
        import builtins, threading, time
        import ray
        INIT

        @ray.remote
        class Sleeper:
            def sleep(self):
                time.sleep(60)

        sleeper = Sleeper.remote()
        ref = sleeper.sleep.remote()
        for wait in [lambda: ray.get(ref), lambda: ray.wait([ref], timeout=50)] * 4:
            threading.Thread(target=wait, daemon=True).start()

        class Slow:
            def __del__(self, sleep=time.sleep):
                sleep(1.2)

        builtins.slow = Slow()
    """)
