"""Actors that are made anew when their process died, and calls that are made once more."""

import asyncio
import os
import signal
import sys

import pytest

from compat_tests.dying import death


def counter(ray, **options):
    """An actor with state, that can end itself in several ways. `tried` counts across its lives: each call adds a byte to a file."""

    @ray.remote(**options)
    class Counter:
        def __init__(self, start=0):
            self.n = start

        def add(self):
            self.n += 1
            return self.n

        def anew(self):
            return ray.get_runtime_context().was_current_actor_reconstructed

        def pid(self):
            return os.getpid()

        def exit(self, code):
            sys.exit(code)

        def leave(self):
            ray.actor.exit_actor()

        def exit_first(self, file):
            """Ends the process the first time, answers the second."""
            if tried(file) == 1:
                sys.exit(1)
            return self.n

        def always_exit(self, file):
            tried(file)
            sys.exit(1)

    return Counter


def tried(file):
    """How often this was called with `file`, in whatever process."""
    with open(file, "a") as out:
        out.write("x")
    return os.path.getsize(file)


def until_it_answers(ray, call):
    """In Ray a call made while the actor is made anew fails if it may not be retried."""
    while True:
        try:
            return ray.get(call(), timeout=20)
        except ray.exceptions.ActorUnavailableError:
            pass


def until_it_is_new(ray, actor):
    while not until_it_answers(ray, actor.anew.remote):
        pass


def test_an_actor_with_restarts_begins_anew_after_kill_with_no_restart_false(ray):
    actor = counter(ray, max_restarts=1, max_task_retries=-1).remote(10)
    assert ray.get([actor.add.remote(), actor.add.remote(), actor.anew.remote()]) == [11, 12, False]
    ray.kill(actor, no_restart=False)
    until_it_is_new(ray, actor)
    assert ray.get(actor.add.remote()) == 11


def test_the_handle_and_the_name_stay_those_of_the_new_actor(ray):
    actor = counter(ray, max_restarts=1, max_task_retries=-1).options(name="phoenix").remote()
    ray.get(actor.add.remote())
    ray.kill(actor, no_restart=False)
    until_it_is_new(ray, actor)
    assert ray.get([actor.add.remote(), ray.get_actor("phoenix").add.remote()]) == [1, 2]


def test_an_actor_that_may_not_be_restarted_again_stays_dead(ray):
    actor = counter(ray, max_restarts=1).remote()
    ray.get(actor.add.remote())
    ray.kill(actor, no_restart=False)
    until_it_is_new(ray, actor)
    ray.kill(actor, no_restart=False)
    assert isinstance(death_for_good(ray, actor.add.remote), ray.exceptions.ActorDiedError)


def death_for_good(ray, call):
    while isinstance(error := death(ray, call), ray.exceptions.ActorUnavailableError):
        pass
    return error


def test_a_plain_kill_is_for_good(ray):
    actor = counter(ray, max_restarts=-1, max_task_retries=-1).remote()
    ray.get(actor.add.remote())
    ray.kill(actor)
    assert isinstance(death(ray, actor.add.remote), ray.exceptions.ActorDiedError)


@pytest.mark.parametrize("code", [None, 1, "message"])
def test_sys_exit_with_another_code_than_0_lets_the_actor_begin_anew(ray, code):
    actor = counter(ray, max_restarts=1).remote()
    with pytest.raises(ray.exceptions.ActorUnavailableError):
        ray.get(actor.exit.remote(code))
    assert until_it_answers(ray, actor.add.remote) == 1


def test_exit_actor_and_sys_exit_0_are_for_good(ray):
    for end in ("leave", "exit"):
        actor = counter(ray, max_restarts=-1, max_task_retries=-1).remote()
        ray.get(actor.add.remote())
        with pytest.raises(ray.exceptions.ActorDiedError):
            ray.get(actor.leave.remote() if end == "leave" else actor.exit.remote(0))
        with pytest.raises(ray.exceptions.ActorDiedError):
            ray.get(actor.add.remote())


def test_a_call_is_made_again_on_the_new_actor_if_it_may_be(ray, tmp_path):
    actor = counter(ray, max_restarts=1, max_task_retries=1).remote(5)
    assert ray.get(actor.add.remote()) == 6
    assert ray.get(actor.exit_first.remote(tmp_path / "tried")) == 5
    assert os.path.getsize(tmp_path / "tried") == 2


