"""Processes of another user of the machine, for tests. Only root can be another user."""

import os
import subprocess
import sys
import textwrap

import pytest

UID = 65534

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user, too")


def start(source, *arguments):
    """A Python program of the other user, which prints "ready" once it has done what it is for, and then waits for its standard input to end."""
    # The other user may not be able to read the interpreter's own files.
    become = f"import glob, os, socket, sys, threading, traceback; os.setgroups([]); os.setgid({UID}); os.setuid({UID}); os.umask(0)\n"
    text = become + textwrap.dedent(source) + "\nprint('ready', flush=True)\nsys.stdin.read()\n"
    process = subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    return process


def run(source, *arguments):
    """Does something as the other user."""
    with start(source, *arguments) as process:
        process.communicate("", timeout=200)
    assert process.returncode == 0
