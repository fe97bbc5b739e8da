"""Generator tasks and methods, streaming: refs as the values are yielded."""

import os
import pickle

import numpy as np
import pytest

from compat_tests.processes import wait_until


@pytest.fixture
def count(ray):
    @ray.remote
    def count(n):
        for i in range(n):
            yield i

    return count


@pytest.fixture
def counter_class(ray):
    @ray.remote
    class Counter:
        def count(self, n):
            for i in range(n):
                yield i

        def fail(self, n):
            for i in range(n):
                yield i
            raise ValueError("boom")

        def plain(self):
            return 5

        @ray.method(num_returns=2)
        def two(self):
            yield "a"
            yield "b"

    return Counter


def outcomes(ray, refs):
    """The value of each ref, or the class of its error's cause."""
    found = []
    for ref in refs:
        try:
            found.append(ray.get(ref))
        except Exception as error:
            found.append(type(getattr(error, "cause", error)))
    return found


def test_a_generator_function_gives_a_generator_of_refs(ray, count):
    generator = count.remote(3)
    assert isinstance(generator, ray.ObjectRefGenerator)
    refs = list(generator)
    assert all(isinstance(ref, ray.ObjectRef) for ref in refs)
    assert ray.get(refs) == [0, 1, 2]
    assert list(generator) == []
    with pytest.raises(StopIteration):
        next(generator)


def test_streaming_can_be_asked_for(ray, count):
    assert ray.get(list(count.options(num_returns="streaming").remote(2))) == [0, 1]


def test_a_generator_may_yield_nothing(ray, count):
    assert list(count.remote(0)) == []


@pytest.mark.needs_concurrency
def test_values_are_there_while_the_generator_still_runs(ray, gate):
    @ray.remote
    def slow():
        yield "early"
        gate.enter()
        yield "late"

    generator = slow.remote()
    assert ray.get(next(generator)) == "early"
    assert not generator.next_ready()
    gate.open()
    assert ray.get(next(generator)) == "late"


def test_values_of_any_kind_are_copies(ray):
    @ray.remote
    def various():
        kept = [1]
        yield kept
        kept.append(2)
        yield kept
        yield np.arange(100_000)
        yield ray.put("inner")
        yield None

    one, two, array, inner, nothing = ray.get(list(various.remote()))
    assert (one, two, nothing) == ([1], [1, 2], None)
    assert array.sum() == 4999950000 and not array.flags.writeable
    assert ray.get(inner) == "inner"


def test_refs_of_a_generator_can_be_passed_and_outlive_it(ray, count):
    @ray.remote
    def double(x):
        return 2 * x

    generator = count.remote(4)
    doubled = [double.remote(ref) for ref in generator]
    del generator
    assert ray.get(doubled) == [0, 2, 4, 6]


def test_a_return_ends_the_values_and_its_own_is_not_one(ray):
    @ray.remote
    def stops():
        yield 1
        return 7

    generator = stops.remote()
    assert outcomes(ray, generator) == [1]
    assert ray.get(generator.completed()) is None


def test_an_exception_is_the_last_ref(ray):
    @ray.remote
    def fails():
        yield 1
        yield 2
        raise ValueError("boom")

    generator = fails.remote()
    assert ray.get(generator.completed()) is None  # it is no failure of the task
    refs = list(generator)
    assert outcomes(ray, refs) == [1, 2, ValueError]
    with pytest.raises(ValueError, match="boom"):
        ray.get(refs[2])
    assert list(generator) == []


def test_a_value_that_cannot_be_pickled_is_the_last_ref(ray):
    @ray.remote
    def unpicklable():
        import threading

        yield 1
        yield threading.Lock()
        yield 3

    assert outcomes(ray, unpicklable.remote()) == [1, TypeError]


def test_an_argument_that_failed_is_the_only_ref(ray):
    @ray.remote
    def fails():
        raise KeyError("dependency")

    @ray.remote
    def repeat(x):
        yield x

    assert outcomes(ray, repeat.remote(ray.put(5))) == [5]
    generator = repeat.remote(fails.remote())
    with pytest.raises(KeyError):
        ray.get(next(generator))
    assert list(generator) == []


def test_wrong_arguments_are_refused_at_the_call(ray, count):
    with pytest.raises(TypeError):
        count.remote()


def test_generators_call_generators(ray, count):
    @ray.remote
    def doubled(n):
        for ref in count.remote(n):
            yield 2 * ray.get(ref)

    assert outcomes(ray, doubled.remote(3)) == [0, 2, 4]


