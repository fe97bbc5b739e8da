"""Types: every public name says them, and a checker takes the right ones from a user's program."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import rayshim
from rayshim.tests.typed import program

CHECKER = Path(sys.executable).parent / "basedpyright"
SEEN = ("__init__", "__call__", "__getitem__", "__iter__", "__len__", "__next__", "__anext__", "__enter__", "__exit__")


def public_modules():
    """The modules under Ray's own names, and the package itself."""
    top = ["actor", "client_builder", "cross_language", "exceptions", "job_config", "remote_function"]
    top += ["job_submission", "runtime_context", "runtime_env", "types"]
    yield from ["rayshim", *(f"rayshim.{name}" for name in top)]
    for folder in ("util", "dag", "experimental"):
        package = importlib.import_module(f"rayshim.{folder}")
        yield package.__name__
        yield from (m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))


def public_functions():
    """{function: how it is reached} of what these modules hand on, methods included."""
    found = {}

    def look(what, path):
        if isinstance(what, (staticmethod, classmethod)):
            what = what.__func__
        if isinstance(what, property):
            what = what.fget
        if not (callable(what) and getattr(what, "__module__", "").startswith("rayshim")):
            return
        if isinstance(what, type):
            for name, value in vars(what).items():
                if (not name.startswith("_") or name in SEEN) and not isinstance(value, type):
                    look(value, f"{path}.{name}")
        elif inspect.isfunction(function := inspect.unwrap(what)):
            found.setdefault(function, path)

    for module in public_modules():
        try:
            names = importlib.import_module(module)
        except ImportError as error:
            if error.name.startswith("rayshim"):
                raise
            continue  # it stands on a package that is not installed here
        for name in getattr(names, "__all__", None) or [name for name in dir(names) if not name.startswith("_")]:
            look(getattr(names, name, None), f"{module}.{name}")
    return found


def without_type(function):
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    told = function.__annotations__
    return [n for n in (*code.co_varnames[:count], "return") if n not in told and n not in ("self", "cls")]


@pytest.mark.filterwarnings("ignore")  # of deprecated names
def test_every_public_function_has_types():
    found = public_functions()
    assert len(found) > 400 and rayshim.get in found
    assert {path: lacks for function, path in found.items() if (lacks := without_type(function))} == {}


@pytest.mark.skipif(not CHECKER.exists(), reason="basedpyright is not installed: make lint installs it")
def test_a_checker_infers_the_types_of_a_program(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import rayshim as ray\n@ray.remote\ndef f(x: int) -> str:\n    return str(x)\nn: int = ray.get(f.remote(1))\n"
    )
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"extraPaths": ["{Path(rayshim.__file__).parents[1]}"], "typeCheckingMode": "standard"}}'
    )

    def check(path):
        command = [CHECKER, "--project", tmp_path, "--pythonpath", sys.executable, "--level", "error", path]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=150, cwd=tmp_path)
        return ran.returncode, ran.stdout

    assert check(program.__file__)[0] == 0, check(program.__file__)[1]
    status, told = check(wrong)
    assert status == 1 and "wrong.py:5" in told and '"str" is not assignable to "int"' in told, told


def test_the_typed_program_runs(capsys):
    program.main()
    assert "1 3\n" in capsys.readouterr().out
