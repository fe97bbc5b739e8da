"""The classes of which programs make plugins of runtime environments, and what a RuntimeEnv tells of less common fields."""

import importlib
import json
import sys

import pytest


@pytest.fixture
def private(ray):
    return lambda name: importlib.import_module(f"{ray.__name__}._private.runtime_env.{name}")


@pytest.fixture
def env(ray):
    return importlib.import_module(f"{ray.__name__}.runtime_env").RuntimeEnv


def test_a_plugin_has_a_name_and_a_priority(private):
    class Plugin(private("plugin").RuntimeEnvPlugin):
        name = "mine"

    plugin = Plugin()
    assert (plugin.name, plugin.priority, private("plugin").RuntimeEnvPlugin.name) == ("mine", 10, None)
    assert plugin.get_uris({}) == []
    assert plugin.validate({"mine": 1}) is None
    assert plugin.modify_context([], {}, None, None) is None
    assert plugin.delete_uri("mine://1", None) == 0
    assert private("constants").RAY_RUNTIME_ENV_PLUGINS_ENV_VAR == "RAY_RUNTIME_ENV_PLUGINS"


def test_a_context_travels_as_text(private):
    context = private("context").RuntimeEnvContext(env_vars={"A": "1"})
    assert (context.command_prefix, context.py_executable, context.java_jars) == ([], sys.executable, [])
    context.env_vars["B"] = "2"
    again = private("context").RuntimeEnvContext.deserialize(context.serialize())
    assert vars(again) == vars(context)
    assert json.loads(context.serialize())["env_vars"] == {"A": "1", "B": "2"}


def test_fields_of_plugins(env):
    assert env(env_vars={"A": "1"}, mine={"level": 2}).plugins() == [("mine", {"level": 2})]
    assert env(env_vars={"A": "1"}).plugins() == env().plugin_uris() == []


def test_an_environment_of_conda_and_of_pip(env):
    assert env(conda={"dependencies": ["a"]}).conda_config() == '{"dependencies": ["a"]}'
    assert env(conda="name").conda_config() is env().conda_config() is None
    assert env(pip=["a"]).virtualenv_name() is env().virtualenv_name() is None


def test_a_container(env):
    image = env(container={"image": "some", "run_options": ["--rm"]})
    assert (image.py_container_run_options(), image.py_container_worker_path()) == (["--rm"], "")
    assert env().py_container_run_options() is env().py_container_worker_path() is None
