import inspect
import re

import pytest

from compat_tests.dying import death
from compat_tests.processes import alive, wait_until


@pytest.fixture
def counter(ray):
    """A class of actors that count and know their process."""

    @ray.remote
    class Counter:
        def __init__(self):
            self.value = 0

        def increment(self):
            self.value += 1
            return self.value

        def pid(self):
            import os
            return os.getpid()

    return Counter


def test_a_task_calls_the_actor_that_it_was_given(ray, counter):
    @ray.remote
    def increment(actor):
        return ray.get(actor.increment.remote())

    actor = counter.remote()
    assert [ray.get(increment.remote(actor)) for _ in range(3)] == [1, 2, 3]
    assert ray.get(actor.increment.remote()) == 4


def test_a_handle_travels_in_containers_and_objects(ray, counter):
    class Holder:
        def __init__(self, actor):
            self.actor = actor

    @ray.remote
    def increment(items, holder):
        return ray.get([items[0]["actor"].increment.remote(), holder.actor.increment.remote()])

    actor = counter.remote()
    assert ray.get(increment.remote([{"actor": actor}], Holder(actor))) == [1, 2]


def test_a_handle_travels_in_a_closure(ray, counter):
    actor = counter.remote()

    @ray.remote
    def increment():
        return ray.get(actor.increment.remote())

    assert ray.get(increment.remote()) == 1


def test_a_handle_put_and_got_is_the_same_actor(ray, counter):
    actor = counter.remote()
    ray.get(actor.increment.remote())
    again = ray.get(ray.put(actor))
    assert again == actor and hash(again) == hash(actor)
    assert ray.get(again.increment.remote()) == 2


def test_a_handle_can_be_returned(ray, counter):
    @ray.remote
    class Factory:
        def make(self):
            return counter.remote()

    factory = Factory.remote()
    first, second = ray.get([factory.make.remote(), factory.make.remote()])
    assert first != second
    assert ray.get([first.increment.remote(), first.increment.remote(), second.increment.remote()]) == [1, 2, 1]


def test_an_actor_keeps_and_calls_another(ray, counter):
    @ray.remote
    class Caller:
        def __init__(self, actor):
            self.actor = actor

        def call(self):
            return ray.get(self.actor.increment.remote())

    actor = counter.remote()
    callers = [Caller.remote(actor) for _ in range(2)]
    assert sorted(ray.get([caller.call.remote() for caller in callers])) == [1, 2]


def test_a_chain_of_actors_passes_a_value_on(ray):
    @ray.remote
    class Link:
        def __init__(self, following=None):
            self.following = following

        def add(self, x):
            return x if self.following is None else ray.get(self.following.add.remote(x + 1))

    last = Link.remote()
    for _ in range(3):
        last = Link.remote(last)
    assert ray.get(last.add.remote(0)) == 3


def test_an_actor_hands_itself_out(ray):
    @ray.remote
    class Host:
        def __init__(self):
            self.guests = []

        def invite(self, guest):
            return [guest.visit.remote(ray.get_runtime_context().current_actor)]

        def welcome(self, name):
            self.guests.append(name)
            return self.guests

    @ray.remote
    class Guest:
        def visit(self, host):
            return ray.get(host.welcome.remote("guest"))

    host, guest = Host.remote(), Guest.remote()
    [visit] = ray.get(host.invite.remote(guest))
    assert ray.get(visit) == ["guest"]
    assert ray.get(host.welcome.remote("driver")) == ["guest", "driver"]


def test_two_actors_that_flood_each_other_both_finish(ray):
    @ray.remote
    class Flooder:
        def __init__(self):
            self.received = 0

        def flood(self, other):
            return [other.receive.remote(b"x" * 10_000) for _ in range(500)]

        def receive(self, water):
            self.received += len(water)
            return self.received

    first, second = Flooder.remote(), Flooder.remote()
    floods = ray.get([first.flood.remote(second), second.flood.remote(first)])
    for refs in floods:
        assert ray.get(refs) == [10_000 * (i + 1) for i in range(500)]


