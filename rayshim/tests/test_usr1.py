"""`kill -USR1` of the driver says for what it waits, in each way to wait."""

import signal
import subprocess
import sys
import threading

import pytest

PROGRAM = """
import asyncio, os, sys, time
import rayshim as ray
ray.init(num_cpus=2, logging_level="ERROR")

@ray.remote
class Slow:
    def until(self, path):
        while not os.path.exists(path):
            time.sleep(0.01)
        return 1

slow = Slow.remote()
refs = [slow.until.remote(sys.argv[1]) for _ in range(2)]

async def awaiting():
    return await refs[0]

def waiting():
    CALL

def short_waits():
    while not os.path.exists(sys.argv[1]):
        try:
            ray.get(refs[0], timeout=0.05)
        except ray.exceptions.GetTimeoutError:
            pass

print("waits", flush=True)
waiting()
"""


@pytest.mark.parametrize(
    "call, words",
    [
        ("ray.get(refs)", "in get() for 2 of 2 results;"),
        ("ray.get(refs[0], timeout=500)", "in get() for a result, with timeout=500;"),
        ("ray.wait(refs, num_returns=1)", "in wait() for 1 of 2 results;"),
        ("ray.wait(refs, num_returns=2, timeout=500)", "in wait() for 2 of 2 results, with timeout=500;"),
        ("short_waits()", "in get() for a result, with timeout=0.05;"),
        ("asyncio.run(awaiting())", "awaits results in an event loop or a Future;"),
    ],
)
def test_the_driver_says_for_what_it_waits(tmp_path, call, words):
    gate = tmp_path / "go on"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("CALL", call), str(gate)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "waits\n"
    # Again and again: the actor may not have started, and the driver may not have begun to wait, or be between two short waits.
    # And Python runs a handler late whose signal comes just before the call of the system that waits.
    shown = threading.Event()

    def ask():
        while not shown.wait(0.3):
            process.send_signal(signal.SIGUSR1)

    sender = threading.Thread(target=ask)
    sender.start()
    lines = iter(process.stderr.readline, "")
    found = any(words in line and "Slow (actor" in line or " for Slow (actor" in line for line in lines)
    shown.set()
    sender.join()
    assert found, process.wait()
    gate.write_text("")
    process.communicate()
    assert process.returncode == 0
