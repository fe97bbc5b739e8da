"""What errors say of an actor."""

import pytest


def test_the_error_of_a_dead_actor_has_the_qualified_name_of_its_class(ray):
    @ray.remote
    class Mortal:
        def ping(self):
            return "pong"

    actor = Mortal.remote()
    assert ray.get(actor.ping.remote()) == "pong"
    ray.kill(actor)
    name = "test_the_error_of_a_dead_actor_has_the_qualified_name_of_its_class.<locals>.Mortal"
    with pytest.raises(ray.exceptions.ActorDiedError, match=f"class_name: {name}"):
        ray.get(actor.ping.remote(), timeout=10)


@pytest.mark.needs_concurrency
def test_the_error_of_too_many_calls_names_the_actor(ray, gate):
    @ray.remote(max_pending_calls=1)
    class Busy:
        def work(self):
            gate.enter()

    actor = Busy.remote()
    first = actor.work.remote()
    with pytest.raises(ray.exceptions.PendingCallsLimitExceeded) as caught:
        for _ in range(3):
            actor.work.remote()
    assert f"The task work could not be submitted to {actor!r} because more than 1 tasks are queued on the actor" in str(caught.value)
    gate.open()
    ray.get(first)


def test_the_qualified_name_is_in_what_refuses_a_plain_call_and_a_subclass(ray):
    @ray.remote
    class Base:
        pass

    name = f"{test_the_qualified_name_is_in_what_refuses_a_plain_call_and_a_subclass.__name__}.<locals>.Base"
    with pytest.raises(TypeError, match=f"Instead of '{name}\\(\\)', use '{name}.remote\\(\\)'"):
        Base()
    with pytest.raises(TypeError, match=f"Attempted to define subclass 'Derived' of actor class '{name}'"):

        class Derived(Base):
            pass


def test_the_traceback_of_a_script_has_its_line(scripts):
    scripts.write("script.py", """
        import ray
        INIT

        @ray.remote
        def fail():
            raise ValueError("found by its line")

        try:
            ray.get(fail.remote())
        except ValueError as error:
            print(error)
    """)
    driver = scripts.start("script.py")
    assert driver.finish() == 0
    assert 'raise ValueError("found by its line")' in driver.out and "script.py" in driver.out
