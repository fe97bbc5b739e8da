"""The common parts of these programs: command line, clock, and the trace of their results."""

import argparse
import contextlib
import hashlib
import json
import math
import os
import signal
import sys
import time

import numpy as np


def options(doc, **defaults):
    """The command line's options as a namespace: one for each keyword, with its default and of its type.

    A tuple is a choice, its first the default. Every program also has --rounds, --warm-up, --json and --neighbours.
    """
    defaults = {"rounds": 20, "warm_up": 3, "neighbours": 0, "json": "", **defaults}
    parser = argparse.ArgumentParser(description=doc.splitlines()[0], epilog=_EPILOG)
    for name, default in defaults.items():
        if isinstance(default, tuple):
            parser.add_argument(_flag(name), choices=default, default=default[0], help="default: %(default)s")
        else:
            parser.add_argument(_flag(name), type=type(default), default=default, help="default: %(default)s")
    return parser.parse_args()


_EPILOG = (
    "--json: append each event there, a line of JSON; --neighbours: so many more processes do the same all the while, "
    "unmeasured (for --style bare: what one core yields when all are at work)."
)


def _flag(name):
    return "--" + name.replace("_", "-")


# Seconds between two looks at the machine's pace, which are between rounds.
PACE_EVERY = 0.05


def pace():
    """Processor time of a fixed loop in this thread, seconds.

    It is longer while what shares the core (its other hardware thread, another guest of the machine) is busy, which no
    program can see otherwise; what it waits for the core itself does not count.
    """
    start = time.thread_time()
    value = 0
    for number in range(10_000):
        value = (value * 3 + number) & 0xFFFF
    return time.thread_time() - start


class Measured:
    """Times the rounds of a program and keeps a running hash of what they computed; a context manager.

        for number in measured.rounds():
            with measured.clock():
                results = ...
            measured.see(results)

    What is outside `clock()` is not timed. At the end the hash, which must be the same for everybody who runs the
    program with the same options, is printed, and the median round's time goes to standard error.
    """

    def __init__(self, rounds, warm_up, json="", neighbours=0):
        self.count, self.warm_up = rounds, warm_up
        self.seconds, self.figures, self.paces = [], {}, []
        self._paced = -math.inf  # when that was last measured
        pace()  # Python makes a loop faster while it runs for the first time
        self._round = {}  # what there is to tell of the last round
        self._hash = hashlib.sha256()
        self._out = open(json, "a", buffering=1) if json else None  # noqa: SIM115
        self._neighbours = [] if not neighbours else _fork(neighbours)
        if self._neighbours is None:
            self.count, self._out = sys.maxsize, None

    @classmethod
    def of(cls, options):
        """The one that a program's `options` describe."""
        return cls(options.rounds, options.warm_up, options.json, options.neighbours)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        for pid in self._neighbours:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        if kind is None:
            self._finish()

    def ready(self):
        """Tells that all is built and the rounds begin."""
        self._tell(event="ready")

    def rounds(self):
        """The rounds' numbers from 0 on, the warm-up's first. What is seen after the last is of the end, not of a round."""
        for number in range(self.warm_up + self.count):
            if time.monotonic() - self._paced > PACE_EVERY:
                self.paces.append(pace())
                self._paced = time.monotonic()
            yield number
        self._tell_round()

    @contextlib.contextmanager
    def clock(self, less=0.0):
        """Times the block as one round; `less` seconds of it are not the round's own.

        Gives a dict for what else there is to tell of the round, which goes out with the next one's.
        """
        told = {}
        start = time.perf_counter()
        yield told
        seconds = time.perf_counter() - start - less
        self._tell_round()
        self.seconds.append(seconds)
        self._round = told

    def see(self, *values):
        """Adds values (numbers, strings, arrays, tensors, and lists, tuples and dicts of them) to the trace."""
        for value in values:
            _feed(self._hash, value)

    def figure(self, **figures):
        """More numbers for the record that are no part of the trace."""
        self.figures.update(figures)

    @property
    def trace(self):
        return self._hash.hexdigest()

    def _tell_round(self):
        number = len(self.seconds)
        if number:
            warm_up = number <= self.warm_up
            facts = {"seconds": self.seconds[-1], "warm_up": warm_up, "trace": self.trace[:16], **self._round}
            half = number == (self.warm_up + self.count) // 2
            self._tell(event="round", round=number, look=half, **facts)

    def _finish(self):
        timed = self.seconds[self.warm_up :]
        threads = sys.modules["torch"].get_num_threads() if "torch" in sys.modules else None
        self._tell(event="result", trace=self.trace, torch_threads=threads, figures=self.figures, paces=self.paces)
        print("trace", self.trace)
        print(f"median of {len(timed)} rounds: {np.median(timed) * 1e6:,.1f} µs", file=sys.stderr)

    def _tell(self, **event):
        if self._out:
            self._out.write(json.dumps({**event, "clock": time.monotonic()}) + "\n")


def _fork(neighbours):
    """Starts so many more of this process; their pids, or None in one of them, which ends with its parent."""
    pids = []
    for _ in range(neighbours):
        pid = os.fork()
        if pid == 0:
            PR_SET_PDEATHSIG = 1
            __import__("ctypes").CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            return None
        pids.append(pid)
    return pids


def _feed(hashed, value):
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray):
        hashed.update(f"{value.dtype.str}{value.shape}".encode())
        hashed.update(np.ascontiguousarray(value).data)
    elif isinstance(value, dict):
        _feed(hashed, sorted(value.items()))
    elif isinstance(value, (list, tuple)):
        hashed.update(b"[")
        for member in value:
            _feed(hashed, member)
        hashed.update(b"]")
    else:
        hashed.update(repr(value.item() if isinstance(value, np.generic) else value).encode() + b";")
