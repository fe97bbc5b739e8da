"""Which environment variables the modules of a process depend on."""

import subprocess
import sys

import pytest

_PROGRAM = """if True:
    import os, sys
    sys.path.insert(0, sys.argv[1])
    from reactor.runtime.spawning import imported_with
    with imported_with.watched():
        import reads_variables
    os.environ.get("READ_LATER")
    os.environ["SET"] = "1"
    print(*(imported_with.others({name: value}) for name, value in (pair.split("=") for pair in sys.argv[2:])))
"""
_MODULE = """
import os
os.environ.get("BY_GET"), "BY_IN" in os.environ, os.getenv("BY_GETENV"), os.environb.get(b"BY_BYTES"), os.environ.get("SET")
"""


@pytest.mark.parametrize(
    ("variable", "matters"),
    [
        ("BY_GET=1", True),
        ("BY_IN=1", True),
        ("BY_GETENV=1", True),
        ("BY_BYTES=1", True),
        ("SET=1", False),  # the value that it has
        ("SET=2", True),
        ("READ_LATER=1", False),
        ("ANY=1", False),
        ("PYTHONHASHSEED=3", True),
        ("PYTHONUNBUFFERED=1", False),
        ("LC_ALL=C", True),
        ("LANGUAGE_MODEL=x", False),
        ("OMP_NUM_THREADS=3", False),
        ("TORCH_LOGS=x", False),  # torch is not there
    ],
)
def test_a_variable_matters_if_an_import_has_read_another_value(tmp_path, variable, matters):
    (tmp_path / "reads_variables.py").write_text(_MODULE)
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path), variable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == [str(matters)], done.stderr


_HIDES = """if True:
    import os, sys
    sys.path.insert(0, sys.argv[1])
    import hidden
    from reactor.runtime.spawning import imported_with
    from reactor.runtime.worker import plugin
    print(*(imported_with.hides([directory], plugin) for directory in sys.argv[2:]))
"""


def test_modules_of_a_directory_are_hidden_by_others_of_the_same_names(tmp_path):
    def module(path):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()

    module("environment/hidden/__init__.py")  # in a directory of the program, as a virtual environment may be
    for path in (
        "package/hidden/__init__.py",
        "file/hidden.py",
        "built/hidden.so",
        "stdlib/random.py",
        "other/shown.py",
        "data/hidden/data.txt",
    ):
        module(path)
    directories = ["package", "file", "built", "stdlib", "other", "data", "environment", "absent", "."]
    arguments = [str(tmp_path / name) for name in ["environment", *directories]]
    done = subprocess.run([sys.executable, "-c", _HIDES, *arguments], capture_output=True, text=True, check=True)
    assert dict(zip(directories, done.stdout.split(), strict=True)) == {
        "package": "True", "file": "True", "built": "True", "stdlib": "False", "other": "False", "data": "False",
        "environment": "False", "absent": "False", ".": "False",
    }  # fmt: skip
