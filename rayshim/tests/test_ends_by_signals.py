"""SIGTERM to the process of an actor, at a moment at which Python itself is in the middle of something."""

import io
import os
import signal
import sys
import time

import pytest
from reactor.runtime.processes import process_stat

import rayshim as ray
from compat_tests.processes import wait_until


@ray.remote
class Holder:
    """Has a file that is being made, as there is one for a moment in each `open`."""

    def __init__(self):
        sys.being_made = io.TextIOWrapper.__new__(io.TextIOWrapper)

    def pid(self):
        return os.getpid()


@pytest.fixture
def holder():
    ray.init(num_cpus=2, logging_level="ERROR", log_to_driver=False)
    yield Holder.remote()
    ray.shutdown()


def test_a_file_that_is_just_being_opened_is_left_alone(holder):
    pid = ray.get(holder.pid.remote())
    wait_until(lambda: process_stat.of_process(pid).state == "S")  # it is idle
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 20
    with pytest.raises(ray.exceptions.RayActorError, match="SIGTERM"):
        while time.monotonic() < deadline:
            ray.get(holder.pid.remote())
