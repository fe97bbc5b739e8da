"""A task or an actor whose environment cannot be set up is no error of the call that makes it: `get` of its results raises RuntimeEnvSetupError."""

import pytest

TIMEOUT = 60


def bad():
    return {"conda": {"dependencies": ["this-does-not-exist"]}}


@pytest.mark.parametrize("options", [{}, {"num_returns": 2}, {"max_retries": 2}], ids=str)
def test_get_of_a_task_raises_it(ray, options):
    @ray.remote
    def pair():
        return 1, 2

    refs = pair.options(runtime_env=bad(), **options).remote()
    for ref in refs if isinstance(refs, list) else [refs]:
        with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match="Failed to set up runtime environment"):
            ray.get(ref, timeout=TIMEOUT)
    assert ray.get(pair.remote(), timeout=TIMEOUT) == (1, 2)


def test_the_first_ref_of_a_generator_raises_it(ray):
    @ray.remote
    def counted():
        yield 1

    with pytest.raises(ray.exceptions.RuntimeEnvSetupError):
        ray.get(next(counted.options(runtime_env=bad()).remote()), timeout=TIMEOUT)


@pytest.mark.parametrize("options", [{}, {"max_restarts": 1}], ids=str)
def test_every_call_of_an_actor_raises_it(ray, options):
    @ray.remote
    class Actor:
        def method(self):
            return 1

    actor = Actor.options(runtime_env=bad(), **options).remote()
    first = actor.method.remote()
    for ref in first, actor.method.remote():
        with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match="Failed to set up runtime environment"):
            ray.get(ref, timeout=TIMEOUT)
    assert ray.get(Actor.remote().method.remote(), timeout=TIMEOUT) == 1


def test_the_name_of_such_an_actor_is_free_then(ray):
    @ray.remote
    class Actor:
        def method(self):
            return 1

    actor = Actor.options(runtime_env=bad(), name="not-set-up").remote()
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError):
        ray.get(actor.method.remote(), timeout=TIMEOUT)
    with pytest.raises(ValueError, match="Failed to look up actor with name 'not-set-up'"):
        ray.get_actor("not-set-up")


def test_tasks_in_a_task_raise_it_too(ray):
    @ray.remote
    def inner():
        return 1

    @ray.remote
    def outer():
        try:
            return ray.get(inner.options(runtime_env=bad()).remote(), timeout=TIMEOUT)
        except ray.exceptions.RuntimeEnvSetupError:
            return "not set up"

    assert ray.get([outer.remote() for _ in range(2)], timeout=TIMEOUT * 2) == ["not set up"] * 2
