"""`init(logging_config=LoggingConfig(...))`: what the root logger writes in the driver, in tasks and in actors."""

import json
import re

import pytest

from compat_tests.processes import wait_until

PROGRAM = """
    import logging, os, time
    import ray
    INIT

    @ray.remote
    def task():
        logging.getLogger("mine").info("in a task", extra={"step": 3})

    @ray.remote
    class Actor:
        def method(self):
            logging.getLogger("mine").warning("in an actor")

        def fail(self):
            try:
                1 / 0
            except ZeroDivisionError:
                logging.getLogger("mine").exception("failed")

    logging.getLogger("mine").debug("not shown")
    logging.getLogger("mine").info("in the driver %d", 1, extra={"step": 2})
    ray.get(task.remote())
    actor = Actor.options(name="named").remote()
    ray.get(actor.method.remote())
    ray.get(actor.fail.remote())
    while not os.path.exists("seen"):
        time.sleep(0.01)
"""
MESSAGES = ("in the driver 1", "in a task", "in an actor", "failed")


class Expression(str):
    """Stands in the script as it is."""

    __repr__ = str.__str__


def logged(scripts, encoding):
    """What the program writes, as one string."""
    scripts.write("program.py", PROGRAM, logging_config=Expression(f"ray.LoggingConfig(encoding={encoding!r}, additional_log_standard_attrs=['name'])"))
    driver = scripts.start("program.py")
    wait_until(lambda: all(message in driver.err + driver.out for message in MESSAGES) and "ZeroDivisionError" in driver.err + driver.out, 60, "all lines")
    (scripts.directory / "seen").touch()
    scripts.finished(driver)
    assert "not shown" not in driver.err + driver.out
    return driver.err + driver.out


def test_json_lines_have_what_is_known_of_the_call(scripts):
    lines = {}
    for line in logged(scripts, "JSON").splitlines():
        if line.startswith("{"):
            made = json.loads(line)
            lines[made["message"]] = made
    driver, task, actor, failed = (lines[message] for message in MESSAGES)
    assert [made["levelname"] for made in (driver, task, actor, failed)] == ["INFO", "INFO", "WARNING", "ERROR"]
    assert all(made["name"] == "mine" and made["filename"] == "program.py" and made["timestamp_ns"] > 0 for made in (driver, task, actor, failed))
    assert len({(made["job_id"], made["node_id"]) for made in (driver, task, actor)}) == 1
    assert (driver["step"], task["step"]) == (2, 3)
    assert "task_id" not in driver and "actor_id" not in driver and "actor_id" not in task
    assert (task["task_name"], task["task_func_name"]) == ("task", "program.task")
    assert (actor["task_name"], actor["task_func_name"], actor["actor_name"]) == ("Actor.method", "program.Actor.method", "named")
    assert actor["actor_id"] == failed["actor_id"] and actor["task_id"] != failed["task_id"]
    assert failed["exc_text"].endswith("ZeroDivisionError: division by zero")


def test_lines_of_text_end_with_what_is_known_of_the_call(scripts):
    text = logged(scripts, "TEXT")
    lines = {message: re.search(rf"^.*\t\w+ program\.py:\d+ -- {message}.*$", text, re.MULTILINE).group() for message in MESSAGES}
    assert re.search(r"-- in the driver 1 name=mine step=2 job_id=\w+ worker_id=\w+ node_id=\w+ timestamp_ns=\d+$", lines["in the driver 1"])
    assert re.search(r"-- in a task name=mine step=3 job_id=\w+ .*task_id=\w+ task_name=task task_func_name=program\.task timestamp_ns=\d+$", lines["in a task"])
    assert re.search(r" task_name=Actor\.method task_func_name=program\.Actor\.method actor_name=named timestamp_ns=\d+$", lines["in an actor"])
    assert re.search(r"^ZeroDivisionError: division by zero name=mine ", text, re.MULTILINE)


@pytest.mark.needs_processes
def test_no_origin_is_written_before_lines_of_workers_where_asked_for(scripts):
    scripts.write("program.py", """
        import os, time
        os.environ["RAY_DISABLE_WORKER_LOG_PREFIX"] = "1"
        import ray
        INIT

        @ray.remote
        def speak():
            print("plain line")

        ray.get(speak.remote())
        while not os.path.exists("seen"):
            time.sleep(0.01)
    """)
    driver = scripts.start("program.py")
    wait_until(lambda: re.search("^plain line$", driver.out, re.MULTILINE), 30, "the worker's line")
    (scripts.directory / "seen").touch()
    scripts.finished(driver)
