"""Names of Ray that few programs use, and what they do."""

import importlib.util
import inspect
import io
import json
import os
import pickle
import uuid

import pytest


def module(ray, name):
    return importlib.import_module(f"{ray.__name__}.{name}")


def test_an_actor_class_tells_its_options(ray):
    @ray.remote(num_cpus=0.5, resources={"x": 1})
    class WithOptions:
        pass

    @ray.remote
    class Plain:
        pass

    assert WithOptions._default_options == {"num_cpus": 0.5, "resources": {"x": 1}} and Plain._default_options == {}
    told = WithOptions.__ray_metadata__
    assert (told.num_cpus, told.resources, told.max_restarts, told.max_task_retries, told.memory) == (0.5, {"x": 1}, 0, 0, None)
    assert Plain.__ray_metadata__.num_cpus is None and Plain.__ray_metadata__ is Plain.__ray_metadata__


def test_an_actor_class_tells_its_methods(ray):
    @ray.remote
    class Counter:
        def __init__(self, start, step=1):
            pass

        def plain(self, x, *, y=2):
            pass

        @ray.method(num_returns=2, max_task_retries=3)
        def two(self):
            pass

        def stream(self):
            yield 1

        @staticmethod
        def static(a):
            pass

        @classmethod
        def of_class(cls, b):
            pass

    methods = Counter.__ray_metadata__.method_meta
    own = ("__init__", "plain", "two", "stream", "static", "of_class")
    assert set(own) < set(methods.methods) and {"__ray_ready__", "__ray_call__", "__ray_terminate__"} < set(methods.methods)
    assert {name: [p.name for p in methods.signatures[name] if p.name != "_ray_trace_ctx"] for name in own} == {
        "__init__": ["start", "step"], "plain": ["x", "y"], "two": [], "stream": [], "static": ["a"], "of_class": ["b"]
    }
    assert methods.signatures["plain"][1].kind is inspect.Parameter.KEYWORD_ONLY and methods.signatures["plain"][1].default == 2
    assert methods.num_returns["two"] == 2 and methods.num_returns["plain"] is None and methods.max_task_retries == {"two": 3}
    assert [name for name, found in methods.method_is_generator.items() if found] == ["stream"]
    assert not methods.has_tensor_transport_methods and methods.concurrency_group_for_methods == {}


def test_the_modified_class_of_an_actor_class_is_a_subclass_of_the_programs(ray):
    class Plain:
        """Text."""

        def f(self):
            return 3

    found = ray.remote(Plain).__ray_metadata__.modified_class
    assert found is not Plain and found.__mro__[1] is Plain and found.__ray_actor_class__ is Plain
    assert (found.__name__, found.__module__) == ("Plain", __name__)
    assert found().f() == 3 and found().__ray_ready__() and found().__ray_call__(lambda self, x: self.f() + x, 1) == 4

    @ray.remote
    class Derived(found):
        def g(self):
            return self.f() + 1

    actor = Derived.remote()
    assert ray.get([actor.f.remote(), actor.g.remote(), actor.__ray_call__.remote(lambda self: self.g())]) == [3, 4, 4]
    ray.get(actor.__ray_ready__.remote())


def test_cloudpickle_tells_what_cannot_be_pickled(bare_ray, capsys, monkeypatch):
    cloudpickle = module(bare_ray, "cloudpickle")
    monkeypatch.delenv("RAY_PICKLE_VERBOSE_DEBUG", raising=False)
    file = io.BytesIO()
    cloudpickle.dump_debug([1, lambda: 2], file)
    assert pickle.loads(file.getvalue())[1]() == 2
    generator = (x for x in ())
    for name, call in (("dump", lambda: cloudpickle.dump_debug(generator, io.BytesIO())), ("dumps", lambda: cloudpickle.dumps_debug(generator))):
        with pytest.raises(TypeError, match=rf"(?s)ray.cloudpickle.{name}\(.*RAY_PICKLE_VERBOSE_DEBUG=1"):
            call()
    assert capsys.readouterr().out == ""
    monkeypatch.setenv("RAY_PICKLE_VERBOSE_DEBUG", "1")
    with pytest.raises(TypeError, match="cannot pickle 'generator' object"):
        cloudpickle.dump_debug(generator, io.BytesIO())
    assert "Checking Serializability" in capsys.readouterr().out


