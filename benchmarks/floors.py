"""Measures the cost, on this machine, of steps that every runtime needs."""

import os
import resource
import signal
import time

import numpy as np

from benchmarks.workloads import MEGABYTE

YIELDS = 20_000


def futex_ping_pong(ray):
    """Two processes that wake each other through a futex, and nothing else: one round trip."""
    from reactor import _core

    return lambda: _core.futex_ping_pong(5_000), None


def _yield_until(parent):
    while os.getppid() == parent:
        for _ in range(1_000):
            os.sched_yield()


def context_switch(ray):
    """From one process to another on the same core: both do nothing but offer it to each other."""

    def operation():
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(cores)})
        here = os.getpid()
        other = os.fork()
        if other == 0:
            try:
                _yield_until(here)
            finally:
                os._exit(0)
        try:
            os.sched_yield()
            before, start = _switches(), time.perf_counter()
            for _ in range(YIELDS):
                os.sched_yield()
            seconds, switches = time.perf_counter() - start, _switches() - before
        finally:
            os.kill(other, signal.SIGKILL)
            os.waitpid(other, 0)
            os.sched_setaffinity(0, cores)
        if switches < YIELDS / 2:
            raise RuntimeError(f"this kernel switches at only {switches} of {YIELDS} yields")
        # Each time away from here is one switch to the other and one back.
        return seconds / (2 * switches)

    return operation, None


def _switches():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw + usage.ru_nivcsw


def memcpy_10_mb(ray):
    source = np.ones(10 * MEGABYTE // 8)
    target = np.ones_like(source)
    return lambda: np.copyto(target, source), 1
