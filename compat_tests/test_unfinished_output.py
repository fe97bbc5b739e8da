"""Text without the end of its line, and values of environment variables, in what the driver shows of its workers."""

import pytest

from compat_tests.processes import wait_until

pytestmark = pytest.mark.needs_processes


def test_what_a_task_printed_without_a_newline_is_shown_though_its_process_is_killed(scripts):
    scripts.write("script.py", """
        import os, signal, sys, time
        import ray
        INIT

        @ray.remote(max_retries=0)
        def load():
            print("loading the", "model", end="")
            os.kill(os.getpid(), signal.SIGKILL)

        try:
            ray.get(load.remote())
        except ray.exceptions.WorkerCrashedError:
            print("died", flush=True)
        while not os.path.exists("seen"):
            time.sleep(0.01)
        """)
    driver = scripts.start("script.py")
    driver.wait_for("died")
    wait_until(lambda: "loading the model" in driver.out, 15, "the task's text")
    (scripts.directory / "seen").touch()
    scripts.finished(driver)


@pytest.mark.parametrize("value", ["0", "false", "no"])
def test_only_1_and_true_let_the_output_of_workers_through(scripts, monkeypatch, value):
    monkeypatch.setenv("RAY_LOG_TO_DRIVER", value)
    out = scripts.run("""
        import ray
        INIT
        ray.get(ray.remote(lambda: print("hidden")).remote())
        print("shown")
        """)
    assert out == "shown\n"
