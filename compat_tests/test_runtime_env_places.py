"""The fields of a RuntimeEnv and of the option of a task or an actor are checked when they are given; local:// names a directory that is used in place."""

import re
from importlib import import_module
from pathlib import Path

import pytest

REFUSED = {
    "no directory": ({"working_dir": "/no/such"}, ValueError, "/no/such is not a valid path."),
    "a path object": ({"working_dir": Path("/")}, TypeError, f"`working_dir` must be a string, got {type(Path('/'))}."),
    "a number": ({"working_dir": 1}, TypeError, "`working_dir` must be a string, got <class 'int'>."),
    "no archive": (
        {"working_dir": "s3://bucket/work"},
        ValueError,
        "Only .zip, .tar.gz, .tgz, .tar.xz files are supported for working_dir URIs; got s3://bucket/work.",
    ),
    "no such scheme": (
        {"working_dir": "ftp://work.zip"},
        ValueError,
        "ftp://work.zip is not a valid URI. Passing directories or modules to be dynamically uploaded is only supported at the job level",
    ),
    "a relative local place": ({"working_dir": "local://work"}, ValueError, "the path must be absolute."),
    "a local archive": ({"working_dir": "local:///a.zip"}, ValueError, "the path must be a directory, not a .zip archive."),
    "no list of modules": ({"py_modules": "a"}, TypeError, "`py_modules` must be a list of strings, got <class 'str'>."),
    "a module itself": ({"py_modules": [re]}, TypeError, "`py_module` must be a string, got <class 'module'>."),
    "no such module": ({"py_modules": ["/no/such"]}, ValueError, "/no/such is not a valid path."),
    "no archive of modules": (
        {"py_modules": ["s3://bucket/a"]},
        ValueError,
        "Only .zip, .whl, .tar.gz, .tgz, .tar.xz files are supported for py_modules URIs; got s3://bucket/a.",
    ),
    "one pattern": ({"excludes": "a"}, TypeError, "runtime_env['excludes'] must be of type List[str], got <class 'str'>"),
    "a number among packages": ({"pip": [1]}, TypeError, "runtime_env['pip'] must be of type str or List[str], got <class 'list'>"),
    "a number among options": (
        {"pip": {"packages": ["a"], "pip_install_options": [1]}},
        TypeError,
        "runtime_env['pip']['pip_install_options'] must be of type list[str] got <class 'int'> for 0-th item.",
    ),
    "a number among packages of uv": (
        {"uv": {"packages": ["a", 1]}},
        TypeError,
        "runtime_env['uv']['packages'] must be of type list[str] got <class 'int'> for 1-th item.",
    ),
    "no conda environment": ({"conda": "/no/such"}, ValueError, "Can't find conda env directory /no/such."),
    "an empty list beside uv": (
        {"pip": [], "uv": ["a"]},
        ValueError,
        "The 'pip' field, 'uv' field, and 'conda' field of runtime_env cannot be specified at the same time.",
    ),
}


class Empty:
    pass


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_field_is_refused_where_it_is_given(ray, name):
    env, kind, words = REFUSED[name]
    one = ray.remote(lambda: 1)
    for give in (
        lambda: import_module(f"{ray.__name__}.runtime_env").RuntimeEnv(**env),
        lambda: one.options(runtime_env=env),
        lambda: ray.remote(runtime_env=env)(lambda: 1),
        lambda: ray.remote(Empty).options(runtime_env=env),
        lambda: ray.remote(runtime_env=env)(Empty),
    ):
        with pytest.raises(kind, match=re.escape(words)):
            give()


def test_a_runtime_env_keeps_fields_as_they_are_given(ray, tmp_path):
    def hook():
        pass

    (tmp_path / "data.txt").write_text("")
    RuntimeEnv = import_module(f"{ray.__name__}.runtime_env").RuntimeEnv
    for fields in (
        {"worker_process_setup_hook": hook},
        {"working_dir": str(tmp_path)},
        {"working_dir": str(tmp_path / "data.txt")},
        {"working_dir": f"local://{tmp_path}"},
        {"working_dir": "s3://bucket/work.zip"},
        {"working_dir": ""},
        {"py_modules": [str(tmp_path), "s3://bucket/a.whl"]},
        {"_nsight": "default"},
    ):
        assert dict(RuntimeEnv(**fields)) == fields
    assert dict(RuntimeEnv(nsight="default")) == {"_nsight": "default"}


@pytest.mark.needs_own_processes
def test_a_task_and_an_actor_may_have_a_local_directory_that_is_used_in_place(bare_ray, backend, tmp_path):
    (tmp_path / "data.txt").write_text("here")
    (tmp_path / "compat_in_place.py").write_text("answer = 42\n")
    backend.init(num_cpus=2, log_to_driver=False)

    def look():
        from compat_in_place import answer

        return Path("data.txt").read_text(), answer

    class Looking:
        def look(self):
            return look()

    env = {"working_dir": f"local://{tmp_path}"}
    assert bare_ray.get(bare_ray.remote(look).options(runtime_env=env).remote()) == ("here", 42)
    actor = bare_ray.remote(Looking).options(runtime_env=env).remote()
    assert bare_ray.get(actor.look.remote()) == ("here", 42)
