"""Classes and functions that describe something and start nothing."""

import importlib
import uuid

import pytest


def module(ray, name):
    return importlib.import_module(f"{ray.__name__}.{name}")


def test_a_logging_config_checks_its_fields_and_becomes_a_dict(bare_ray):
    Config = bare_ray.LoggingConfig
    fields = {"encoding": "JSON", "log_level": "DEBUG", "additional_log_standard_attrs": ["name"]}
    config = Config(**fields)
    assert config.to_dict() == fields and Config.from_dict(fields) == config
    assert (Config().encoding, Config().log_level, Config().additional_log_standard_attrs) == ("TEXT", "INFO", [])
    with pytest.raises(ValueError, match="Invalid encoding type: X"):
        Config(encoding="X")
    with pytest.raises(ValueError, match="Unknown python logging standard attribute: nope"):
        Config(additional_log_standard_attrs=["nope"])


def test_a_job_config_takes_its_parts_one_by_one(bare_ray):
    config = bare_ray.job_config.JobConfig()
    config.set_metadata("key", "value")
    config.set_ray_namespace("space")
    config.set_runtime_env({"env_vars": {"A": "1"}})
    config.set_py_logging_config(bare_ray.LoggingConfig())
    config.set_default_actor_lifetime("detached")
    assert (config.metadata, config.ray_namespace) == ({"key": "value"}, "space")
    assert config.runtime_env["env_vars"] == {"A": "1"}
    assert config.py_logging_config == bare_ray.LoggingConfig()
    with pytest.raises(ValueError, match="Default actor lifetime must be one of"):
        config.set_default_actor_lifetime("for ever")
    assert bare_ray.job_config.JobConfig.from_json({"metadata": {"a": "b"}, "runtime_env": {}}).metadata == {"a": "b"}


def test_a_runtime_env_config_has_known_fields(bare_ray):
    Config = module(bare_ray, "runtime_env").RuntimeEnvConfig
    assert {"setup_timeout_seconds", "eager_install"} <= set(Config.known_fields)
    assert Config.parse_and_validate_runtime_env_config({"setup_timeout_seconds": 3})["setup_timeout_seconds"] == 3
    assert Config.default_config() == Config()
    with pytest.raises(ValueError):
        Config(setup_timeout_seconds=0)
    with pytest.raises(TypeError):
        Config(setup_timeout_seconds="x")


def test_bundles_of_a_placement_group_are_validated(bare_ray):
    groups = module(bare_ray, "util.placement_group")
    groups.validate_placement_group([{"CPU": 1}])
    for wrong in ([], ["x"], {"CPU": 1}):
        with pytest.raises(ValueError):
            groups.validate_placement_group(wrong)
    with pytest.raises(ValueError, match="Invalid placement group strategy X"):
        groups.validate_placement_group([{"CPU": 1}], strategy="X")
    with pytest.raises(ValueError, match="lifetime"):
        groups.validate_placement_group([{"CPU": 1}], lifetime="x")


def test_an_empty_placement_group_has_no_bundles(bare_ray):
    groups = module(bare_ray, "util.placement_group")
    empty = groups.PlacementGroup.empty()
    assert empty.is_empty and empty.id.is_nil()
    groups.check_placement_group_index(empty, -1)
    with pytest.raises(ValueError, match="If placement group is not set, the value of bundle index must be -1"):
        groups.check_placement_group_index(empty, 0)


def test_states_of_jobs_are_strings(bare_ray):
    Status = module(bare_ray, "job_submission").JobStatus
    ended = {status for status in Status if status.is_terminal()}
    assert ended == {Status.STOPPED, Status.SUCCEEDED, Status.FAILED}
    assert Status.PENDING == "PENDING" and Status.RUNNING.value == "RUNNING" and Status("FAILED") is Status.FAILED


def test_a_job_info_becomes_json_and_back(bare_ray):
    jobs = module(bare_ray, "job_submission")
    info = jobs.JobInfo(status=jobs.JobStatus.RUNNING, entrypoint="run", metadata={"a": "b"})
    assert info.message and jobs.JobInfo.from_json(info.to_json()) == info


def test_a_text_is_logged_once(bare_ray):
    log_once = module(bare_ray, "util.debug").log_once
    key = uuid.uuid4().hex
    assert [log_once(key), log_once(key), log_once(key + "another")] == [True, False, True]


@pytest.mark.filterwarnings("ignore:This API is deprecated:DeprecationWarning")
def test_the_driver_has_a_runtime_context_without_task_and_actor(ray):
    context = ray.get_runtime_context()
    assert (context.get_task_id(), context.get_actor_id(), context.get_actor_name(), context.get_task_name()) == (None,) * 4
    assert context.get_placement_group_id() is None and context.current_placement_group_id.is_nil()
    assert {"job_id", "node_id", "namespace"} <= set(context.get())
    assert context.get_runtime_env_string() == "{}" and context.runtime_env == {}
    assert context.get_resource_ids() == context.get_accelerator_ids()
    assert isinstance(context, module(ray, "runtime_context").RuntimeContext)
