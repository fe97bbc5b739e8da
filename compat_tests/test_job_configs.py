"""The setting of logs in a JobConfig."""

import importlib

import pytest


@pytest.fixture
def config(ray):
    return importlib.import_module(f"{ray.__name__}.job_config").JobConfig()


def test_the_first_logging_config_stays(ray, config):
    config.ensure_logging_config(None)
    assert config.py_logging_config is None
    config.ensure_logging_config({"encoding": "JSON"})
    config.ensure_logging_config({"encoding": "TEXT"})
    assert isinstance(config.py_logging_config, ray.LoggingConfig) and config.py_logging_config.encoding == "JSON"


def test_another_kind_of_logging_config_is_refused(config):
    with pytest.raises(TypeError, match="logging_config must be a dict or LoggingConfig"):
        config.ensure_logging_config(5)