def test_cloudpickle_lists_the_modules_that_it_pickles_by_value(bare_ray):
    cloudpickle = module(bare_ray, "cloudpickle")
    assert "json" not in cloudpickle.list_registry_pickle_by_value()
    cloudpickle.register_pickle_by_value(json)
    try:
        assert "json" in cloudpickle.list_registry_pickle_by_value()
    finally:
        cloudpickle.unregister_pickle_by_value(json)
    assert "json" not in cloudpickle.list_registry_pickle_by_value()


def test_runtime_environments_are_merged(bare_ray):
    runtime_env = module(bare_ray, "runtime_env.runtime_env")
    assert runtime_env.RuntimeEnv is bare_ray.runtime_env.RuntimeEnv
    assert runtime_env.RuntimeEnvConfig is bare_ray.runtime_env.RuntimeEnvConfig
    merge = runtime_env._merge_runtime_env
    assert merge(None, None) == {} and merge({"env_vars": {"A": "1"}}, None) == {"env_vars": {"A": "1"}}
    outer, inner = {"working_dir": "x", "env_vars": {"A": "1"}}, {"config": {}, "env_vars": {"B": "2"}}
    assert merge(outer, inner) == {"working_dir": "x", "config": {}, "env_vars": {"A": "1", "B": "2"}}
    assert merge(outer, {"working_dir": "y"}) is None and merge(outer, {"env_vars": {"A": "2"}}) is None
    assert merge(outer, {"working_dir": "y", "env_vars": {"A": "2"}}, override=True) == {"working_dir": "y", "env_vars": {"A": "2"}}
    assert outer == {"working_dir": "x", "env_vars": {"A": "1"}}


@pytest.mark.parametrize("name", ["common", "exception", "util", "api"])
@pytest.mark.filterwarnings("ignore")
def test_the_state_api_has_its_former_places(bare_ray, name):
    former = module(bare_ray, f"experimental.state.{name}")
    now = module(bare_ray, f"util.state.{name}" if name != "api" else "util.state")
    public = {"common": "ListApiOptions", "exception": "RayStateApiException", "util": "convert_string_to_type", "api": "list_actors"}[name]
    assert getattr(former, public) is getattr(now, public)


@pytest.mark.parametrize(
    ("value", "kind", "made"),
    [("3", int, 3), ("1.5", float, 1.5), ("true", bool, True), ("0", bool, False), (None, int, None), (True, bool, True), (2, float, 2.0)],
)
def test_texts_become_numbers_and_bools(bare_ray, value, kind, made):
    found = module(bare_ray, "util.state.util").convert_string_to_type(value, kind)
    assert found == made and type(found) is type(made)


def test_texts_that_are_no_numbers_and_bools(bare_ray):
    convert = module(bare_ray, "util.state.util").convert_string_to_type
    for value, kind in (("x", int), ("x", float), ("yes", bool)):
        with pytest.raises(ValueError, match="Failed to convert a value"):
            convert(value, kind)
    with pytest.raises(AssertionError, match="Unsupported convert type"):
        convert("x", list)


def test_helpers_of_the_state_api(bare_ray):
    common = module(bare_ray, "util.state.common")
    exception = module(bare_ray, "util.state.exception")
    assert common.PredicateType is str and common.DEFAULT_DOWNLOAD_FILENAME == "file.txt"
    assert common.DRIVER_TASK_ID_PREFIX == "f" * 40 and common.ActorState in common.AVAILABLE_STATES
    assert common.resource_to_schema(common.StateResource.NODES) is common.NodeState
    assert common.remove_ansi_escape_codes("\x1b[36m(f pid=1)\x1b[0m x") == "(f pid=1) x"
    fields = {"placement_group_id": "1", "name": "n", "creator_job_id": "2", "state": "CREATED"}
    made = common.dict_to_state(fields, common.StateResource.PLACEMENT_GROUPS)
    assert isinstance(made, common.PlacementGroupState) and made.name == "n" and made.bundles is None
    with pytest.raises(exception.RayStateApiException, match="Failed to convert"):
        common.dict_to_state({"x": 1}, common.StateResource.PLACEMENT_GROUPS)
    assert common.filter_fields({**fields, "bundles": [], "x": 1}, common.PlacementGroupState, detail=False) == fields


