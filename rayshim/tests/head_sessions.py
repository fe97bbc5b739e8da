"""A head of its own for a test, and drivers that attach to it."""

import os
import subprocess
import sys
import textwrap
import uuid

import pytest

import rayshim as ray
from compat_tests import processes
from rayshim.session import heads


class Head:
    def __init__(self, directory, mark):
        self.directory, self.mark = directory, mark

    def command(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "rayshim", *arguments],
            capture_output=True,
            text=True,
            cwd=self.directory,
            timeout=200,
        )

    def start(self, *arguments):
        process = self.command("start", "--head", "--num-cpus=4", *arguments)
        assert process.returncode == 0, process.stdout + process.stderr
        return heads.running()[0]

    def driver(self, source):
        """A program that has attached; it prints "ready" and waits."""
        text = "import rayshim as ray, os, sys, time\n" + textwrap.dedent(source) + "\ntime.sleep(1000)\n"
        process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, cwd=self.directory)
        assert process.stdout.readline() == "ready\n"
        return process

    def left(self):
        return processes.marked(self.mark)

    def ends(self):
        processes.wait_until(lambda: not self.left(), 10.0, "no process is left")


@pytest.fixture
def head(tmp_path, monkeypatch):
    mark = uuid.uuid4().hex
    monkeypatch.setenv(processes.MARK, mark)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name in ("RAY_ADDRESS", "RAYSHIM_PLACEMENT"):
        monkeypatch.delenv(name, raising=False)
    head = Head(tmp_path, mark)
    yield head
    ray.shutdown()
    head.command("stop", "--force")
    try:
        head.ends()
    finally:
        processes.end(head.left())
    assert os.listdir(tmp_path) == []


def attach(**more):
    return ray.init(address="auto", namespace="tests", log_to_driver=False, **more)