def test_each_callers_calls_run_in_the_order_made(ray):
    @ray.remote
    class Log:
        def __init__(self):
            self.entries = []

        def add(self, caller, number):
            self.entries.append((caller, number))

        def read(self):
            return self.entries

    @ray.remote
    def write(log, caller):
        ray.get([log.add.remote(caller, number) for number in range(100)])

    log = Log.remote()
    writers = [write.remote(log, caller) for caller in "ab"]
    ray.get([log.add.remote("driver", number) for number in range(100)])
    ray.get(writers)
    entries = ray.get(log.read.remote())
    for caller in ("a", "b", "driver"):
        assert [number for name, number in entries if name == caller] == list(range(100))


def test_a_method_is_callable_through_a_variable(ray, counter):
    actor = counter.remote()
    increment = actor.increment
    name = "increment"
    assert ray.get([increment.remote(), getattr(actor, name).remote()]) == [1, 2]


def test_a_handle_shows_its_class_and_methods(ray, counter):
    actor = counter.remote()
    assert re.fullmatch(r"Actor\(.*Counter, [0-9a-f]+\)", repr(actor))
    assert {"increment", "pid"} <= set(dir(actor))
    assert isinstance(actor, ray.actor.ActorHandle)


def test_calls_made_before_the_last_handle_went_still_run(ray, counter):
    ref = counter.remote().increment.remote()
    assert ray.get(ref) == 1


@pytest.mark.needs_own_processes
def test_an_actor_without_handles_ends(ray, counter):
    actor = counter.remote()
    pid = ray.get(actor.pid.remote())
    del actor
    wait_until(lambda: not alive(pid))


@pytest.mark.needs_own_processes
def test_an_actor_ends_when_the_handle_in_another_process_goes(ray, counter):
    @ray.remote
    class Keeper:
        def keep(self, actor):
            self.actor = actor

        def use(self):
            return ray.get(self.actor.increment.remote())

        def drop(self):
            del self.actor

    keeper, actor = Keeper.remote(), counter.remote()
    pid = ray.get(actor.pid.remote())
    ray.get(keeper.keep.remote(actor))
    del actor
    assert ray.get(keeper.use.remote()) == 1
    ray.get(keeper.drop.remote())
    wait_until(lambda: not alive(pid))


@pytest.mark.needs_own_processes
def test_an_actor_ends_with_the_object_that_holds_its_last_handle(ray, counter):
    actor = counter.remote()
    pid = ray.get(actor.pid.remote())
    ref = ray.put([actor])
    del actor
    [actor] = ray.get(ref)
    assert ray.get(actor.increment.remote()) == 1
    del actor, ref
    wait_until(lambda: not alive(pid))


@pytest.mark.needs_own_processes
def test_a_handle_found_by_name_keeps_nothing_alive(ray, counter):
    actor = counter.options(name="weak").remote()
    pid = ray.get(actor.pid.remote())
    found = ray.get_actor("weak")
    assert ray.get(found.increment.remote()) == 1
    del actor
    wait_until(lambda: not alive(pid))
    death(ray, found.increment.remote)


@pytest.mark.needs_own_processes
def test_an_actor_ends_with_the_actor_that_made_it(ray, counter):
    @ray.remote
    class Maker:
        def make(self):
            self.made = counter.remote()
            return self.made

    maker = Maker.remote()
    made = ray.get(maker.make.remote())
    pid = ray.get(made.pid.remote())
    ray.kill(maker)
    wait_until(lambda: not alive(pid))
    assert isinstance(death(ray, made.increment.remote), ray.exceptions.ActorDiedError)


def test_a_method_of_a_handle_travels(ray):
    @ray.remote
    class Counter:
        def __init__(self):
            self.n = 0

        def add(self, k):
            self.n += k
            return self.n

    @ray.remote
    def use(add):
        return ray.get([add.remote(1), add.remote(k=2)])

    assert ray.get(use.remote(Counter.remote().add)) == [1, 3]


def test_remote_of_a_method_has_a_signature(ray):
    @ray.remote
    class Adder:
        def add(self, a, b=2):
            return a + b

    method = Adder.remote().add
    for remote in (method.remote, method.options(name="sum").remote):
        assert str(inspect.signature(remote)) == "(*args, **kwargs)"
