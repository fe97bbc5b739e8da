"""Modules and names of earlier releases of Ray that programs still import."""

import importlib.util

import pytest


def module(ray, name):
    return importlib.import_module(f"{ray.__name__}.{name}")


@pytest.mark.parametrize("name", ["common", "exception", "util", "api"])
@pytest.mark.filterwarnings("ignore")
def test_the_state_api_has_its_former_places(bare_ray, name):
    former = module(bare_ray, f"experimental.state.{name}")
    now = module(bare_ray, f"util.state.{name}" if name != "api" else "util.state")
    public = {"common": "ListApiOptions", "exception": "RayStateApiException", "util": "convert_string_to_type", "api": "list_actors"}[name]
    assert getattr(former, public) is getattr(now, public)


def test_a_pool_has_its_actors(ray):
    multiprocessing = module(ray, "util.multiprocessing")
    former = module(ray, "experimental.multiprocessing")
    assert module(ray, "util.multiprocessing.pool").RAY_ADDRESS_ENV == "RAY_ADDRESS"
    assert issubclass(former.Pool, multiprocessing.Pool) and former.TimeoutError is multiprocessing.TimeoutError
    pool = former.Pool(2)
    try:
        assert pool.map(abs, [-1, -2]) == [1, 2]
        assert len(pool._actor_pool) == 2 and sorted(count for _, count in pool._actor_pool) == [1, 1]
        ray.get([actor.ping.remote() for actor, _ in pool._actor_pool])
    finally:
        pool.terminate()


def test_former_names_of_private_modules(ray):
    private = module(ray, "_private.worker")
    assert ray.worker.global_worker is private.global_worker and ray.worker.get is private.get
    assert ray.state.jobs() == module(ray, "_private.state").jobs()
    assert ray.serialization.SerializationContext is module(ray, "_private.serialization").SerializationContext
    context = ray.serialization.SerializationContext(None)
    assert context.serialize(b"x" * 1000).total_bytes >= 1000
    with pytest.raises(AttributeError):
        ray.worker.no_such_name
    with pytest.raises(AttributeError):
        ray.state.no_such_name


def test_functions_that_start_a_session(bare_ray):
    assert {"get", "put", "wait", "get_actor", "get_runtime_context"} < bare_ray.AUTO_INIT_APIS
    assert {"init", "remote", "shutdown"} < bare_ray.NON_AUTO_INIT_APIS and not bare_ray.AUTO_INIT_APIS & bare_ray.NON_AUTO_INIT_APIS
    assert not bare_ray.is_initialized()


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="one of these modules is that of Ray's package")
def test_modules_of_earlier_releases_without_a_session(scripts):
    source = """
        import warnings

        warnings.simplefilter("ignore")
        import ray
        from ray._private.gcs_utils import ActorTableData
        from ray._private.memory_monitor import MemoryMonitor, RayOutOfMemoryError, get_top_n_memory_usage
        from ray.experimental.state.custom_types import TypeActorStatus

        used, total = MemoryMonitor().get_memory_usage()
        print(0 < used < total, "ALIVE" in TypeActorStatus.__args__, ActorTableData(pid=3).pid)
        print(get_top_n_memory_usage(1).startswith("PID"), ray.log.__name__, bool(ray.ray_constants.DEFAULT_PORT))
    """
    assert scripts.run(source).split() == ["True", "True", "3", "True", "ray._private.log", "True"]
