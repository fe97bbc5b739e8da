"""Drivers that join the session that a program has started for itself."""

import subprocess
import sys

import pytest

import rayshim as ray


@pytest.fixture(autouse=True)
def ended():
    yield
    ray.shutdown()


@ray.remote
class Counter:
    def __init__(self):
        self.value = 0

    def add(self):
        self.value += 1
        return self.value


def test_init_auto_joins_the_only_session_of_a_program_that_runs(tmp_path, monkeypatch):
    """Sessions in other temporary directories are others' and do not count."""
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    ray.init(num_cpus=2, namespace="ours")
    counter = Counter.options(name="first").remote()
    assert joined() == "1"
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path / "elsewhere"))
    assert "Could not find any running Ray instance" in joined()
    assert ray.get(counter.add.remote()) == 2


def test_init_auto_asks_which_one_where_several_run(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    ray.init(num_cpus=1, namespace="ours")
    other = "import rayshim as ray; ray.init(num_cpus=1); print('runs', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", other], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        process.stdout.readline()
        assert "Found multiple active Ray instances" in joined()
        process.communicate("\n")


def test_drivers_from_outside_are_told_when_the_sessions_own_driver_is_killed(tmp_path):
    first = "import rayshim as ray; print(ray.init(num_cpus=2)['address'], flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", first], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        ray.init(process.stdout.readline().strip())
        counter = Counter.remote()
        assert ray.get(counter.add.remote()) == 1
        process.kill()
        with pytest.raises((RuntimeError, ray.exceptions.RayError)):
            while True:
                ray.get(counter.add.remote())


def test_the_first_driver_is_told_nothing_of_the_unfinished_calls_of_another_one():
    first = """if True:
        import subprocess, sys, time
        import rayshim as ray

        address = ray.init(num_cpus=2, logging_level="ERROR").address_info["address"]
        subprocess.run([sys.executable, "-c", sys.argv[1], address])
        time.sleep(1.5)

        @ray.remote
        def shown():
            print("shown")

        ray.get(shown.remote())
        ray.shutdown()
    """
    other = """if True:
        import os, sys, time
        import rayshim as ray

        ray.init(sys.argv[1], log_to_driver=False, logging_level="ERROR")

        @ray.remote(num_cpus=0)
        def sleep():
            time.sleep(30)

        pending = [sleep.remote() for _ in range(3)]
        time.sleep(0.5)
        os._exit(3)
    """
    done = subprocess.run([sys.executable, "-c", first, other], capture_output=True, text=True, timeout=200, check=True)
    assert "shown" in done.stdout
    assert done.stderr == ""


def test_a_session_with_a_journal_takes_no_other_driver(tmp_path):
    ray.init(num_cpus=1, record=tmp_path / "journal")
    assert ray.get_runtime_context().gcs_address == "local"


def joined():
    """What a program prints that calls the actor "first" of the session that "auto" names."""
    code = "import rayshim as ray; ray.init('auto', namespace='ours', log_to_driver=False); print(ray.get(ray.get_actor('first').add.remote()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() or done.stderr
