"""Values that calls return: refs, what can be awaited, what cannot be pickled; and calls that give a generator where their number is limited."""

import pytest


def test_a_plain_method_of_an_async_actor_returns_a_ref_as_it_is(ray):
    @ray.remote
    class Async:
        def ref(self):
            return ray.put(3)

        def given(self, refs):
            return refs[0]

        async def awaits(self):
            return ray.put(4)

    actor = Async.remote()
    for ref in actor.ref.remote(), actor.given.remote([ray.put(3)]):
        inner = ray.get(ref)
        assert isinstance(inner, ray.ObjectRef) and ray.get(inner) == 3
    assert ray.get(ray.get(actor.awaits.remote())) == 4


def test_a_plain_method_of_an_async_actor_returns_what_can_be_awaited_as_it_is(ray):
    class Waits:
        def __await__(self):
            raise AssertionError

    @ray.remote
    class Async:
        def made(self):
            return Waits()

        async def nothing(self):
            pass

    assert type(ray.get(Async.remote().made.remote())).__name__ == "Waits"


@pytest.mark.needs_processes
def test_generators_count_among_the_pending_calls_of_a_handle(ray):
    @ray.remote(max_pending_calls=2)
    class Counts:
        def values(self):
            yield 1
            yield 2

        def one(self):
            return 1

    actor = Counts.remote()
    for _ in range(3):
        assert [ray.get(ref) for ref in actor.values.remote()] == [1, 2]
        assert ray.get(actor.one.remote()) == 1


@pytest.mark.parametrize("num_returns", [0, 9])
def test_wait_names_a_wrong_list_before_a_wrong_number(ray, num_returns):
    ref = ray.put(1)
    with pytest.raises(ValueError, match="unique"):
        ray.wait([ref, ref], num_returns=num_returns)
    with pytest.raises(TypeError, match="got list containing"):
        ray.wait([ref, 1], num_returns=num_returns)


def test_the_error_of_a_result_that_cannot_be_pickled_ends_as_pickle_says_it(ray):
    import threading

    @ray.remote
    def lock():
        return {"a": threading.Lock()}

    with pytest.raises(ray.exceptions.RayTaskError) as caught:
        ray.get(lock.remote())
    assert isinstance(caught.value, TypeError) and type(caught.value.cause) is TypeError
    assert "TypeError: cannot pickle '_thread.lock' object" in str(caught.value).splitlines()  # notes of newer Pythons follow
    assert "lock()" in str(caught.value).splitlines()[0]
    assert str(caught.value.cause) == "cannot pickle '_thread.lock' object"
