"""Concurrency groups, calls that go past others, limits of pending calls, cancelling calls of actors."""

import asyncio
import threading

import pytest


@pytest.mark.needs_concurrency
def test_a_busy_group_does_not_hold_up_another(ray, gate):
    @ray.remote(concurrency_groups={"slow": 1, "quick": 1})
    class Actor:
        @ray.method(concurrency_group="slow")
        def wait(self):
            gate.enter()

        @ray.method(concurrency_group="quick")
        def ping(self):
            return "pong"

        def default(self):
            return "default"

    actor = Actor.remote()
    waiting = [actor.wait.remote() for _ in range(2)]
    assert ray.get([actor.ping.remote(), actor.default.remote()], timeout=30) == ["pong", "default"]
    gate.open()
    ray.get(waiting)


@pytest.mark.needs_concurrency
def test_each_group_of_an_async_actor_has_an_event_loop_of_its_own(ray):
    @ray.remote(concurrency_groups={"a": 2, "b": 2})
    class Actor:
        @ray.method(concurrency_group="a")
        async def in_a(self):
            return threading.get_ident()

        @ray.method(concurrency_group="a")
        def plain_in_a(self):
            return threading.get_ident()

        @ray.method(concurrency_group="b")
        async def in_b(self):
            return threading.get_ident()

        async def nowhere(self):
            return threading.get_ident()

    actor = Actor.remote()
    a, plain, b, default, moved = ray.get([
        actor.in_a.remote(), actor.plain_in_a.remote(), actor.in_b.remote(), actor.nowhere.remote(),
        actor.in_a.options(concurrency_group="b").remote(),
    ])
    assert a == plain and b == moved and len({a, b, default}) == 3


@pytest.mark.needs_concurrency
def test_a_group_of_one_thread_keeps_its_thread_local_data(ray):
    @ray.remote(concurrency_groups={"io": 1})
    class Actor:
        def __init__(self):
            self.local = threading.local()

        def store(self, value):
            self.local.value = value

        def load(self):
            return getattr(self.local, "value", None)

    actor = Actor.remote()
    ray.get(actor.store.options(concurrency_group="io").remote("kept"))
    assert ray.get(actor.load.options(concurrency_group="io").remote()) == "kept"
    assert ray.get(actor.load.remote()) is None


@pytest.mark.needs_concurrency
def test_a_call_whose_argument_is_missing_holds_up_its_own_group_only(ray, gate):
    @ray.remote
    def late():
        gate.enter()
        return "late"

    @ray.remote(concurrency_groups={"a": 1, "b": 1})
    class Actor:
        @ray.method(concurrency_group="a")
        async def in_a(self, value):
            return value

        @ray.method(concurrency_group="b")
        def in_b(self, value):
            return value

    actor = Actor.remote()
    held = actor.in_a.remote(late.remote())
    assert ray.get([actor.in_b.remote(i) for i in range(3)], timeout=30) == [0, 1, 2]
    gate.open()
    assert ray.get(held) == "late"


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("options", [{"max_concurrency": 2}, {"allow_out_of_order_execution": True}])
def test_calls_that_may_go_first_do_not_wait_for_anothers_argument(ray, gate, options):
    @ray.remote
    def late():
        gate.enter()
        return "late"

    @ray.remote(**options)
    class Actor:
        def echo(self, value):
            return value

    actor = Actor.remote()
    held = actor.echo.remote(late.remote())
    assert ray.get([actor.echo.remote(i) for i in range(3)], timeout=30) == [0, 1, 2]
    gate.open()
    assert ray.get(held) == "late"


def test_an_actor_that_runs_calls_at_once_cannot_promise_their_order(ray):
    class Async:
        async def f(self):
            pass

    class Plain:
        def f(self):
            pass

    for cls, options, kind in ((Async, {}, "async"), (Plain, {"max_concurrency": 2}, "multi-threaded")):
        with pytest.raises(ValueError, match=f"If you're using {kind} actors, Ray can't execute actor tasks in order. Set `allow_out_of"):
            ray.remote(allow_out_of_order_execution=False, **options)(cls).remote()


@pytest.mark.needs_concurrency
def test_more_calls_than_max_pending_calls_are_refused(ray, gate):
    @ray.remote(max_pending_calls=3)
    class Actor:
        def wait(self):
            gate.enter()
            return "done"

    actor = Actor.remote()
    calls = [actor.wait.remote() for _ in range(3)]
    with pytest.raises(ray.exceptions.PendingCallsLimitExceeded):
        actor.wait.remote()
    gate.open()
    assert ray.get(calls) == ["done"] * 3
    assert ray.get(actor.wait.remote()) == "done"


