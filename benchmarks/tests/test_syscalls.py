"""Faults at system calls: what the preloaded library does, and a short form of the campaign."""

import errno
import io
import os
import shutil
import subprocess
import sys

import pytest

from benchmarks.faults import processes, report, shim, syscalls
from benchmarks.faults.lag import Lag
from benchmarks.faults.pace import Pace

pytestmark = pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="the library is compiled here")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return shim.build(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def struck(library, tmp_path):
    """A function that runs Python code in a process which meets the fault in its calls after `armed`, and returns it as subprocess.run does."""

    def run(fault, code):
        program = f"""if True:
            import os, sys
            from benchmarks.faults import shim
            plan = shim.Shim(os.environ[shim.PATH])
            def armed():
                plan.arm(shim.{fault!r}, shim.BY_PID, os.getpid())
            {code}
        """
        environment = {**os.environ, **shim.environment(library, tmp_path / "plan")}
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)

    return run


def test_a_process_is_killed_before_its_nth_call_or_after_it(struck):
    code = "armed(); [os.write(1, letter) for letter in (b'a', b'b', b'c')]"
    before = struck(shim.Fault(shim.KILL_BEFORE, 2, ("write",)), code)
    after = struck(shim.Fault(shim.KILL_AFTER, 2, ("write",)), code)
    assert (before.returncode, before.stdout, after.returncode, after.stdout) == (-9, "a", -9, "ab")


def test_a_call_fails_once_with_the_error_asked_for(struck):
    code = """
            armed()
            for _ in range(3):
                try: os.close(os.memfd_create("name"))
                except OSError as error: print(error.errno)
    """
    done = struck(shim.Fault(shim.FAIL, 2, ("memfd_create",), "EMFILE"), code)
    assert done.stdout.split() == [str(errno.EMFILE)], done.stderr


def test_calls_are_counted_by_function(struck):
    code = "armed(); os.close(os.dup(1)); os.write(1, b''); print(plan.struck, plan.counts)"
    done = struck(shim.Fault(shim.COUNT, 0), code)
    assert done.stdout.startswith("None ") and "'write': 1" in done.stdout and "'close': 1" in done.stdout, done.stderr


# Each says: in this scenario, so many cases, at calls that tell other processes something.
MESSAGES = ("send", "sendmsg", "futex_wake")
SHORT = [
    syscalls.Sweep("actor", shim.KILL_BEFORE, names=("send", "sendmsg"), cases=14),
    syscalls.Sweep("actor", shim.KILL_AFTER, names=MESSAGES, cases=10),
    syscalls.Sweep("task", shim.KILL_BEFORE, names=MESSAGES, cases=10),
    syscalls.Sweep("restarting", shim.KILL_BEFORE, first=5, step=9, cases=10),
    syscalls.Sweep("packed", shim.KILL_AFTER, first=5, step=11, cases=8),
    syscalls.Sweep("zygote", shim.KILL_BEFORE, first=3, step=40, cases=4),
    syscalls.Sweep("zygote", shim.FAIL, names=("fork",), error="EAGAIN", cases=4),
    syscalls.Sweep("zygote", shim.FAIL, names=("epoll_ctl",), error="ENOSPC", cases=4),
    syscalls.Sweep("actor", shim.FAIL, names=("send", "sendmsg"), error="ENOBUFS", cases=6),
    syscalls.Sweep("driver", shim.FAIL, names=("send", "sendmsg"), error="EAGAIN", cases=6),
]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("sweep", SHORT, ids=str)
def test_after_a_fault_at_a_system_call_all_calls_end_and_new_tasks_and_actors_work(sweep):
    shown = io.StringIO()
    with Lag() as lag:
        campaign = syscalls.Campaign(report.Screen(shown), lag, Pace.measured())
        try:
            outcome = campaign.run(sweep)
        finally:
            campaign.close()
    assert outcome.struck and not outcome.wrong, shown.getvalue()


def test_an_orphan_is_found_by_its_mark(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", "print('begun', flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, processes.MARK: tmp_path.name},
    )  # fmt: skip
    try:
        child.stdout.readline()
        assert processes.marked(tmp_path.name) == [child.pid]
    finally:
        child.communicate(b"\n")
    assert processes.marked(tmp_path.name) == []
