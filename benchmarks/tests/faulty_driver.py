"""The campaign's driver with a fault, named by FAULTY, that the campaign has to find."""

import json
import os
import signal
import subprocess
import sys
import time

from reactor import _core

from benchmarks.faults import driver, trace
from benchmarks.faults.processes import MARK


def wrong_value():
    """Results say that they are of other calls."""
    real = trace.write

    def write(kind, *facts):
        if kind == "got" and facts[3][0] == "values":
            facts = json.loads(json.dumps(facts).replace('["result", "', '["result", "0'))
        real(kind, *facts)

    trace.write = write


def hang():
    driver.Driver.settle = lambda self: time.sleep(600)


def leftover():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)


def hidden_leftover():
    """Of another environment, and no child of ours any more."""
    environment = {name: value for name, value in os.environ.items() if name != MARK}
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def file():
    with open("core.1", "w"):
        pass


def said():
    print("Traceback (most recent call last):", file=sys.stderr)


def crash():
    driver.Driver.settle = lambda self: os.kill(os.getpid(), signal.SIGSEGV)


def leak():
    driver.Driver.let_go = lambda self, base: trace.write("let go", {"store_used": 1 << 20})


def slow():
    """The first answer comes late."""
    real = driver.ray.get

    def get(*arguments, **options):
        driver.ray.get = real
        time.sleep(5)
        return real(*arguments, **options)

    settle = driver.Driver.settle
    driver.Driver.settle = lambda self: (setattr(driver.ray, "get", get), settle(self))


def ordinary_build():
    """No fault: the core has not what it has in builds for tests."""
    del _core.stats, _core.runs
    driver.TESTING = False


if __name__ == "__main__":
    if fault := os.environ.get("FAULTY"):
        globals()[fault]()
    driver.main()
