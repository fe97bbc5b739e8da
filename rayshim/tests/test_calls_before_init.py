"""Functions of the API that begin a session, also where they then refuse their arguments, as on Ray."""

import pytest

import rayshim


@pytest.fixture(autouse=True)
def no_session():
    rayshim.shutdown()
    yield
    rayshim.shutdown()


@pytest.mark.parametrize(
    "call",
    [
        lambda: rayshim.get(1),
        lambda: rayshim.get([1]),
        lambda: rayshim.get([]),
        lambda: rayshim.wait(1),
        lambda: rayshim.wait([]),
        lambda: rayshim.cancel(1),  # pyright: ignore[reportArgumentType]
        lambda: rayshim.kill(1),  # pyright: ignore[reportArgumentType]
        lambda: rayshim.get_actor(""),
        lambda: rayshim.get_gpu_ids(),
        lambda: rayshim.util.placement_group([]),
    ],
)
def test_a_call_begins_a_session(call):
    try:
        call()
    except (TypeError, ValueError):
        pass
    assert rayshim.is_initialized()


@pytest.mark.parametrize(
    "call", [rayshim.nodes, rayshim.cluster_resources, rayshim.available_resources, rayshim.timeline]
)
def test_facts_of_the_cluster_need_a_session(call):
    with pytest.raises((rayshim.exceptions.RaySystemError, RuntimeError)):
        call()
    assert not rayshim.is_initialized()
