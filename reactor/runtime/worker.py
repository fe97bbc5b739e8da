"""A worker, from its birth by fork to its end."""

import io
import os
import signal
import sys

from reactor import _core
from reactor.runtime import output
from reactor.runtime.descriptors import FIRST_OTHER_FD, SEND_FD
from reactor.runtime.seeding import reseed

# ExitReason in the core
INTENDED, CREATION_FAILED, OUT_OF_SCOPE, IDLE, SYSTEM_EXIT = range(1, 6)
_IDLE_SECONDS = 10.0  # a task worker without work for so long ends if there are more of them than CPUs


class _Stream(io.FileIO):
    """Standard output or error of a worker; tells whose lines follow when the running function changes."""

    label = None
    in_line = False  # what was written last has no newline yet

    def write(self, data):
        name = _core.running_name()
        if name is not None and name != self.label:
            self.label = name
            super().write((b"\n" if self.in_line else b"") + output.LABEL + name.encode() + b"\n")
        self.in_line = bytes(data[-1:]) != b"\n"
        return super().write(data)


def main(slot, facts, gpus, birth, pipes, config, plugin):
    """Runs the worker in this process, which was just forked; never returns.

    Arguments: slot, the process's entry in the heap; facts, the actor's (None: task worker); gpus, [(id, share)] it may use;
    birth, what distinguishes it for seeding; pipes, descriptors for stdout and stderr; config and plugin, as the zygote's.
    """
    status = 1
    try:
        _core.die_with_parent()
        if os.getppid() == 1:
            os._exit(0)
        for target, pipe in enumerate(pipes, 1):
            os.dup2(pipe, target)
        os.closerange(FIRST_OTHER_FD, 1 << 20)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        role = "task" if facts is None else "actor"
        for number, name in ((1, "stdout"), (2, "stderr")):
            raw = _Stream(number, "w", closefd=False) if role == "task" else io.FileIO(number, "w", closefd=False)
            stream = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)
            stream.mode = "w"
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        _core.attach_worker(slot, SEND_FD)
        reseed(config["settings"].get("seed"), f"{role} {birth}")
        _core.set_hook("exit_kind", exit_kind)
        plugin.install(config["settings"], role)
        plugin.begin(config["settings"], facts, gpus)
        reason = IDLE
        while reason == IDLE:
            reason = _core.serve(_IDLE_SECONDS if role == "task" else 0.0)
            if reason == IDLE and _core.pool_surplus():
                break
        leave(reason)
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def exit_kind(kind, reason):
    """The core's question: with `reason` 0, whether an exception of class `kind` ends the process (0: no); else: leave now."""
    if reason:
        leave(reason)
    if issubclass(kind, SystemExit):
        return INTENDED if getattr(kind, "intended", False) else SYSTEM_EXIT
    return 0


def leave(reason):
    """Ends the process in an orderly way."""
    _core.set_exit_reason(reason)
    if reason in (INTENDED, OUT_OF_SCOPE, SYSTEM_EXIT):
        import atexit

        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(0)
