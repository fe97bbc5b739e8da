"""Functions and classes that a program defines again in each round: what earlier versions captured is let go of."""

import gc

import numpy as np
import pytest
from reactor import _core
from reactor.tests.calling import wait_until

import rayshim as ray
from rayshim.session import session

SIZE = 200_000  # bytes that each version captures
PLACEMENTS = ["isolated", "packed", "inline"]


@pytest.fixture(params=PLACEMENTS)
def running(request):
    ray.init(placement=request.param, num_cpus=2, log_to_driver=False)
    yield
    ray.shutdown()


def rounds_of(run, rounds=24):
    """Runs the rounds; then no more than the last few versions are kept."""
    for i in range(rounds):
        run(i)
        if i % 4 == 0:
            gc.collect()  # a class is always part of a cycle
    wait_until(lambda: gc.collect() >= 0 and _core.store_used() <= 8 * (SIZE + 65536))


def test_what_a_function_captured_goes_with_it(running):
    def run(i):
        captured = np.full(SIZE, i % 256, np.uint8)

        @ray.remote
        def first():
            return int(captured[0])

        assert ray.get(first.remote()) == i % 256

    rounds_of(run)


def test_an_object_whose_ref_a_function_captured_goes_with_it(running):
    def run(i):
        ref = ray.put(np.full(SIZE, i % 256, np.uint8))

        @ray.remote
        def first():
            return int(ray.get(ref)[0])

        assert ray.get(first.remote()) == i % 256

    rounds_of(run)


def test_what_an_actor_class_captured_goes_with_it(running):
    def run(i):
        captured = np.full(SIZE, i % 256, np.uint8)

        @ray.remote(num_cpus=0)
        class Holder:
            def first(self):
                return int(captured[0])

        assert ray.get(Holder.remote().first.remote()) == i % 256

    rounds_of(run)


def test_what_a_task_captured_in_the_function_that_it_defines_goes_with_it(running):
    @ray.remote
    def define(i):
        captured = np.full(SIZE, i % 256, np.uint8)

        @ray.remote
        def first():
            return int(captured[0])

        result = ray.get(first.remote())
        del first
        gc.collect()
        return result

    def run(i):
        assert ray.get(define.remote(i)) == i % 256

    rounds_of(run)


def test_a_name_for_each_call_keeps_no_copy_of_the_function(running):
    captured = np.ones(SIZE, np.uint8)

    @ray.remote
    def first():
        return int(captured[0])

    for i in range(2 * session._EXPORTS):
        assert ray.get(first.options(name=f"call {i}").remote()) == 1
    assert len(session.current.exports[first._function]) <= session._EXPORTS


def test_a_name_for_each_call_of_an_actor_is_not_kept(running):
    @ray.remote(num_cpus=0)
    class Named:
        def one(self):
            return 1

    named = Named.remote()
    assert (
        ray.get([named.one.options(name=f"call {i}").remote() for i in range(2 * session._EXPORTS)])
        == [1] * 2 * session._EXPORTS
    )
    assert len(session.current.call_options) <= session._EXPORTS


def test_calls_of_a_function_that_is_gone_run_all_the_same(running):
    def make(i):
        captured = np.full(SIZE, i, np.uint8)

        @ray.remote
        def first(n):
            return int(captured[0]) + n

        return first

    refs = []
    for i in range(6):
        first = make(i)
        refs.append([first.remote(n) for n in range(20)])
        del first
        gc.collect()
    assert ray.get([ref for group in reversed(refs) for ref in group]) == [
        i + n for i in reversed(range(6)) for n in range(20)
    ]


def test_a_function_that_lives_is_loaded_once_however_many_others_come_and_go():
    ray.init(num_cpus=1, log_to_driver=False)
    try:
        counted = 0

        @ray.remote
        def count():
            nonlocal counted
            counted += 1
            return counted

        def run(i):
            @ray.remote
            def other():
                return i

            assert ray.get(other.remote()) == i

        assert ray.get(count.remote()) == 1
        for i in range(10):
            run(i)
            gc.collect()
        assert ray.get(count.remote()) == 2
    finally:
        ray.shutdown()