def test_a_task_that_is_run_again_for_its_exception_goes_on_where_it_was(ray, tmp_path):
    failed = str(tmp_path / "failed")

    @ray.remote(max_retries=1, retry_exceptions=[KeyError])
    def fails_once(error):
        yield 1
        yield 2
        if not os.path.exists(failed):
            open(failed, "w").close()
            raise error
        yield 3

    assert outcomes(ray, fails_once.remote(KeyError())) == [1, 2, 3]
    os.remove(failed)
    assert outcomes(ray, fails_once.remote(IndexError())) == [1, 2, IndexError]


def test_to_cancel_a_finished_generator_changes_nothing(ray, count):
    generator = count.remote(3)
    ray.get(generator.completed())
    ray.cancel(generator)
    assert outcomes(ray, generator) == [0, 1, 2]


# ---- the state of a stream


def test_ready_and_finished(ray, count):
    generator = count.remote(2)
    ray.get(generator.completed())
    states = []
    for _ in range(3):
        states.append((generator.next_ready(), generator.is_finished()))
        next(generator, None)
    assert states == [(True, False), (True, False), (False, True)]


def test_the_refs_of_a_failed_generator_are_ready(ray, counter_class):
    generator = counter_class.remote().fail.remote(1)
    ray.get(generator.completed())
    assert generator.next_ready()
    next(generator), next(generator)
    assert not generator.next_ready() and generator.is_finished()


@pytest.mark.needs_concurrency
def test_wait_is_for_the_next_value(ray, gate):
    @ray.remote
    def slow():
        yield 1
        gate.enter()
        yield 2

    @ray.remote
    def stay():
        gate.enter()

    generator, staying = slow.remote(), stay.remote()
    assert ray.wait([staying, generator]) == ([generator], [staying])
    next(generator)
    assert ray.wait([generator, staying], timeout=0.05) == ([], [generator, staying])
    gate.open()
    assert ray.wait([generator, staying], num_returns=2) == ([generator, staying], [])
    next(generator)
    with pytest.raises(StopIteration):
        next(generator)
    assert ray.wait([generator], timeout=0) == ([generator], [])


def test_wait_refuses_what_it_refuses_of_refs(ray, count):
    generator = count.remote(1)
    for wrong, error in ((generator, TypeError), ([generator, generator], ValueError), ([generator, 1], TypeError)):
        with pytest.raises(error):
            ray.wait(wrong)
    with pytest.raises(ValueError):
        ray.wait([generator], num_returns=2)


def test_many_generators_are_drained_by_wait(ray, count):
    pending, found = [count.remote(5) for _ in range(4)], []
    while pending:
        ready, pending = ray.wait(pending)
        for ref in ready[0]:
            found.append(ray.get(ref))
            pending += ready
            break
    assert sorted(found) == sorted([0, 1, 2, 3, 4] * 4)


# ---- what is not possible


def test_a_generator_stays_where_it_is(ray, count):
    @ray.remote
    def take(x):
        pass

    @ray.remote
    def give():
        return count.remote(1)

    generator = count.remote(1)
    for send in (lambda: pickle.dumps(generator), lambda: ray.put(generator), lambda: take.remote(generator),
                 lambda: ray.get(give.remote())):
        with pytest.raises(TypeError, match="[Gg]enerator"):
            send()


def test_get_gives_the_generator_itself_and_takes_none_in_a_list(ray, count):
    generator = count.remote(1)
    assert ray.get(generator) is generator
    with pytest.raises(TypeError):
        ray.get([generator])


def test_generators_take_nothing_from_outside(ray, count):
    generator = count.remote(1)
    for use in (lambda: generator.send(1), lambda: generator.throw(ValueError()), generator.close):
        with pytest.raises(NotImplementedError):
            use()


@pytest.mark.parametrize("kind", ["streaming", "dynamic"])
def test_only_generators_stream(ray, counter_class, kind):
    with pytest.raises(ValueError, match="generator"):
        ray.remote(num_returns=kind)(lambda: 1)
    with pytest.raises(ValueError, match="generator"):
        counter_class.remote().plain.options(num_returns=kind)


# ---- nothing is left behind


@pytest.mark.rayshim_only
@pytest.mark.parametrize("window", [-1, 4])
def test_streams_leave_nothing_in_the_store(ray, window):
    from reactor import _core

    @ray.remote(_generator_backpressure_num_objects=window)
    def arrays(n):
        for i in range(n):
            yield b"x" * 10_000

    def in_use():
        stats = _core.stats()
        return stats["store_used"], stats["slab_slots_used"]

    def rounds(count):
        for _ in range(count):
            for _ in arrays.remote(50):
                pass
            generator = arrays.remote(50)
            next(generator)
            done = generator.completed()
            del generator
            ray.get(done)

    rounds(5)
    used, slots = in_use()
    rounds(100)
    wait_until(lambda: in_use()[0] <= used)
    assert in_use()[1] - slots < 50
