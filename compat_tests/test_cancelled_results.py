"""`cancel` of any result of a call cancels the call: the second ref of several, or a value of a generator that still runs."""

import pytest

from compat_tests.processes import wait_until


def cancelled(ray, refs):
    """Whether each ref gives the error of a cancelled call."""
    for ref in refs:
        with pytest.raises(ray.exceptions.TaskCancelledError):
            ray.get(ref, timeout=60)
    return True


@pytest.fixture
def held(ray):
    """A task with three results that stays in its gate."""

    @ray.remote(num_returns=3, max_retries=0)
    def task(gate, argument=None):
        gate.enter()
        return 1, 2, 3

    return task


@pytest.fixture
def Actor(ray):
    @ray.remote
    class Actor:
        def enter(self, gate):
            gate.enter()

        @ray.method(num_returns=2)
        def two(self, argument=None):
            return 1, 2

        @ray.method(num_returns=2)
        def listen(self, gate):
            gate.touch("here")
            wait_until(lambda: ray.get_runtime_context().is_canceled())
            return 1, 2

        @ray.method(num_returns=3)
        def three(self, gate):
            yield 1
            gate.enter()
            yield 2
            yield 3

        def ping(self):
            return "pong"

    return Actor


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("which", [1, 2])
def test_each_ref_of_a_running_task_cancels_it(ray, held, gate, which, force):
    refs = held.remote(gate)
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(refs[which], force=force)
    assert cancelled(ray, refs)


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("which", [0, 1])
def test_all_refs_of_a_task_that_waits_for_its_argument_are_cancelled_at_once(ray, held, gate, which):
    @ray.remote
    def argument():
        gate.enter()

    refs = held.remote(gate, argument.remote())
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(refs[which])
    assert cancelled(ray, refs)
    assert gate.inside() == 1


@pytest.mark.needs_concurrency
def test_the_second_ref_cancels_although_the_first_one_is_gone(ray, held, gate):
    _, second, third = held.remote(gate)
    del _
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(second)
    assert cancelled(ray, [second, third])


@pytest.mark.needs_concurrency
def test_a_ref_cancels_its_call_in_another_process(ray, held, gate):
    @ray.remote
    def cancel(refs):
        ray.cancel(refs[0])

    refs = held.remote(gate)
    wait_until(lambda: gate.inside() == 1)
    ray.get(cancel.remote([refs[1]]))
    assert cancelled(ray, refs)


@pytest.mark.needs_concurrency
def test_the_second_ref_cancels_the_tasks_that_the_task_has_started(ray, gate):
    @ray.remote(num_returns=2)
    def child():
        try:
            gate.enter()
        except KeyboardInterrupt:
            gate.touch("interrupted")
            raise

    @ray.remote(num_returns=2)
    def parent():
        second = child.remote()[1]
        return ray.get([second, second])

    refs = parent.remote()
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(refs[1])
    assert cancelled(ray, refs)
    gate.wait_for("interrupted")


@pytest.mark.needs_concurrency
def test_the_second_ref_takes_back_a_call_that_its_actor_has_not_started(ray, Actor, gate):
    actor = Actor.remote()
    running = actor.enter.remote(gate)
    wait_until(lambda: gate.inside() == 1)
    refs = actor.two.remote()
    ray.cancel(refs[1])
    gate.open()
    assert cancelled(ray, refs)
    ray.get(running)


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("threads", [1, 2])
def test_a_method_sees_that_its_second_ref_was_cancelled(ray, Actor, gate, threads):
    actor = Actor.options(max_concurrency=threads).remote()
    refs = actor.listen.remote(gate)
    gate.wait_for("here")
    ray.cancel(refs[1])
    assert cancelled(ray, refs)
    assert ray.get(actor.ping.remote()) == "pong"


@pytest.mark.needs_concurrency
def test_the_second_ref_of_a_coroutine_cancels_it(ray, gate):
    @ray.remote
    class Actor:
        @ray.method(num_returns=2)
        async def two(self):
            import asyncio

            gate.touch("here")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                gate.touch("cancelled")
                raise

    actor = Actor.remote()
    refs = actor.two.remote()
    gate.wait_for("here")
    ray.cancel(refs[1])
    assert cancelled(ray, refs)
    gate.wait_for("cancelled")


@pytest.mark.needs_concurrency
def test_a_result_that_is_to_come_cancels_a_generator_with_a_fixed_number_of_them(ray, gate):
    @ray.remote(num_returns=3)
    def three():
        yield 1
        gate.enter()

    refs = three.remote()
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(refs[2])
    assert cancelled(ray, refs[1:])


@pytest.mark.needs_concurrency
def test_a_result_that_is_to_come_cancels_a_generator_method(ray, Actor, gate):
    refs = Actor.remote().three.remote(gate)
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(refs[2])
    gate.open()
    assert cancelled(ray, refs)


@pytest.mark.needs_concurrency
def test_a_value_of_a_running_generator_cancels_it(ray, gate):
    @ray.remote
    def stream():
        yield 1
        gate.enter()
        yield 2

    values = stream.remote()
    first = next(values)
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(first)
    assert cancelled(ray, [next(values)])
    assert ray.get(first) == 1


def test_what_has_ended_and_what_was_put_stays(ray):
    @ray.remote(num_returns=2)
    def two():
        return 1, 2

    @ray.remote
    def stream():
        yield 1
        yield 2

    refs, values, put = two.remote(), list(stream.remote()), ray.put(3)
    assert ray.get([*refs, *values, two.remote()[0], put]) == [1, 2, 1, 2, 1, 3]
    assert ray.get(two.remote()) == [1, 2]  # by now Ray has booked the end of the others
    for ref in [refs[1], values[0], put]:
        ray.cancel(ref)
    assert ray.get([*refs, *values, put]) == [1, 2, 1, 2, 3]
