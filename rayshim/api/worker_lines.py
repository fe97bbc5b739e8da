"""Shows the output of workers on the driver's screen: each line with its origin, and equal lines of many workers only once."""

import os
import re
import sys
import time

from reactor.printable import printable
from reactor.runtime.messages.output import STDOUT

from rayshim.api import bars
from rayshim.session.switches import is_on

_VARIES = re.compile(r"\d")  # words with a number in them tend to differ from worker to worker
_CYAN = 36
_COLORS = (35, _CYAN, 32, 90, 94, 95)  # with RAY_COLOR_PREFIX=1 each worker has one of these, by its pid
_GREEN = 32
_HINT = (
    " (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication, or see "
    "https://docs.ray.io/en/master/ray-observability/user-guides/configure-logging.html#log-deduplication for more options.)"
)


class Screen:
    """Prints the lines that `reactor.runtime.driver` passes: stream (STDOUT or STDERR), label, pid, text. `plain`: without "(label pid=...)" at the
    beginning, as structured logs need."""

    def __init__(self, plain=False):
        self._plain = plain or is_on("RAY_DISABLE_WORKER_LOG_PREFIX")
        self._merger = Merger() if is_on("RAY_DEDUP_LOGS", "1") else None

    def show(self, stream, label, pid, line):
        before = bars.text_before(line) if stream == STDOUT else None
        if before == "":
            return
        line = line if before is None else before
        if self._merger is None:
            return self._print(stream, label, pid, line)
        for shown in self._merger.take(stream, label, pid, line, time.monotonic()):
            self._print(*shown)

    def end(self):
        """At the end of the session: prints the lines that are still held back."""
        for shown in self._merger.rest() if self._merger is not None else ():
            self._print(*shown)

    def _print(self, stream, label, pid, line):
        screen = sys.stdout if stream == STDOUT else sys.stderr
        origin = "" if self._plain else f"{_colored(f'({printable(label)} pid={pid})', pid, screen)} "
        # In one write: to an unbuffered stream `print` writes the end of a line by itself, and the program's own threads write there too.
        bars.safe_print(f"{origin}{line}\n", end="", file=screen, flush=True)


def _colored(origin, pid, screen):
    """In cyan on a terminal; with RAY_COLOR_PREFIX=1 in a color that depends on the worker, into files, too; with RAY_COLOR_PREFIX=0 as it is."""
    if os.environ.get("RAY_COLOR_PREFIX") == "1":
        return f"\x1b[{_COLORS[pid % len(_COLORS)]}m{origin}\x1b[0m"
    if os.environ.get("RAY_COLOR_PREFIX") == "0":
        return origin
    return bars.colored(origin, _CYAN, screen)


class _Seen:
    def __init__(self, line, pid, now):
        self.line, self.count, self.pids, self.since = line, 0, {pid}, now


class Merger:
    """Deduplicates lines by Ray's rule. A line is shown when the first worker prints it. If other workers print the same line (digits do not
    count) within RAY_DEDUP_LOGS_AGG_WINDOW_S seconds, only the last of them is shown, after that time, with their number. Repetitions by
    one worker are all shown. Lines that match RAY_DEDUP_LOGS_ALLOW_REGEX are always shown, lines that match
    RAY_DEDUP_LOGS_SKIP_REGEX never."""

    def __init__(self):
        self._window = float(os.environ.get("RAY_DEDUP_LOGS_AGG_WINDOW_S", "5"))
        self._always, self._never = (
            re.compile(pattern) if pattern else None
            for pattern in map(os.environ.get, ("RAY_DEDUP_LOGS_ALLOW_REGEX", "RAY_DEDUP_LOGS_SKIP_REGEX"))
        )
        self._seen = {}  # line without what varies -> _Seen, oldest first
        self._hinted = False

    def take(self, stream, label, pid, line, now):
        """The lines to show now, as tuples like the arguments."""
        shown = []
        key = " ".join(word for word in line.split() if not _VARIES.search(word))
        if not key or self._always is not None and self._always.search(line):
            shown.append((stream, label, pid, line))
        elif self._never is None or not self._never.search(line):
            seen = self._seen.get((stream, key))
            if seen is None:
                seen = self._seen[stream, key] = _Seen((stream, label, pid, line), pid, now)
                shown.append(seen.line)
            else:
                seen.pids.add(pid)
                if len(seen.pids) > 1:
                    seen.count += 1
                    seen.line = (stream, label, pid, line)
                else:
                    shown.append((stream, label, pid, line))
        return shown + self._ripe(now)

    def _ripe(self, now):
        shown = []
        while self._seen:
            key, seen = next(iter(self._seen.items()))
            if now - seen.since < self._window:
                break
            del self._seen[key]
            shown += self._summary(seen)
            if seen.count > 1:  # it goes on counting
                self._seen[key] = again = _Seen(seen.line, None, now)
                again.pids = seen.pids
        return shown

    def rest(self):
        """The lines still held back."""
        shown = [line for seen in self._seen.values() for line in self._summary(seen)]
        self._seen.clear()
        return shown

    def _summary(self, seen):
        if seen.count == 0:
            return []
        stream, label, pid, line = seen.line
        if seen.count == 1:
            return [(stream, label, pid, line)]
        hint, self._hinted = "" if self._hinted else _HINT, True
        repeated = bars.colored(
            f" [repeated {seen.count}x across cluster]{hint}", _GREEN, sys.stdout if stream == STDOUT else sys.stderr
        )
        return [(stream, label, pid, line + repeated)]
