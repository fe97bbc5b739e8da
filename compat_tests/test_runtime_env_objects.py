"""The fields of a `RuntimeEnv` have one form, however they were given."""

import importlib

import pytest


@pytest.fixture
def env(bare_ray):
    return importlib.import_module(f"{bare_ray.__name__}.runtime_env").RuntimeEnv


def test_packages_are_a_dict(env, bare_ray, tmp_path):
    wanted = {"packages": ["numpy", "torch"], "pip_check": False}
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("numpy\ntorch\n")
    for given in (["numpy", "torch"], ["numpy", "torch", "numpy"], str(requirements), {"packages": ["numpy", "torch"]}):
        made = env(pip=given)
        assert dict(made) == {"pip": wanted, "_ray_commit": bare_ray.__commit__}
        assert made["pip"] == made.get("pip") == made.to_dict()["pip"] == made.pip_config() == wanted
        assert made.has_pip()
    assert env(pip={"packages": ["numpy"], "pip_check": True, "pip_version": "==22"})["pip"] == {
        "packages": ["numpy"], "pip_check": True, "pip_version": "==22"}
    assert env(uv=["numpy"])["uv"] == {"packages": ["numpy"], "uv_check": False}
    assert env(uv={"packages": ["numpy"]})["uv"] == {"packages": ["numpy"], "uv_check": False, "uv_pip_install_options": ["--no-cache"]}


@pytest.mark.parametrize("fields", [{"pip": []}, {"uv": []}, {"env_vars": {}}, {"excludes": []}])
def test_an_empty_field_is_left_out(env, fields):
    assert dict(env(**fields)) == {} and not env(**fields)
    made = env()
    for name, value in fields.items():
        made[name] = value
    assert dict(made) == {}


def test_the_form_is_the_same_where_a_field_is_set_later(env):
    made = env(env_vars={"A": "b"})
    made["pip"] = ["numpy", "numpy"]
    made.set("config", {"eager_install": False})
    assert dict(made) == {"env_vars": {"A": "b"}, "pip": {"packages": ["numpy"], "pip_check": False},
                          "config": {"setup_timeout_seconds": 600, "eager_install": False, "log_files": []}}
    assert made.working_dir() == ""


@pytest.mark.rayshim_only
def test_packages_that_are_installed_may_be_asked_for_in_any_form(bare_ray, env, backend):
    backend.init(num_cpus=1, runtime_env=env(pip=["numpy", "# a remark"]))
    assert bare_ray.get(bare_ray.remote(lambda: 1).remote()) == 1
