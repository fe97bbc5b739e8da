"""Programs that are started in unusual surroundings: limits, closed descriptors, a directory that is gone or full of traps."""

import os
import sys

import pytest

pytestmark = pytest.mark.rayshim_only  # Ray needs dozens of descriptors and threads, a home and a place for its files

WORK = """
    import os, sys
    import ray
    {before}
    INIT

    @ray.remote
    def increment(x):
        return x + 1

    @ray.remote
    class Actor:
        async def ping(self):
            return "pong"

        def paths(self):
            return sys.path[:1]

    import numpy as np
    told = [ray.get(increment.remote(1)), ray.get(Actor.remote().ping.remote()), int(ray.get(ray.put(np.ones(100000))).sum())]
    os.write(int(os.environ.get("ANSWER", "1")), repr(told).encode())
    ray.shutdown()
"""
DONE = "[2, 'pong', 100000]"

# Modules that the runtime's processes, or the packages that they import, import at some time.
TRAPS = ("struct random queue socket pickle hashlib traceback asyncio select signal zlib json dataclasses logging threading subprocess "
         "tempfile numpy cloudpickle resource").split()


def in_shell(scripts, text, *arguments):
    """Runs the script by a shell that does something first; `$@` is the command."""
    return scripts.start_command("bash", "-c", text, "bash", sys.executable, *scripts.backend.command(*arguments))


@pytest.mark.parametrize("limit", ["ulimit -n 64", "ulimit -n 24", "ulimit -Sn 64", "ulimit -l 0", "ulimit -s 1024", "umask 0777", "unset HOME", "export TMPDIR=/nowhere",
                                   "export LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0"])
def test_a_program_runs_within_narrow_limits(scripts, limit):
    scripts.write("script.py", WORK.format(before=""))
    assert DONE in scripts.finished(in_shell(scripts, f'{limit}; exec "$@"', "script.py"))


CROWDED = """
    import ray
    INIT

    @ray.remote(num_cpus=0)
    class Actor:
        def ping(self):
            return "pong"

    actors = [Actor.remote() for _ in range(60)]
    for actor in actors:
        try:
            ray.get(actor.ping.remote())
        except ray.exceptions.ActorDiedError as error:
            print(error)
            break
    ref = ray.remote(lambda: "done").options(num_cpus=0, runtime_env={"working_dir": "."}).remote()
    print(ray.wait([ref], timeout=1)[0])
    del actor, actors
    print(ray.get(ref))
"""


@pytest.mark.needs_own_processes
def test_what_has_no_process_because_of_a_limit_says_so_and_a_task_gets_one_later(scripts):
    scripts.write("script.py", CROWDED)
    driver = in_shell(scripts, 'ulimit -n 64; exec "$@"', "script.py")
    out = scripts.finished(driver)
    assert "no process could be started for it: Too many open files" in out and out.endswith("[]\ndone\n")
    assert driver.err.count("no process could be started for a task: Too many open files. It waits until one can") == 1


@pytest.mark.parametrize("closed", ["<&-", "9>&1 >&-", "2>&-", "9>&1 <&- >&- 2>&-"])
def test_a_program_runs_without_standard_streams(scripts, closed):
    scripts.write("script.py", WORK.format(before=""))
    answer = "export ANSWER=9; " if "9>" in closed else ""
    assert DONE in scripts.finished(in_shell(scripts, f'{answer}exec "$@" {closed}', "script.py"))


def test_a_program_runs_in_a_directory_that_is_removed(scripts, tmp_path):
    scripts.write("script.py", WORK.format(before="""os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")"""))
    assert DONE in scripts.finished(scripts.start("script.py"))


def test_a_program_runs_in_a_directory_with_an_odd_name(scripts, tmp_path):
    scripts.write("a b ü'/script ö.py", WORK.format(before=""))
    assert DONE in scripts.finished(in_shell(scripts, '''cd "a b ü'"; exec "$@"''', "script ö.py"))


@pytest.mark.needs_processes
@pytest.mark.parametrize("options", [[], ["-P"], ["-E"], ["-s", "-B"]], ids=" ".join)
def test_nothing_is_imported_from_the_current_directory(scripts, tmp_path, options):
    if options == ["-P"] and sys.version_info < (3, 11):
        pytest.skip("-P came with Python 3.11")
    scripts.write("elsewhere/script.py", WORK.format(before="").replace("import ray\n", "import rayshim as ray\n"))
    for name in (*TRAPS, "types", "contextlib"):
        scripts.write(f"{name}.py", f"open({str(tmp_path / 'executed')!r}, 'a').write({name!r})\n")
    driver = scripts.start_command(sys.executable, *options, "elsewhere/script.py")
    assert DONE in scripts.finished(driver)
    assert not (tmp_path / "executed").exists(), (tmp_path / "executed").read_text()


@pytest.mark.needs_processes
def test_the_command_imports_nothing_from_the_current_directory(scripts, tmp_path):
    scripts.write("elsewhere/script.py", WORK.format(before=""))
    for name in TRAPS:  # others are imported by the interpreter itself before it runs the command
        scripts.write(f"{name}.py", f"open({str(tmp_path / 'executed')!r}, 'a').write({name!r})\n")
    assert DONE in scripts.finished(scripts.start("elsewhere/script.py"))
    assert not (tmp_path / "executed").exists(), (tmp_path / "executed").read_text()


@pytest.mark.needs_processes
def test_the_runtime_imports_its_own_modules_beside_programs_of_the_same_names(scripts):
    for name in ("select", "resource"):
        scripts.write(f"{name}.py", "mine = True\n")
    scripts.write("script.py", """
        import sys
        import ray
        INIT

        @ray.remote
        def path():
            return sys.path

        assert ray.get(path.remote()) == sys.path
        print("same")
        """)
    assert scripts.finished(scripts.start("script.py")) == "same\n"


@pytest.mark.needs_processes
def test_a_module_beside_the_script_is_found_by_workers(scripts):
    scripts.write("inner/beside.py", "VALUE = 7\n")
    scripts.write("inner/script.py", """
        import ray
        INIT
        @ray.remote
        def value():
            import beside
            return beside.VALUE
        print(ray.get(value.remote()))
        """)
    assert scripts.finished(scripts.start("inner/script.py")) == "7\n"


@pytest.mark.needs_processes
def test_a_limit_that_leaves_no_room_is_named(scripts):
    scripts.write("script.py", "import ray\nINIT\n")
    for option, words in (("-v 8000000", "ulimit -v"), ("-f 8000", "ulimit -f")):
        driver = in_shell(scripts, f'ulimit {option}; exec "$@"', "script.py")
        assert driver.finish() == 1
        assert words in driver.err and "RuntimeError" in driver.err


def test_a_place_for_large_values_that_cannot_be_made_is_named(scripts):
    scripts.write("script.py", "import ray\nINIT\n", object_spilling_directory="/proc/nowhere")
    driver = scripts.start("script.py")
    assert driver.finish() == 1
    assert "/proc/nowhere" in driver.err and "object_spilling_directory" in driver.err


@pytest.mark.needs_processes
def test_what_a_worker_executes_has_none_of_the_runtimes_descriptors(scripts):
    scripts.write("script.py", """
        import os, subprocess
        import ray
        INIT
        @ray.remote
        def links():
            return subprocess.run(["ls", "-l", "/proc/self/fd"], close_fds=False, capture_output=True, text=True).stdout
        found = ray.get(links.remote())
        assert "memfd" not in found and "socket" not in found, found
        """)
    scripts.finished(scripts.start("script.py"))
