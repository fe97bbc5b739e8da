"""What a runtime context answers when the session has ended, and in the next session."""

import pytest

NOT_STARTED = "Ray has not been started yet"


@pytest.fixture
def ended(bare_ray, backend):
    """A runtime context whose session has ended."""
    backend.init(num_cpus=2)
    context = bare_ray.get_runtime_context()
    bare_ray.shutdown()
    return context


def test_there_is_one_context_and_it_serves_the_next_session(bare_ray, backend):
    backend.init(num_cpus=2, namespace="first")
    context = bare_ray.get_runtime_context()
    assert context is bare_ray.get_runtime_context()
    bare_ray.shutdown()
    backend.init(num_cpus=2, namespace="second")
    assert context is bare_ray.get_runtime_context()
    assert context.namespace == "second"
    assert context.get_node_id() == bare_ray.nodes()[0]["NodeID"]


def test_ids_are_not_available(bare_ray, ended):
    for name, what in {
        "get_job_id": "Job ID",
        "get_node_id": "Node ID",
        "get_worker_id": "Worker ID",
        "get_session_name": "Session name",
    }.items():
        with pytest.raises(RuntimeError, match=f"^{what} is not available because Ray has not been initialized"):
            getattr(ended, name)()
    with pytest.raises(AssertionError, match="Temp directory is not available"):
        ended.get_temp_dir()
    assert not bare_ray.is_initialized()


def test_there_is_no_task_and_no_actor(bare_ray, ended):
    for name in ("get_task_id", "get_actor_id", "get_task_name", "get_actor_name", "get_task_function_name"):
        assert getattr(ended, name)() is None
    with pytest.raises(AssertionError, match="Current mode: None"):
        ended.get_assigned_resources()
    with pytest.raises(AssertionError, match="Current mode: None"):
        _ = ended.was_current_actor_reconstructed
    assert not bare_ray.is_initialized()


def test_other_facts_need_a_session(bare_ray, ended):
    for ask in (
        lambda: ended.gcs_address,
        lambda: ended.current_actor,
        ended.get_node_labels,
        ended.get_accelerator_ids,
    ):
        with pytest.raises(bare_ray.exceptions.RaySystemError, match=NOT_STARTED):
            ask()
    assert not bare_ray.is_initialized()
