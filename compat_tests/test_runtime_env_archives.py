"""Runtime environments from archives and wheels, and the types of their fields."""

import os
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_own_processes


def _files():
    return sorted(os.path.join(folder, name)[2:] for folder, _, names in os.walk(".") for name in names)


def _zip(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("top/data.txt", "of the archive")
        file.writestr("readme.txt", "read me")
    return str(path)


def _tar(path):
    with tarfile.open(path, "w:gz") as file:
        (path.parent / "data.txt").write_text("of the archive")
        file.add(path.parent / "data.txt", "top/data.txt")
        file.add(path.parent / "data.txt", "readme.txt")
    return str(path)


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_working_dir_may_be_an_archive(bare_ray, backend, tmp_path, kind):
    archive = (_zip if kind == "zip" else _tar)(tmp_path / f"work.{kind}")
    backend.init(num_cpus=1, log_to_driver=False, runtime_env={"working_dir": archive})
    assert bare_ray.get(bare_ray.remote(_files).remote()) == ["readme.txt", "top/data.txt"]
    assert bare_ray.get(bare_ray.remote(lambda: Path("top/data.txt").read_text()).remote()) == "of the archive"


def test_a_wheel_may_be_one_of_py_modules(bare_ray, backend, tmp_path):
    wheel = tmp_path / "shown_wheel-0.1-py3-none-any.whl"
    about = "shown_wheel-0.1.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("shown_wheel/__init__.py", "NUMBER = 4\n")
        file.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: shown-wheel\nVersion: 0.1\n")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", "".join(f"{name},,\n" for name in [*file.namelist(), f"{about}/RECORD"]))
    backend.init(num_cpus=1, log_to_driver=False, runtime_env={"py_modules": [str(wheel)]})

    @bare_ray.remote
    def number():
        import shown_wheel

        return shown_wheel.NUMBER

    assert bare_ray.get(number.remote()) == 4


def test_what_is_no_directory_and_no_archive_is_refused(bare_ray, backend, tmp_path):
    (tmp_path / "data.txt").write_text("")
    for path in ("data.txt", "nothing"):
        with pytest.raises(ValueError, match=r"must be an existing directory or a supported archive \(.zip, .tar.gz, .tgz, .tar.xz\)"):
            backend.init(num_cpus=1, runtime_env={"working_dir": str(tmp_path / path)})
        bare_ray.shutdown()
    with pytest.raises(ValueError, match=r"py_modules entry must be a .py file, a directory, or a .whl file"):
        backend.init(num_cpus=1, runtime_env={"py_modules": [_zip(tmp_path / "modules.zip")]})


def test_variables_that_do_not_exist_are_left_out(bare_ray, backend, monkeypatch):
    monkeypatch.delenv("NOT_THERE", raising=False)
    given = {"A": "/x:${NOT_THERE}", "B": "${A}y", "C": "$NOT_THERE", "D": "${not_there}"}
    backend.init(num_cpus=1, log_to_driver=False, runtime_env={"env_vars": given})
    found = bare_ray.get(bare_ray.remote(lambda: [os.environ[name] for name in "ABCD"]).remote())
    assert found == ["/x:", "/x:y", "$NOT_THERE", "${not_there}"]


WRONG = [
    ({"env_vars": {"A": 1}}, TypeError, r"Dict\[str, str\], but the value 1 is of type"),
    ({"env_vars": ["a"]}, TypeError, r"Dict\[str, str\], got"),
    ({"config": 3}, TypeError, "of type dict or RuntimeEnvConfig"),
    ({"config": {"setup_timeout_seconds": 0}}, ValueError, "greater than zero"),
    ({"pip": 3}, TypeError, r"runtime_env\['pip'\] must be of type str or List\[str\]"),
    ({"pip": "no_such_file.txt"}, ValueError, "no_such_file.txt is not a valid file"),
    ({"pip": {"foo": 1}}, ValueError, "can only have these fields: packages, pip_check, pip_install_options and pip_version"),
    ({"uv": 3}, TypeError, r"runtime_env\['uv'\] must be of type List\[str\], or dict"),
    ({"conda": 3}, TypeError, r"runtime_env\['conda'\] must be of type str or dict"),
    ({"pip": ["a"], "conda": "b"}, ValueError, "cannot be specified at the same time"),
    ({"container": {"image": "a"}, "pip": ["a"]}, ValueError, "cannot be used together with other fields"),
]


def test_wrong_types_of_fields_are_refused_where_they_are_given(bare_ray, backend):
    backend.init(num_cpus=1, log_to_driver=False)
    function = bare_ray.remote(lambda: 1)
    for env, error, text in WRONG:
        with pytest.raises(error, match=text):
            function.options(runtime_env=env)
        with pytest.raises(error, match=text):
            bare_ray.remote(runtime_env=env)(lambda: 1)
        with pytest.raises(error, match=text):
            bare_ray.runtime_env.RuntimeEnv(**env)