@pytest.mark.needs_concurrency
def test_a_cancelled_async_call_gets_a_cancelled_error(ray, tmp_path, gate):
    @ray.remote
    class Actor:
        async def wait(self):
            (tmp_path / "began").touch()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                (tmp_path / "cancelled").touch()
                raise

        async def ping(self):
            return "pong"

    actor = Actor.remote()
    ref = actor.wait.remote()
    while not (tmp_path / "began").exists():
        pass
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref, timeout=30)
    assert ray.get(actor.ping.remote()) == "pong"
    assert (tmp_path / "cancelled").exists()


@pytest.mark.needs_concurrency
def test_a_running_plain_call_can_ask_whether_it_was_cancelled(ray, gate):
    @ray.remote
    class Actor:
        def wait(self):
            gate.enter()
            self.seen = ray.get_runtime_context().is_canceled()
            return "value"

        def ask(self):
            return self.seen

    actor = Actor.remote()
    ref = actor.wait.remote()
    while gate.inside() < 1:
        pass
    ray.cancel(ref)
    gate.open()
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref)
    assert ray.get(actor.ask.remote())


@pytest.mark.needs_concurrency
def test_an_async_call_cannot_ask_whether_it_was_cancelled(ray):
    @ray.remote
    class Actor:
        async def ask(self):
            return ray.get_runtime_context().is_canceled()

    with pytest.raises(RuntimeError):
        ray.get(Actor.remote().ask.remote())


@pytest.mark.needs_concurrency
def test_concurrent_calls_know_their_own_task_and_name(ray):
    @ray.remote
    class Actor:
        async def who(self):
            before = ray.get_runtime_context().get_task_id()
            await asyncio.sleep(0.01)
            assert ray.get_runtime_context().get_task_id() == before
            return before

    actor = Actor.remote()
    refs = [actor.who.remote() for _ in range(5)]
    assert ray.get(refs) == [ref.task_id().hex() for ref in refs]


def test_an_attribute_named_as_a_method_does_not_hide_it_from_callers(ray):
    @ray.remote
    class Actor:
        def __init__(self):
            self.ready = "attribute"

        def ready(self):
            return self.ready

    assert ray.get(Actor.remote().ready.remote()) == "attribute"


def test_class_attributes_and_class_methods_are_reached_through_the_actor_class(ray):
    class Base:
        LIMIT = 3

    @ray.remote
    class Actor(Base):
        @classmethod
        def double(cls):
            return 2 * cls.LIMIT

        def both(self):
            return Actor.LIMIT, Actor.double()

    assert (Actor.LIMIT, Actor.double()) == (3, 6)
    assert ray.get(Actor.remote().both.remote()) == (3, 6)


def test_an_actor_class_cannot_be_a_base_class(ray):
    @ray.remote
    class Actor:
        pass

    with pytest.raises(TypeError, match="Inheriting from actor classes is not"):

        class Derived(Actor):
            pass


def test_a_task_cannot_be_an_async_function(ray):
    with pytest.raises(ValueError):

        @ray.remote
        async def f():
            pass


@pytest.mark.needs_own_processes
def test_an_actor_that_passes_on_a_handle_to_itself_still_ends_with_its_callers_handle(ray):
    import os

    from compat_tests import processes

    @ray.remote
    class Keeper:
        def keep(self, handle):
            self.handle = handle

    @ray.remote
    class Actor:
        def introduce(self, keeper):
            ray.get(keeper.keep.remote(ray.get_runtime_context().current_actor))
            return os.getpid()

    keeper, actor = Keeper.remote(), Actor.remote()
    pid = ray.get(actor.introduce.remote(keeper))
    del actor
    processes.wait_until(lambda: not processes.alive(pid))


@pytest.mark.parametrize("selector", [{"zone": "in(a,, b)"}, {"zone": "==x"}, {"-zone": "a"}, {"a!b/zone": "a"}])
def test_a_label_selector_is_checked_where_it_is_written(ray, selector):
    with pytest.raises(ValueError):
        ray.remote(label_selector=selector)(type("A", (), {}))
    with pytest.raises(ValueError):
        ray.remote(fallback_strategy=[{"label_selector": selector}])(type("A", (), {}))


def test_awaiting_one_ref_several_times_gives_its_value_each_time(ray):
    @ray.remote
    def f():
        return 1

    async def main():
        ref = f.remote()
        first = ref.as_future()
        return await asyncio.gather(ref, first, ref)

    assert asyncio.run(main()) == [1, 1, 1]


@pytest.mark.needs_concurrency
def test_the_thread_of_an_event_loop_is_named_after_its_group(ray):
    @ray.remote(concurrency_groups={"io": 2})
    class Named:
        async def plain(self):
            return threading.current_thread().name

        @ray.method(concurrency_group="io")
        async def io(self):
            return threading.current_thread().name

    actor = Named.remote()
    assert ray.get([actor.plain.remote(), actor.io.remote()]) == ["AsyncIO Thread: default", "AsyncIO Thread: io"]
