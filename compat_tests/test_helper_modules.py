"""Helpers in Ray's own modules that programs import: cloudpickle's, those of runtime environments, states, compiled graphs and groups."""

import importlib
import io
import json
import pickle
import uuid

import pytest


def module(ray, name):
    return importlib.import_module(f"{ray.__name__}.{name}")


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