def test_a_call_that_may_not_be_made_again_is_an_error_that_says_unavailable(ray, tmp_path):
    actor = counter(ray, max_restarts=1).remote()
    with pytest.raises(ray.exceptions.ActorUnavailableError):
        ray.get(actor.exit_first.remote(tmp_path / "tried"))
    assert issubclass(ray.exceptions.ActorUnavailableError, ray.exceptions.RayActorError)


def test_a_call_can_say_for_itself_how_often_it_is_made_again(ray, tmp_path):
    actor = counter(ray, max_restarts=-1, max_task_retries=-1).remote()
    with pytest.raises(ray.exceptions.ActorUnavailableError):
        ray.get(actor.exit_first.options(max_task_retries=0).remote(tmp_path / "never"))
    with pytest.raises(ray.exceptions.ActorUnavailableError):
        ray.get(actor.always_exit.options(max_task_retries=2).remote(tmp_path / "twice"))
    assert os.path.getsize(tmp_path / "twice") == 3


def test_a_call_whose_retries_outlast_the_actors_restarts_gets_its_death(ray, tmp_path):
    actor = counter(ray, max_restarts=1, max_task_retries=-1).remote()
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.always_exit.remote(tmp_path / "tried"))
    assert os.path.getsize(tmp_path / "tried") == 2


@pytest.mark.needs_processes
def test_an_actor_killed_from_outside_begins_anew(ray):
    actor = counter(ray, max_restarts=1, max_task_retries=-1).remote()
    pid = ray.get(actor.pid.remote())
    os.kill(pid, signal.SIGKILL)
    until_it_is_new(ray, actor)
    assert ray.get(actor.pid.remote()) != pid


@pytest.mark.needs_processes
@pytest.mark.rayshim_only  # Ray makes the calls again in no particular order
def test_calls_that_waited_run_on_the_new_actor_in_their_order(ray, gate):
    @ray.remote(max_restarts=1, max_task_retries=-1)
    class List:
        def __init__(self):
            self.items = []

        def pid(self):
            return os.getpid()

        def wait(self):
            gate.enter()

        def append(self, item):
            self.items.append(item)
            return list(self.items)

    actor = List.remote()
    pid = ray.get(actor.pid.remote())
    waiting = actor.wait.remote()
    calls = [actor.append.remote(i) for i in range(20)]
    while gate.inside() < 1:
        pass
    os.kill(pid, signal.SIGKILL)
    gate.open()
    ray.get(waiting)
    assert ray.get(calls[-1]) == list(range(20))


@pytest.mark.needs_processes
def test_calls_that_waited_and_may_not_be_retried_are_unavailable(ray, gate):
    @ray.remote(max_restarts=1)
    class Slow:
        def pid(self):
            return os.getpid()

        def wait(self):
            gate.enter()

        def quick(self):
            return "quick"

    actor = Slow.remote()
    pid = ray.get(actor.pid.remote())
    calls = [actor.wait.remote(), *(actor.quick.remote() for _ in range(3))]
    while gate.inside() < 1:
        pass
    os.kill(pid, signal.SIGKILL)
    for call in calls:
        with pytest.raises(ray.exceptions.ActorUnavailableError):
            ray.get(call)
    assert until_it_answers(ray, actor.quick.remote) == "quick"


@pytest.mark.needs_processes
@pytest.mark.rayshim_only  # Ray at times has deleted the argument by then: ReferenceCountingAssertionError
def test_the_constructors_arguments_outlive_their_refs(ray):
    @ray.remote(max_restarts=1, max_task_retries=-1)
    class Holder:
        def __init__(self, value, few):
            self.value, self.few = value, few

        def pid(self):
            return os.getpid()

        def sums(self):
            return sum(self.value), sum(self.few)

    numbers = list(range(5000))
    actor = Holder.remote(ray.put(numbers), numbers[:10])
    assert ray.get(actor.sums.remote()) == (sum(numbers), 45)
    os.kill(ray.get(actor.pid.remote()), signal.SIGKILL)
    assert ray.get(actor.sums.remote(), timeout=60) == (sum(numbers), 45)


