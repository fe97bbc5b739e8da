"""The logger "ray" in workers and in a driver before `init`, and `init(ignore_reinit_error=True)` there and in the driver."""

import pytest

AGAIN = "Calling ray.init() again after it has already been called."

IN_A_TASK = """
    import logging
    import ray

    INIT

    @ray.remote
    def task():
        logger = logging.getLogger("ray")
        logger.debug("a debug line")
        logger.info("an info line")
        logging.getLogger("ray.mine").info("a line of a child")
        logging.getLogger("ray.rllib.mine").info("a line of RLlib")
        ray.init(ignore_reinit_error=True, logging_format="MINE %(message)s")
        before = logger.level
        ray.init(ignore_reinit_error=True, logging_level="ERROR")
        return before, logger.level, logger.propagate, len(logger.handlers)

    print(ray.get(task.remote()))
    ray.shutdown()
"""


@pytest.mark.needs_processes
def test_a_worker_logs_bare_messages_from_info_on(scripts):
    scripts.write("script.py", IN_A_TASK, num_cpus=1)
    driver = scripts.start("script.py")
    assert scripts.finished(driver).splitlines()[0] == "(20, 40, False, 1)"
    lines = [line.partition(")")[2].replace("\x1b[0m", "").strip() for line in driver.err.splitlines() if "(task " in line]
    assert lines == ["an info line", "a line of a child", AGAIN]


IN_THE_DRIVER = """
    import logging
    import ray

    INIT
    logger = logging.getLogger("ray")
    for arguments in ({"logging_level": "ERROR"}, {"logging_format": "MINE %(message)s"}, {"configure_logging": False}):
        ray.init(ignore_reinit_error=True, **arguments)
        print(logger.level, len(logger.handlers))
"""


def test_a_second_init_configures_the_logger_before_it_says_that_it_is_the_second_one(scripts):
    scripts.write("script.py", IN_THE_DRIVER)
    driver = scripts.start("script.py")
    assert scripts.finished(driver).splitlines() == ["40 1", "20 1", "20 0"]
    assert [line for line in driver.err.splitlines() if AGAIN in line] == ["MINE " + AGAIN]


BEFORE_INIT = """
    import logging
    import ray

    logger = logging.getLogger("ray")
    print(logger.level, logger.propagate, len(logger.handlers), logging.getLogger("ray.rllib").level)
    logging.getLogger("ray.tune").info("an info line")
    logging.getLogger("ray.rllib").info("an info line of RLlib")
    logging.getLogger("ray.rllib").warning("a warning of RLlib")
"""


def test_the_import_of_ray_configures_the_logger(scripts):
    scripts.write("script.py", BEFORE_INIT)
    driver = scripts.start("script.py")
    assert scripts.finished(driver) == "20 False 1 30\n"
    lines = [line.partition("\t")[2] for line in driver.err.splitlines() if "script.py" in line]
    assert lines == ["INFO script.py:7 -- an info line", "WARNING script.py:9 -- a warning of RLlib"]
