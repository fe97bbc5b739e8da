"""A measured process: its start, its events, and its end with all its descendants."""

import json
import os
import subprocess
import sys
import threading
import time
import uuid

from rayshim.cli.compare.processes import MARKER, ProcessTree, adopt_orphans

# The monotonic clock at the start of the process, for programs that measure their own start-up time.
STARTED = "RAYSHIM_BENCHMARK_STARTED"

POLL_SECONDS = 0.1
LEAVING_SECONDS = 10.0


class Child:
    """A process `python *arguments`, which appends its events to the file `out` (a Path), one line of JSON each.

    `environment` is its environment, to which two variables are added; `cwd` its directory. Its output goes to `out` with the suffix .log;
    with `stdout`, a Path, its standard output goes there instead.

    A context manager. At the end of the block, the process and its descendants have LEAVING_SECONDS to end by themselves, and are then
    killed; `killed` is the number of killed processes after a successful end. After a timeout they are killed at once.
    The processor time of `tree` is complete after the block.
    """

    def __init__(self, arguments, environment, out, cwd=None, stdout=None):
        adopt_orphans()
        run = uuid.uuid4().hex
        self.killed = 0
        self.ended = None
        self._failed = False
        self._out, self._log = out, out.with_suffix(".log")
        self._out.touch()
        with open(self._log, "ab") as log, open(stdout or self._log, "ab") as printed:
            self.started = time.monotonic()
            self._process = subprocess.Popen(  # pyright: ignore[reportCallIssue]
                [sys.executable, *arguments],
                cwd=cwd,
                env={**environment, MARKER: run, STARTED: repr(self.started)},  # pyright: ignore[reportArgumentType]
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=log,
                start_new_session=True,
            )
        self.tree = ProcessTree(self._process.pid, run)
        # A waiting thread knows the exact moment of the end; polling does not.
        self._over = threading.Event()
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self):
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._seconds = usage.ru_utime + usage.ru_stime
        self.ended = time.monotonic()
        self._over.set()

    @property
    def status(self):
        """The exit status after the end of the process, negative for a signal."""
        return self._process.returncode

    def __enter__(self):
        return self

    def events(self, timeout):
        """Yields each event, and an event "over" when the process has ended or has written no event for `timeout` seconds.

        "over" has a `reason`, which is None if the process succeeded.
        """
        with open(self._out) as out:
            partial, heard = "", time.monotonic()
            while True:
                ended = self._over.is_set()
                *lines, partial = (partial + out.read()).split("\n")
                for line in lines:
                    heard = time.monotonic()
                    yield json.loads(line)
                if ended:
                    yield {"event": "over", "reason": self._last_words() if self._process.returncode else None}
                    return
                if time.monotonic() - heard > timeout:
                    self._failed = True
                    yield {"event": "over", "reason": f"no result within {timeout:g} s"}
                    return
                self._over.wait(POLL_SECONDS)

    def _last_words(self):
        lines = self.log().splitlines() or ["(no output)"]
        return f"the process ended with exit status {self._process.returncode}: {lines[-1].strip()[-200:]}"

    def log(self):
        """The output of the process so far, without its standard output if that goes elsewhere."""
        return self._log.read_text(errors="replace").strip()

    def __exit__(self, kind, error, traceback):
        patience = LEAVING_SECONDS if kind is None and not self._failed else 0.0
        self._over.wait(patience)
        killed = self.tree.end(max(patience - (time.monotonic() - (self.ended or 0.0)), 0.0))
        self._over.wait()
        self.tree.settle_root(self._seconds)
        if patience and self._process.returncode == 0:
            self.killed = killed