@pytest.mark.needs_processes
@pytest.mark.rayshim_only  # in Ray a ref inside of a constructor's argument does not outlive its other copies
def test_refs_inside_of_the_constructors_arguments_outlive_theirs_too(ray):
    @ray.remote(max_restarts=2, max_task_retries=-1)
    class Holder:
        def __init__(self, nested):
            self.total = sum(ray.get(nested[0]))

        def pid(self):
            return os.getpid()

        def sum(self):
            return self.total

    actor = Holder.remote([ray.put(list(range(10)))])
    for _ in range(2):
        os.kill(ray.get(actor.pid.remote()), signal.SIGKILL)
        assert ray.get(actor.sum.remote(), timeout=60) == 45


@pytest.mark.needs_processes
def test_a_process_that_dies_in_the_constructor_is_replaced_too(ray, tmp_path):
    @ray.remote(max_restarts=2, max_task_retries=-1)
    class Stubborn:
        def __init__(self):
            self.tries = tried(tmp_path / "tried")
            if self.tries < 3:
                os._exit(1)

        def tries_so_far(self):
            return self.tries

    assert ray.get(Stubborn.remote().tries_so_far.remote(), timeout=60) == 3


def test_a_constructor_that_raises_is_not_tried_again(ray, tmp_path):
    @ray.remote(max_restarts=-1, max_task_retries=-1)
    class Broken:
        def __init__(self):
            tried(tmp_path / "tried")
            raise ValueError("no")

        def f(self):
            pass

    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(Broken.remote().f.remote())
    assert os.path.getsize(tmp_path / "tried") == 1


def test_retry_exceptions_of_a_method_makes_the_call_again(ray, tmp_path):
    @ray.remote
    class Moody:
        @ray.method(max_task_retries=2, retry_exceptions=[KeyError])
        def third_time(self, file, error):
            n = tried(file)
            if n < 3:
                raise error
            return n

        @ray.method(max_task_retries=2)
        def plain(self, file):
            tried(file)
            raise KeyError

    actor = Moody.remote()
    assert ray.get(actor.third_time.remote(tmp_path / "a", KeyError())) == 3
    with pytest.raises(ValueError):
        ray.get(actor.third_time.remote(tmp_path / "b", ValueError()))
    with pytest.raises(KeyError):
        ray.get(actor.plain.remote(tmp_path / "c"))
    with pytest.raises(KeyError):
        ray.get(actor.plain.options(retry_exceptions=True, max_task_retries=1).remote(tmp_path / "d"))
    assert [os.path.getsize(tmp_path / name) for name in "abcd"] == [3, 1, 1, 2]


def test_exceptions_and_deaths_use_up_the_same_retries(ray, tmp_path):
    @ray.remote(max_restarts=-1, max_task_retries=2)
    class Both:
        @ray.method(retry_exceptions=True)
        def fail(self, file):
            if tried(file) == 1:
                sys.exit(1)
            raise KeyError

    with pytest.raises(KeyError):
        ray.get(Both.remote().fail.remote(tmp_path / "tried"))
    assert os.path.getsize(tmp_path / "tried") == 3


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("kind", ["async", "threads"])
def test_calls_of_concurrent_actors_are_made_again_too(ray, tmp_path, kind):
    if kind == "async":

        @ray.remote(max_restarts=1, max_task_retries=1)
        class Actor:
            async def exit_first(self, file):
                await asyncio.sleep(0)
                if tried(file) == 1:
                    os._exit(1)
                return "second"

            @ray.method(retry_exceptions=True)
            async def raise_first(self, file):
                if tried(file) == 1:
                    raise ValueError
                return "second"

    else:

        @ray.remote(max_restarts=1, max_task_retries=1, max_concurrency=3)
        class Actor:
            def exit_first(self, file):
                if tried(file) == 1:
                    sys.exit(1)
                return "second"

            @ray.method(retry_exceptions=True)
            def raise_first(self, file):
                if tried(file) == 1:
                    raise ValueError
                return "second"

    actor = Actor.remote()
    assert ray.get(actor.exit_first.remote(tmp_path / "exit")) == "second"
    assert ray.get(actor.raise_first.remote(tmp_path / "raise")) == "second"


@pytest.mark.needs_processes
def test_max_calls_ends_a_tasks_worker_after_that_many(ray):
    @ray.remote(max_calls=1)
    def once():
        return os.getpid()

    pids = [ray.get(once.remote()) for _ in range(4)]
    assert len(set(pids)) == 4
