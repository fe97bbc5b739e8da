"""A failed call whose result nobody asked for is told to the driver's user, and no other."""

import gc
import logging
import os

import pytest

from compat_tests.processes import wait_until

KEY = "Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): "


class Told(logging.Handler):
    """What the driver's user was told of failed calls."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        text = record.getMessage()
        if text.startswith(KEY):
            self.texts.append(text.removeprefix(KEY))

    def names(self):
        """The last words of the texts: the tests' exceptions are named by them."""
        return [text.split()[-1] for text in self.texts]

    def wait_for(self, *names):
        """Until as many failures were told, which must be these, in any order."""
        gc.collect()
        wait_until(lambda: len(self.texts) >= len(names), 30, f"{names} are told, not only {self.names()}")
        assert sorted(self.names()) == sorted(names)


@pytest.fixture
def told(monkeypatch):
    monkeypatch.delenv("RAY_IGNORE_UNHANDLED_ERRORS", raising=False)
    handler = Told()
    logging.getLogger("ray").addHandler(handler)
    yield handler
    logging.getLogger("ray").removeHandler(handler)


@pytest.fixture
def fail(ray):
    @ray.remote(max_retries=0)
    def fail(name):
        raise ValueError(name)

    return fail


@pytest.fixture
def actor(ray):
    @ray.remote
    class Failing:
        def fail(self, name):
            raise KeyError(name)

        def works(self):
            return 1

    return Failing.remote()


def test_a_task_whose_ref_is_dropped_at_once(ray, fail, told):
    fail.remote("first")
    told.wait_for("first")
    assert told.texts[0].splitlines()[0].lstrip("\x1b[36m").startswith("ray::fail()")
    assert "raise ValueError(name)" in told.texts[0]


def test_a_method_whose_ref_is_dropped_at_once(ray, actor, told):
    actor.fail.remote("first")
    told.wait_for("'first'")
    assert "ray::Failing.fail()" in told.texts[0]


def test_a_ref_that_is_dropped_after_the_failure(ray, actor, told):
    ref = actor.fail.remote("first")
    ray.get(actor.works.remote())
    assert told.texts == []
    del ref
    told.wait_for("'first'")


def test_each_of_many_alike(ray, actor, told):
    for _ in range(3):
        actor.fail.remote("same")
    told.wait_for("'same'", "'same'", "'same'")


def test_each_result_of_a_call_of_its_own(ray, fail, told):
    refs = fail.options(num_returns=3).remote("three")
    with pytest.raises(ValueError):
        ray.get(refs[1])
    del refs
    told.wait_for("three", "three")


def test_a_call_without_results_is_not_told(ray, fail, actor, told):
    fail.options(num_returns=0).remote("none")
    actor.fail.options(num_returns=0).remote("none")
    ray.get(actor.works.remote())
    actor.fail.remote("last")
    told.wait_for("'last'")


def test_an_error_that_was_got_is_not_told(ray, fail, told):
    ref = fail.remote("got")
    with pytest.raises(ValueError):
        ray.get(ref)
    del ref
    fail.remote("last")
    told.wait_for("last")


def test_an_error_that_was_awaited_is_not_told(ray, fail, told):
    with pytest.raises(ValueError):
        fail.remote("awaited").future().result(30)
    fail.remote("last")
    told.wait_for("last")


def test_a_ref_that_wait_gave_as_ready_is_not_told(ray, fail, told):
    ref = fail.remote("waited")
    assert ray.wait([ref])[0] == [ref]
    del ref
    fail.remote("last")
    told.wait_for("last")


@pytest.mark.needs_concurrency
def test_a_ref_that_wait_did_not_give_is_told(ray, fail, told, gate):
    @ray.remote
    def late(gate, name):
        gate.enter()
        raise ValueError(name)

    refs = [late.remote(gate, "late"), fail.remote("early")]
    ready, rest = ray.wait(refs[::-1], num_returns=1)
    assert ready == [refs[1]]
    gate.open()
    del refs, ready, rest
    told.wait_for("late")


def test_of_a_list_given_to_get_those_that_had_failed_count_as_seen(ray, actor, told):
    refs = [actor.fail.remote("first"), actor.fail.remote("second")]
    ray.get(actor.works.remote())
    with pytest.raises(KeyError, match="first"):
        ray.get(refs)
    del refs
    actor.fail.remote("last")
    told.wait_for("'last'")


@pytest.mark.needs_concurrency
def test_of_a_list_given_to_get_those_that_failed_later_are_told(ray, fail, told, gate):
    @ray.remote
    def late(gate, name):
        gate.enter()
        raise ValueError(name)

    refs = [fail.remote("first"), late.remote(gate, "late")]
    with pytest.raises(ValueError, match="first"):
        ray.get(refs)
    gate.open()
    del refs
    told.wait_for("late")


