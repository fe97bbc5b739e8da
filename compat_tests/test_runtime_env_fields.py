"""Fields of runtime_env that Ray does not know, and single files as modules."""

from importlib import import_module

import pytest


def test_unknown_fields_are_accepted(bare_ray, backend):
    backend.init(num_cpus=1, runtime_env={"compat_unknown": 1})
    one = bare_ray.remote(lambda: 1)
    assert bare_ray.get(one.options(runtime_env={"compat_unknown": {"a": 1}, "env_vars": {"COMPAT": "1"}}).remote()) == 1


def test_so_does_the_class(ray):
    env = import_module(f"{ray.__name__}.runtime_env").RuntimeEnv(compat_unknown=1)
    env["compat_other"] = 2
    assert dict(env) == {"compat_unknown": 1, "compat_other": 2}


@pytest.mark.parametrize("empty", [[], (), "", {}])
def test_empty_variables_are_none_whatever_they_are(ray, empty):
    assert dict(import_module(f"{ray.__name__}.runtime_env").RuntimeEnv(env_vars=empty)) == {}
    one = ray.remote(lambda: 1)
    assert ray.get(one.options(runtime_env={"env_vars": empty}).remote()) == 1


def test_a_file_is_a_module_for_workers(bare_ray, backend, tmp_path):
    (tmp_path / "compat_one_file.py").write_text("answer = 42\n")
    backend.init(num_cpus=1, runtime_env={"py_modules": [str(tmp_path / "compat_one_file.py")]})

    @bare_ray.remote
    def read():
        import compat_one_file

        return compat_one_file.answer

    assert bare_ray.get(read.remote()) == 42


@pytest.mark.rayshim_only
def test_the_user_is_told_once_of_an_unknown_field(bare_ray, backend, caplog):
    field = f"compat_told_{backend.name}"
    backend.init(num_cpus=1, runtime_env={field: 1})
    one = bare_ray.remote(lambda: 1)
    assert bare_ray.get([one.options(runtime_env={field: k}).remote() for k in range(3)]) == [1, 1, 1]
    assert len([message for message in caplog.messages if f"{field!r}: ...}} is ignored" in message]) == 1