def test_the_defaults_of_compiled_graphs(bare_ray):
    context = module(bare_ray, "dag.context")
    made = context.DAGContext()
    assert (context.DEFAULT_SUBMIT_TIMEOUT_S, context.DEFAULT_GET_TIMEOUT_S) == (made.submit_timeout, made.get_timeout) == (10, 10)
    assert context.DEFAULT_TEARDOWN_TIMEOUT_S == made.teardown_timeout == 30
    assert context.DEFAULT_READ_ITERATION_TIMEOUT_S == made.read_iteration_timeout == 0.1
    assert context.DEFAULT_BUFFER_SIZE_BYTES == made.buffer_size_bytes == 1_000_000
    assert context.DEFAULT_MAX_INFLIGHT_EXECUTIONS == made.max_inflight_executions == 10
    assert context.DEFAULT_MAX_BUFFERED_RESULTS == made.max_buffered_results == 1000
    assert context.DEFAULT_OVERLAP_GPU_COMMUNICATION is made.overlap_gpu_communication is False


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


def test_names_under_which_the_members_of_a_group_meet(ray):
    const, util = module(ray, "util.collective.const"), module(ray, "util.collective.util")
    assert len(const.get_store_name("group")) == 64 and const.get_store_name("group") == const.get_store_name("group")
    with pytest.raises(ValueError, match="group_name is None"):
        const.get_store_name("")
    assert const.ENV.NCCL_USE_MULTISTREAM.val is True
    store = util.NCCLUniqueIDStore.remote("store")
    assert ray.get(store.get_id.remote()) is None
    assert ray.get(store.set_id.remote(b"id")) == b"id"
    assert ray.get([store.wait_and_get_id.remote(), store.get_id.remote()]) == [b"id"] * 2
    info = util.Info.remote()
    assert ray.get(info.get_info.remote()) == (None, -1, -1, None, 30000)
    ray.get(info.set_info.remote(["a"], 1, [0], "gloo", 5))
    assert ray.get(info.get_info.remote()) == (["a"], 1, [0], "gloo", 5)


def test_backends_of_groups_are_registered(bare_ray):
    name = f"mine_{uuid.uuid4().hex}"  # a backend stays registered in its process
    registry = module(bare_ray, "util.collective.backend_registry")
    types = module(bare_ray, "util.collective.types")
    base = module(bare_ray, "util.collective.collective_group.base_collective_group").BaseGroup
    collective = module(bare_ray, "util.collective")

    class Mine(base):
        @classmethod
        def backend(cls):
            return name.upper()

        @classmethod
        def check_backend_availability(cls):
            return True

    found = registry.BackendRegistry()
    assert found is registry.BackendRegistry() and found.is_registered("gloo") and not found.is_registered(name)
    assert not found.check(name) and not collective.is_backend_available(name)
    with pytest.raises(ValueError, match="not registered"):
        found.get(name)
    with pytest.raises(ValueError, match="Unrecognized backend"):
        types.Backend(name)
    with pytest.raises(TypeError, match="subclass of BaseGroup"):
        registry.register_collective_backend(name, int)
    registry.register_collective_backend(name, Mine)
    assert found.get(name.title()) is Mine and found.check(name) and collective.is_backend_available(name)
    assert types.Backend(name) == name.upper()
    with pytest.raises(ValueError, match=f"{name.upper()} already registered"):
        collective.register_collective_backend(name, Mine)


def test_details_of_a_job_as_json(bare_ray):
    jobs = module(bare_ray, "job_submission")
    details = jobs.JobDetails(
        type="SUBMISSION", status="RUNNING", entrypoint="é", driver_info=jobs.DriverInfo(id="1", node_ip_address="2", pid="3")
    )
    told = details.model_dump_json()
    assert told.startswith('{"type":"SUBMISSION","job_id":null,') and '"entrypoint":"é"' in told
    assert json.loads(told) == details.model_dump() and list(details.model_dump())[-1] == "driver_exit_code"
    assert details.driver_info.model_dump_json() == '{"id":"1","node_ip_address":"2","pid":"3"}'


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