@pytest.mark.needs_concurrency
def test_a_get_that_timed_out_has_seen_nothing(ray, told, gate):
    @ray.remote
    def late(gate, name):
        gate.enter()
        raise ValueError(name)

    ref = late.remote(gate, "late")
    with pytest.raises(ray.exceptions.GetTimeoutError):
        ray.get(ref, timeout=0.01)
    gate.open()
    del ref
    told.wait_for("late")


def test_an_argument_of_another_call_is_seen_by_that(ray, fail, told):
    @ray.remote
    def take(value, other=None):
        return value

    ref = fail.remote("argument")
    with pytest.raises(ValueError):
        ray.get(take.remote(ref))
    del ref
    take.remote(fail.remote("inner"))
    told.wait_for("inner")
    assert "ray::take()" in told.texts[0]


def test_a_ref_in_a_value_goes_with_the_value(ray, actor, told):
    ref = actor.fail.remote("boxed")
    box = ray.put([ref])
    del ref
    ray.get(actor.works.remote())
    assert told.texts == []
    del box
    told.wait_for("'boxed'")


def test_a_ref_that_a_call_returned(ray, fail, told):
    @ray.remote
    class Giver:
        def give(self):
            return [fail.remote("given")]

    giver = Giver.remote()
    inner = ray.get(giver.give.remote())
    fail.remote("other")
    told.wait_for("other")
    del inner
    told.wait_for("other", "given")


@pytest.mark.needs_own_processes
def test_a_task_whose_worker_died(ray, told):
    @ray.remote(max_retries=0)
    def die():
        os._exit(3)

    die.remote()
    wait_until(lambda: told.texts, 30, "the death is told")
    assert len(told.texts) == 1 and told.texts[0].startswith("The worker died unexpectedly while executing this task.")


@pytest.mark.needs_own_processes
def test_calls_of_a_dead_actor_are_not_told(ray, fail, told):
    @ray.remote
    class Mortal:
        def die(self):
            os._exit(3)

        def works(self):
            return 1

    mortal = Mortal.remote()
    mortal.die.remote()
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(mortal.works.remote())
    mortal.works.remote()
    killed = Mortal.remote()
    ray.get(killed.works.remote())
    ray.kill(killed)
    killed.works.remote()
    fail.remote("last")
    told.wait_for("last")


@pytest.mark.needs_concurrency
def test_a_cancelled_task_is_not_told(ray, fail, told, gate):
    @ray.remote(max_retries=0)
    def wait(gate):
        gate.enter()

    ref = wait.remote(gate)
    wait_until(gate.inside, 30, "the task runs")
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref)
    again = wait.remote(gate)
    wait_until(lambda: gate.inside() == 2, 30, "the task runs")
    ray.cancel(again)
    del again
    fail.remote("last")
    told.wait_for("last")


def test_a_generator_that_failed_and_was_not_read(ray, fail, told):
    @ray.remote(max_retries=0)
    def two(name):
        yield 1
        raise ValueError(name)

    refs = two.remote("unread")
    ray.wait([refs.completed()])
    del refs
    told.wait_for("unread")


def test_a_generator_whose_error_was_got_is_not_told(ray, fail, told):
    @ray.remote(max_retries=0)
    def two(name):
        yield 1
        raise ValueError(name)

    with pytest.raises(ValueError):
        for ref in two.remote("read"):
            ray.get(ref)
    del ref
    fail.remote("last")
    told.wait_for("last")


def test_the_environment_variable_turns_it_off(ray, actor, told, monkeypatch):
    monkeypatch.setenv("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    ref = actor.fail.remote("hidden")
    ray.get(actor.works.remote())
    del ref
    gc.collect()
    monkeypatch.delenv("RAY_IGNORE_UNHANDLED_ERRORS")
    actor.fail.remote("last")
    told.wait_for("'last'")


@pytest.mark.needs_processes
def test_a_constructor_that_fails_says_so_where_it_ran(scripts):
    scripts.write("script.py", """
        import os, time
        import ray
        INIT

        @ray.remote
        class Broken:
            def __init__(self):
                raise ValueError("no")

        broken = Broken.remote()
        print("made", flush=True)
        while not os.path.exists("seen"):
            time.sleep(0.01)
    """)
    driver = scripts.start("script.py")
    driver.wait_for("made")
    wait_until(lambda: "ValueError: no" in driver.err, 30, "the failure is shown")
    (scripts.directory / "seen").touch()
    scripts.finished(driver)
    assert "Exception raised in creation task: The actor died because of an error raised in its creation task" in driver.err
    assert "Broken.__init__()" in driver.err
