"""In a clone whose core is not built, each way to start says in one sentence what to do."""

import importlib
import importlib.machinery
import os
import shutil
import subprocess
import sys

import pytest
import reactor

import rayshim


@pytest.fixture
def clone(tmp_path):
    root = tmp_path / "clone"
    for package in (rayshim, reactor):
        source = os.path.dirname(package.__file__)
        shutil.copytree(
            source, root / package.__name__, ignore=shutil.ignore_patterns("tests", "native", "__pycache__", "*.so")
        )
    (root / "Makefile").write_text("")
    (root / "program.py").write_text("print('started')")
    return root


def start(arguments, clone, *paths):
    # -S: without the site-packages in which the core of the tests' own installation is found
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=clone,
        env={"PYTHONPATH": ":".join(map(str, paths)), "PATH": ""},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("arguments", [["rayshim", "program.py"], ["rayshim", "--help"], ["reactor", "program.lf"]])
def test_a_command_prints_one_sentence(clone, arguments):
    done = start(["-m", *arguments], clone)
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1, done.stderr
    assert str(clone) in done.stderr and "make .venv/built" in done.stderr and "pip install" in done.stderr


def test_an_import_raises_it(clone):
    done = start(["-c", "import rayshim"], clone)
    assert done.returncode == 1 and "make .venv/built" in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("ImportError: ")


def test_a_core_that_is_built_elsewhere_is_named(clone, tmp_path):
    (tmp_path / "site" / "reactor").mkdir(parents=True)
    (tmp_path / "site" / "reactor" / f"_core{importlib.machinery.EXTENSION_SUFFIXES[0]}").write_text("")
    done = start(["-m", "rayshim", "program.py"], clone, tmp_path / "site")
    assert done.returncode == 2 and f"installed in {tmp_path / 'site'}" in done.stderr
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "built").write_text("")
    done = start(["-m", "rayshim", "program.py"], clone)
    assert done.returncode == 2 and str(clone / ".venv" / "bin" / "python") in done.stderr


def test_the_built_package_has_its_core():
    assert rayshim.__file__ and importlib.import_module("reactor._core").epoch() >= 0
