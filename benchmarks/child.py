"""A measured process as the benchmarks see it: started, listened to, and gone with all its descendants."""

import json
import os
import subprocess
import sys
import threading
import time
import uuid

from benchmarks.machine import REPOSITORY
from benchmarks.processes import ProcessTree, adopt_orphans

# The monotonic clock when the process was started, for those that time their own start-up.
STARTED = "RAYSHIM_BENCHMARK_STARTED"

POLL_SECONDS = 0.1
LEAVING_SECONDS = 10.0


class Child:
    """`python *arguments` on one side, which appends its events to the file `out`, a line of JSON each.

    A context manager. On leaving, the process and what belongs to it get LEAVING_SECONDS to end by themselves
    and are then killed; `killed` says how many that were after a good end. After a timeout they are killed at
    once.
    The processor time of `tree` is complete after leaving.
    """

    def __init__(self, side, arguments, out):
        adopt_orphans()
        run = uuid.uuid4().hex
        self.killed = 0
        self.ended = None
        self._failed = False
        self._out, self._log = out, out.with_suffix(".log")
        self._out.touch()
        with open(self._log, "wb") as log:
            self.started = time.monotonic()
            self._process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=REPOSITORY,
                env={**side.process_environment(run), STARTED: repr(self.started)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.tree = ProcessTree(self._process.pid, run)
        # A thread that waits knows the moment of the end, which polling does not.
        self._over = threading.Event()
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self):
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._seconds = usage.ru_utime + usage.ru_stime
        self.ended = time.monotonic()
        self._over.set()

    def __enter__(self):
        return self

    def events(self, timeout):
        """Each event, and one called "over" when the process has ended or said nothing for `timeout` seconds.

        "over" has a `reason`, None if the process ended well.
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
        lines = self.log().splitlines() or ["it printed nothing"]
        return f"the process ended with {self._process.returncode}: {lines[-1].strip()[-200:]}"

    def log(self):
        """What the process has printed so far."""
        return self._log.read_text(errors="replace").strip()

    def __exit__(self, kind, error, traceback):
        patience = LEAVING_SECONDS if kind is None and not self._failed else 0.0
        self._over.wait(patience)
        killed = self.tree.end(max(patience - (time.monotonic() - (self.ended or 0.0)), 0.0))
        self._over.wait()
        self.tree.settle_root(self._seconds)
        if patience and self._process.returncode == 0:
            self.killed = killed
