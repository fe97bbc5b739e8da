"""`python -m rayshim script.py` is `python script.py`, but for what `import ray` means."""

import os
import signal
import subprocess
import sys
import zipapp
import zipfile
from importlib import metadata

import pytest

from rayshim.cli import run, split_program
from rayshim.session.version import RAY_VERSION, VERSION

LOOK = """
import sys, os, ray, ray.exceptions, pickle, pprint
class Thing: pass
print(__name__, sys.argv, sys.path[0], __file__, __spec__, __package__, sorted(globals())[:10])
print(sys.modules["__main__"].Thing is Thing, type(pickle.loads(pickle.dumps(Thing()))) is Thing)
print(ray.exceptions.RayError.__module__)
"""


def start(arguments, cwd, module="rayshim", text=None):
    path = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
    program = ["-m", module] if module else []
    return subprocess.run(
        [sys.executable, *program, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        cwd=cwd,
        input=text,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def script(tmp_path):
    def write(text, name="program.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        return name

    return write


@pytest.mark.parametrize(
    "argv, split",
    [
        (["a.py", "--help"], ([], False, "a.py", ["--help"])),
        (["-m", "pkg.mod", "-m", "x"], ([], True, "pkg.mod", ["-m", "x"])),
        (["--help"], (["--help"], False, None, [])),
        (["--new", "a.py", "--new"], (["--new"], False, "a.py", ["--new"])),
        (["--explain", "--graph", "g", "a.py"], (["--explain", "--graph", "g"], False, "a.py", [])),
        (["-m"], ([], True, None, [])),
        (["-mpkg.mod", "x"], ([], True, "pkg.mod", ["x"])),
        (["-cprint(1)", "x"], ([], False, "-c", ["print(1)", "x"])),
        (["-W", "error", "-Xdev", "-i", "a.py", "-W"], (["-W", "error", "-Xdev", "-i"], False, "a.py", ["-W"])),
        (["--explain", "--", "-a.py", "x"], (["--explain"], False, "-a.py", ["x"])),
        ([], ([], False, None, [])),
    ],
)
def test_options_end_at_the_program(argv, split):
    assert split_program(argv, run.parser) == split


@pytest.mark.parametrize("command", [[], ["run"]])
def test_a_script_sees_what_python_shows_it(script, tmp_path, command):
    name = script(LOOK, "sub/program.py")
    ours = start([*command, name, "-x", "--help", "run"], tmp_path)
    assert ours.returncode == 0, ours.stderr
    (tmp_path / "sub" / "ray").mkdir()
    (tmp_path / "sub" / "ray" / "__init__.py").write_text("")
    (tmp_path / "sub" / "ray" / "exceptions.py").write_text("class RayError: pass")
    pythons = start([name, "-x", "--help", "run"], tmp_path, module=None)
    *ours, who = ours.stdout.splitlines()
    *pythons, whom = pythons.stdout.splitlines()
    assert who == whom == "ray.exceptions"
    ignored = "'__annotations__', "  # made by Python for its own __main__ only
    assert [line.replace(ignored, "")[:150] for line in ours] == [line.replace(ignored, "")[:150] for line in pythons]
    assert ours[1] == "True True"


def test_a_module_runs_as_with_python_m(script, tmp_path):
    script(
        "import ray, sys; print(__name__, sys.argv[1:], sys.argv[0] == __file__, __package__, __spec__.name)",
        "pkg/tool.py",
    )
    script("", "pkg/__init__.py")
    done = start(["-m", "pkg.tool", "a", "-m"], tmp_path)
    assert done.stdout.strip() == "__main__ ['a', '-m'] True pkg pkg.tool", done.stderr
    script("import sys; print('main of', __package__, sys.argv[1:])", "pkg/__main__.py")
    assert start(["run", "-m", "pkg", "b"], tmp_path).stdout.strip() == "main of pkg ['b']"


def test_a_zip_archive_runs_as_with_python(script, tmp_path):
    script(
        """if True:
        import sys
        import neighbour
        import ray

        @ray.remote
        class Actor:
            def value(self):
                return neighbour.value

        if __name__ == "__main__":
            ray.init(num_cpus=1, logging_level="ERROR")
            print(ray.get(Actor.remote().value.remote()), sys.argv, __file__, __spec__.name)
        """,
        "app/__main__.py",
    )
    script("value = 7", "app/neighbour.py")
    zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz")
    done = start(["app.pyz", "-x"], tmp_path)
    assert done.stdout.strip() == f"7 ['app.pyz', '-x'] {os.path.join('app.pyz', '__main__.py')} __main__", done.stderr
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    done = start(["empty.zip"], tmp_path)
    assert (done.returncode, "can't find '__main__' module in 'empty.zip'" in done.stderr) == (1, True)


def test_pytest_warns_of_nothing(script, tmp_path):
    script("import ray\n\ndef test_it():\n    assert ray.get(ray.put(1)) == 1\n", "test_one.py")
    done = start(["-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "test_one.py"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout


def test_neighbours_of_the_script_import(script, tmp_path):
    script("value = 7", "sub/neighbour.py")
    name = script("import neighbour; print(neighbour.value)", "sub/program.py")
    assert start([name], tmp_path).stdout.strip() == "7"


@pytest.mark.parametrize("ending, status", [("raise SystemExit(7)", 7), ("sys.exit()", 0), ("", 0), ("os._exit(9)", 9)])
def test_the_exit_status_is_the_scripts(script, tmp_path, ending, status):
    done = start([script(f"import os, sys\n{ending}")], tmp_path)
    assert (done.returncode, done.stderr) == (status, "")


def test_sys_exit_with_a_message(script, tmp_path):
    done = start([script("import sys; sys.exit('done badly')")], tmp_path)
    assert (done.returncode, done.stderr) == (1, "done badly\n")


@pytest.mark.parametrize(
    "text",
    ["def f():\n    1 / 0\nf()\n", "def f(:\n", "try:\n    1/0\nexcept Exception as e:\n    raise KeyError from e"],
)
def test_an_exception_shows_as_python_shows_it(script, tmp_path, text):
    name = script(text)
    ours, pythons = start([name], tmp_path), start([name], tmp_path, module=None)
    assert ours.returncode == pythons.returncode == 1
    assert ours.stderr == pythons.stderr


def test_the_scripts_own_excepthook_is_called_once(script, tmp_path):
    name = script(
        "import sys\nsys.excepthook = lambda kind, error, tb: print('hook', error, tb.tb_lineno)\nraise ValueError(3)"
    )
    done = start([name], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "hook 3 3\n", "")


def test_an_interrupt_ends_the_program_by_the_signal(script, tmp_path):
    done = start([script("raise KeyboardInterrupt")], tmp_path)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.rstrip().endswith("KeyboardInterrupt") and "rayshim" not in done.stderr


def test_exit_handlers_run(script, tmp_path):
    done = start([script("import atexit; atexit.register(print, 'bye'); raise SystemExit(3)")], tmp_path)
    assert (done.returncode, done.stdout) == (3, "bye\n")


def test_a_missing_script(tmp_path):
    done = start(["nothing.py"], tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("rayshim: can't open file '") and "nothing.py" in done.stderr


def test_a_missing_module(tmp_path):
    done = start(["-m", "surely_not_there"], tmp_path)
    assert (done.returncode, done.stderr) == (1, "rayshim: No module named surely_not_there\n")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_help_shows_an_example(arguments, tmp_path):
    done = start(arguments, tmp_path)
    assert done.returncode == 0 and "example" in done.stdout and "train.py" in done.stdout


def test_version(tmp_path):
    done = start(["--version"], tmp_path)
    assert done.returncode == 0 and done.stdout == f"rayshim {VERSION}\n"


def test_package_and_module_have_one_version_and_under_the_alias_it_is_rays(tmp_path):
    assert metadata.version("rayshim") == VERSION
    shows = "import rayshim; print(rayshim.__version__); from rayshim import alias; alias.install(); import ray; print(ray.__version__)"
    done = subprocess.run([sys.executable, "-c", shows], cwd=tmp_path, text=True, capture_output=True, timeout=200)
    assert done.stdout.split() == [VERSION, RAY_VERSION], done.stderr


@pytest.mark.parametrize("arguments", [[], ["run"], ["--nonsense", "a.py"], ["run", "-m"]])
def test_a_wrong_command_line(arguments, tmp_path):
    done = start(arguments, tmp_path)
    assert done.returncode == 2 and "rayshim" in done.stderr and not done.stdout
    assert arguments == [] or done.stderr.count("\n") == 1
