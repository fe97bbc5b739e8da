"""`get` and `wait` for refs of a session that has ended, when no new one has begun."""

import importlib

import pytest


@pytest.fixture
def stale(backend, bare_ray):
    backend.init(num_cpus=1)
    refs = [bare_ray.remote(lambda: 1).remote(), bare_ray.put(2)]
    assert bare_ray.get(refs) == [1, 2]
    bare_ray.shutdown()
    return refs


@pytest.mark.parametrize("ask", [
    lambda ray, refs: ray.get(refs[0]),
    lambda ray, refs: ray.get(refs),
    lambda ray, refs: ray.wait(refs),
], ids=["get", "get a list", "wait"])
def test_an_old_ref_begins_a_session_that_does_not_know_it(bare_ray, stale, ask):
    with pytest.raises(ValueError, match="whose owner is unknown"):
        ask(bare_ray, stale)
    assert bare_ray.is_initialized()


@pytest.mark.parametrize("options", [{}, {"force": True}, {"recursive": False}])
def test_a_call_of_an_ended_session_has_no_owner_that_could_cancel_it(backend, bare_ray, stale, options):
    for ref in stale:
        with pytest.raises(TypeError, match="No owner found for object"):
            bare_ray.cancel(ref, **options)
    assert bare_ray.is_initialized()
    for ref in [bare_ray.ObjectRef.nil(), bare_ray.ObjectRef.from_random()]:
        with pytest.raises(TypeError, match="No owner found for object"):
            bare_ray.cancel(ref, **options)


@pytest.mark.rayshim_only
def test_a_task_and_an_actor_for_a_group_of_an_ended_session_are_refused_at_once(backend, bare_ray):
    class Member:
        pass

    strategies = importlib.import_module(f"{bare_ray.__name__}.util.scheduling_strategies")
    backend.init(num_cpus=1)
    group = bare_ray.util.placement_group([{"CPU": 1}])
    assert group.wait(30)
    bare_ray.shutdown()
    backend.init(num_cpus=1)
    for made in (lambda: 1, Member):
        with pytest.raises(ValueError, match=f"there is no placement group {group.id.hex()} in this session"):
            bare_ray.remote(made).options(scheduling_strategy=strategies.PlacementGroupSchedulingStrategy(group)).remote()
