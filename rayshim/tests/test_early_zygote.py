"""Under `python -m rayshim` the process that starts the workers begins with the program. Workers must not show it."""

import os
import signal
import subprocess
import sys
import time

import pytest
from reactor.runtime.processes import descendants

BEGIN = """
import os, sys
from pathlib import Path

def children():
    with_parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                with_parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                pass
    return [pid for pid, parent in with_parents.items() if parent == os.getpid()]

(early,) = children()

import ray

def start(**options):
    ray.init(num_cpus=2, logging_level="ERROR", **options)
    from rayshim.session import session
    return session.current.driver.zygote

def outside(function, *args):
    return ray.get(ray.remote(function).remote(*args))
"""


def run(text, directory, *, code=0, options=(), **how):
    (directory / "script.py").write_text(BEGIN + text)
    ran = subprocess.run(
        [sys.executable, "-m", "rayshim", *options, "script.py"],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=100,
        **how,
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout.split("\n")[:-1]


def ends(pid):
    deadline = time.monotonic() + 30
    while descendants.lives(pid):  # dead, it may still be there, if this process is its parent now
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            return False
        time.sleep(0.01)
    return True


def test_it_is_the_zygote_and_has_imported_what_the_program_has(tmp_path):
    shown = run(
        """
import gymnasium
print(start() == early, children() == [early])
print(outside(lambda: [name in sys.modules for name in ("numpy", "gymnasium", "torch")]))
""",
        tmp_path,
    )
    assert shown == ["True True", "[True, True, False]"]


def test_a_module_that_is_only_looked_for_is_not_imported(tmp_path):
    shown = run(
        """
from importlib.util import find_spec
find_spec("gymnasium")
start()
print(outside(lambda: "gymnasium" in sys.modules))
""",
        tmp_path,
    )
    assert shown == ["False"]


CHANGES = {
    "environment": (
        "os.environ['A_NAME'] = 'a value'; del os.environ['REMOVED']",
        "os.environ.get('A_NAME'), os.environ.get('REMOVED')",
        ("a value", None),
    ),
    "directory": ("os.mkdir('other'); os.chdir('other')", "os.path.basename(os.getcwd())", "other"),
    "umask": ("os.umask(0o27)", "os.umask(0o27)", 0o27),
    "niceness": ("os.nice(3)", "os.nice(0) - int(os.environ['NICE'])", 18),  # as on Ray, a worker has 15 more
    "limit": (
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
        "__import__('resource').getrlimit(4)",
        (0, 0),
    ),
    "processors": (
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})",
        "len(os.sched_getaffinity(0))",
        1,
    ),
    "signal": (
        "import signal; signal.signal(signal.SIGUSR2, signal.SIG_IGN)",
        "int(__import__('signal').getsignal(12))",
        1,
    ),
    "path": (
        "os.mkdir('modules'); Path('modules/gymnasium.py').write_text('mine = 5'); sys.path.insert(0, os.path.abspath('modules'))",
        "__import__('gymnasium').mine",
        5,
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_the_program_changes_before_init_holds_for_workers(what, tmp_path):
    change, look, expected = CHANGES[what]
    shown = run(
        f"import numpy\n{change}\nstart()\nprint(outside(lambda: ({look})))",
        tmp_path,
        env={**os.environ, "REMOVED": "by the program", "NICE": str(os.nice(0))},
    )
    assert shown == [str(expected)]


def test_libraries_are_loaded_in_the_programs_environment(tmp_path):
    shown = run(
        """
import torch
os.environ["ATEN_CPU_CAPABILITY"] = "default"  # torch reads it when it is loaded
print(start() == early)
print(outside(lambda: __import__("torch").backends.cpu.get_cpu_capability()))
""",
        tmp_path,
    )
    assert shown == ["True", "DEFAULT"]


def test_output_goes_where_the_programs_goes_when_the_session_starts(tmp_path):
    run(
        """
file = os.open("told", os.O_CREAT | os.O_WRONLY)
os.dup2(file, 2)
start()
outside(lambda: 1)
os.kill(early, 11)  # its own last words go to its stderr
import time; time.sleep(1)
""",
        tmp_path,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
    )
    assert "Segmentation fault" in (tmp_path / "told").read_text()


def test_a_program_that_closes_all_descriptors_starts_all_the_same(tmp_path):
    shown = run(
        """
os.closerange(3, 1 << 20)
mine = [os.open(os.devnull, os.O_RDONLY) for _ in range(20)]
import numpy
print(start() == early)
print(outside(lambda: 1), [os.fstat(fd).st_rdev == os.stat(os.devnull).st_rdev for fd in mine] == [True] * 20)
""",
        tmp_path,
    )
    assert shown == ["False", "1 True"]


def test_one_that_died_is_replaced(tmp_path):
    died = "os.kill(early, 9)\nos.waitid(os.P_PID, early, os.WEXITED | os.WNOWAIT)\n"
    shown = run(died + "print(start() != early, outside(lambda: 1))", tmp_path)
    assert shown == ["True 1"]


def test_a_forked_child_starts_its_own(tmp_path):
    shown = run(
        """
if os.fork() == 0:
    print(start() != early, outside(lambda: 1), flush=True)
    ray.shutdown()
    os._exit(0)
pid, status = os.wait()
print(pid != early, status)
print(start() == early, outside(lambda: 2))
""",
        tmp_path,
    )
    assert shown == ["True 1", "True 0", "True 2"]


def test_a_second_session_has_another(tmp_path):
    shown = run(
        "first = start()\nray.shutdown()\nprint(children())\nprint(first == early, start() != early, outside(lambda: 1))",
        tmp_path,
    )
    assert shown == ["[]", "True True 1"]


@pytest.mark.parametrize("how", ["inline", "journal"])
def test_a_session_that_cannot_use_it_ends_it(how, tmp_path):
    options = {"inline": "placement='inline'", "journal": f"record={str(tmp_path / 'kept')!r}"}[how]
    shown = run(f"start({options})\nprint(early in children(), outside(lambda: 1))", tmp_path)
    assert shown == ["False 1"]


def test_a_program_that_will_attach_to_a_session_has_none(tmp_path):
    (tmp_path / "script.py").write_text(BEGIN.replace("(early,) = children()", "print(children())"))
    shown = subprocess.run(
        [sys.executable, "-m", "rayshim", "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "RAY_ADDRESS": "127.0.0.1:1"},
    )
    assert (shown.returncode, shown.stdout) == (0, "[]\n"), shown.stderr


@pytest.mark.parametrize(
    "end", ["pass", "os._exit(3)", "os.kill(os.getpid(), 9)", "1 / 0", "import torch; os._exit(3)"]
)
def test_nothing_is_left_of_a_program_that_starts_no_session(end, tmp_path):
    code = {"pass": 0, "os.kill(os.getpid(), 9)": -9, "1 / 0": 1}.get(end, 3)
    (pid,) = run(f"print(early, flush=True)\n{end}", tmp_path, code=code)
    assert ends(int(pid))
