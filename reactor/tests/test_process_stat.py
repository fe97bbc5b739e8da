"""The state and family of processes, read from /proc."""

import os
import subprocess
import sys
import threading

import pytest
from reactor.runtime.processes import process_stat

RENAMED = r"open('/proc/self/comm', 'wb').write(b'a) Z \xff(b'); print(flush=True); input()"


def test_a_name_with_brackets_and_bytes_that_are_no_text():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", RENAMED], start_new_session=True, **pipes) as child:
        child.stdout.readline()
        found = process_stat.of_process(child.pid)
        child.stdin.close()
    assert found.lives and found.parent == os.getpid()
    assert found.group == found.session == child.pid
    assert found.start >= process_stat.of_process(os.getpid()).start


def test_a_zombie_does_not_live_and_one_that_was_waited_for_is_gone():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert not process_stat.of_process(pid).lives
    os.waitpid(pid, 0)
    with pytest.raises(OSError, match=str(pid)):
        process_stat.of_process(pid)


def test_a_running_thread_has_the_state_of_one():
    assert process_stat.of_thread(threading.get_native_id()).state == "R"
