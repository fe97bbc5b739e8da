"""What the runtime context says of deprecated names, and of questions that the driver cannot ask."""

import logging
import warnings

import pytest

_DEPRECATED = {
    "job_id": "get_job_id()",
    "node_id": "get_node_id()",
    "task_id": "get_task_id()",
    "actor_id": "get_actor_id()",
    "current_placement_group_id": "get_placement_group_id()",
    "get_resource_ids": "get_accelerator_ids()",
    "get": "get_xxx_id() methods",
}


def _warned(context, name):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = getattr(context, name)
        if name.startswith("get"):
            found()
    return [(one.category.__mro__[1].__name__, one.category.__name__, str(one.message)) for one in seen]


def test_deprecated_names_warn_in_a_task(ray):
    @ray.remote
    def seen():
        return {name: _warned(ray.get_runtime_context(), name) for name in _DEPRECATED}

    for name, told in ray.get(seen.remote()).items():
        assert told[0][:2] == ("DeprecationWarning", "RayDeprecationWarning"), name
        assert "deprecated and may be removed" in told[0][2] and f"Use {_DEPRECATED[name]}" in told[0][2], name


def test_names_that_are_not_deprecated_do_not_warn(ray):
    context = ray.get_runtime_context()
    for name in ("get_job_id", "get_node_id", "get_worker_id", "get_accelerator_ids", "namespace", "gcs_address", "runtime_env"):
        assert _warned(context, name) == [], name


def test_the_driver_is_told_that_it_runs_no_task(ray, caplog):
    context = ray.get_runtime_context()
    for name in ("get_task_id", "get_task_name", "get_task_function_name", "get_actor_name"):
        caplog.clear()
        handler, logger = caplog.handler, logging.getLogger("ray")
        logger.addHandler(handler)
        try:
            assert getattr(context, name)() is None
        finally:
            logger.removeHandler(handler)
        assert "only available when the process is a worker. Current mode: 0" in caplog.text, name


def test_an_async_actor_cannot_ask_whether_it_is_cancelled(ray):
    @ray.remote
    class Asks:
        async def asks(self):
            with pytest.raises(RuntimeError, match="not supported in an async actor"):
                ray.get_runtime_context().is_canceled()
            return True

    assert ray.get(Asks.remote().asks.remote())


@pytest.mark.parametrize("size", [0, -1])
def test_a_pool_refuses_batches_without_items(ray, size):
    from importlib import import_module

    pool = import_module(f"{ray.__name__}.util.multiprocessing").Pool(1)
    for run in (lambda items: pool.map(abs, items, size), lambda items: pool.starmap(max, [(1, item) for item in items], size)):
        with pytest.raises(AssertionError):
            run([1, 2])
        assert run([]) == []
    pool.terminate()
