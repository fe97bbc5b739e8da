"""Workers that are killed, or die, before they can run anything."""

import os

import pytest

pytestmark = [pytest.mark.needs_processes, pytest.mark.rayshim_only]

SCRIPT = """
    import os, time
    import ray
    INIT

    @ray.remote(max_retries=-1)
    def give(x):
        return x

    try:
        print(ray.get(give.remote(1)))
    except ray.exceptions.WorkerCrashedError:
        print("crashed")
"""


def at_each_birth(scripts, monkeypatch, text):
    path = scripts.write("site/sitecustomize.py", "import os\ndef born():\n    " + text + "\nos.register_at_fork(after_in_child=born)\n")
    monkeypatch.setenv("PYTHONPATH", str(path.parent), prepend=os.pathsep)


def test_tasks_that_may_be_retried_for_ever_fail_if_no_worker_can_start(scripts, monkeypatch):
    at_each_birth(scripts, monkeypatch, "os._exit(7)")
    scripts.write("script.py", SCRIPT)
    assert scripts.finished(scripts.start("script.py")) == "crashed\n"


def test_tasks_wait_while_somebody_kills_their_workers_at_birth(scripts, monkeypatch):
    births = scripts.directory / "births"
    at_each_birth(scripts, monkeypatch, f"open({str(births)!r}, 'a').write('.'); os.path.getsize({str(births)!r}) > 8 or os.kill(os.getpid(), 9)")
    scripts.write("script.py", SCRIPT)
    driver = scripts.start("script.py")
    assert scripts.finished(driver) == "1\n"
    assert "before they can run anything" in driver.err
