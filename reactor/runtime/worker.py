"""A worker, from its birth by fork to its end."""

import _thread
import faulthandler
import functools
import io
import os
import signal
import socket
import sys
import time

from reactor import _core
from reactor.runtime import control, descendants, output, stacks
from reactor.runtime.descriptors import FIRST_OTHER_FD, SEND_FD
from reactor.runtime.seeding import reseed

# ExitReason in the core
_, INTENDED, CREATION_FAILED, OUT_OF_SCOPE, IDLE, SYSTEM_EXIT, DRAINED, FINISHED = _core.ExitReason
HOST = {}  # the facts of a worker that hosts many actors
LASTING = (INTENDED, CREATION_FAILED, OUT_OF_SCOPE, FINISHED)  # an actor that ended so is not made anew
_IDLE_SECONDS = 10.0  # a task worker without work for so long ends if there are more of them than CPUs


def follow(label):
    """What this process prints from now on is shown under what `label()` gives at that moment, if it gives something."""
    for stream in _streams:
        stream.label_now = label


class _Text(io.TextIOWrapper):
    """Standard output or error as text. A line that is not at its end yet is written out when the running call is."""

    def write(self, text):
        written = super().write(text)
        if text and text[-1] != "\n":
            _core.mark_unflushed()
        return written


_streams = []  # standard output and error, raw


def rename(label):
    """What this process prints from now on is shown under `label`."""
    flush()
    for stream in _streams:
        stream.rename(label)


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # noqa: S110
            pass  # closed, or replaced by something of the program's own


class _Stream(io.FileIO):
    """Standard output or error of a worker; tells whose lines follow, in a task worker when the running function changes."""

    label = None
    in_line = False  # what was written last has no newline yet
    label_now = None

    def rename(self, label):
        self.label = label
        super().write(
            (b"\n" if self.in_line else b"")
            + output.LABEL
            + label.encode(errors="replace").replace(b"\n", b" ")
            + b"\n"
        )
        self.in_line = False

    def write(self, data):
        if self.label_now is not None:
            name = self.label_now()
            if name is not None and name != self.label:
                self.rename(name)
        self.in_line = bytes(data[-1:]) != b"\n"
        return super().write(data)


def main(parent, slot, facts, gpus, setting, birth, pipes, config, plugin):
    """Runs the worker in this process, which was just forked; never returns.

    Arguments: parent, the pid that forked it; slot, the process's entry in the heap; facts, the actor's (None: task worker, HOST: one that hosts many actors); gpus, [(id, share)] it may use;
    setting, what a task worker's tasks asked for (None: nothing); birth, what distinguishes it for seeding; pipes, descriptors for stdout and stderr; config and plugin, as the zygote's.
    """
    status = 1
    try:
        os.setpgid(0, 0)  # what it starts belongs to its group, and ends with it
        _core.die_with_parent()
        if os.getppid() != parent:
            os._exit(0)  # it ended before the line above, and an orphan's new parent need not be process 1
        os.setpgid(
            0, 0
        )  # a signal that the program sends to its process group is for what it has started, not for other workers
        for target, pipe in enumerate(pipes, 1):
            os.dup2(pipe, target)
        os.closerange(FIRST_OTHER_FD, 1 << 20)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        role = "task" if facts is None else "actor" if facts else "packed"
        for number, name in ((1, "stdout"), (2, "stderr")):
            raw = _Stream(number, "w", closefd=False)
            _streams.append(raw)
            stream = _Text(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)
            stream.mode = "w"  # pyright: ignore[reportAttributeAccessIssue]
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        if role == "task":
            follow(_core.running_name)
        _core.attach_worker(slot, SEND_FD)
        if role == "packed":
            _core.begin_packed()
        faulthandler.enable()  # a crash in native code shows its Python stack
        stacks.offer()
        reseed(config["settings"].get("seed"), f"{role} {birth}")
        _core.set_hook("exit_kind", exit_kind)
        _core.set_hook("flush", flush)
        plugin.install(config["settings"], role)
        if role != "packed":  # the other actors of a packed worker must not be interrupted for one's sake
            signal.signal(signal.SIGTERM, _Terminated())
            _core.wake_on_signal(signal.SIGTERM)
        plugin.begin(config["settings"], facts, gpus, setting)
        if role == "packed":
            _host()
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


def _host():
    """Serves the actors that this process hosts, in as many threads as their waits need; never returns."""
    sender = control.Sender(socket.socket(fileno=os.dup(SEND_FD)))
    _core.set_hook("left", lambda offset, reason: sender.tell("left", offset, reason))
    time.sleep = _sleep_beside(time.sleep)
    _core.set_hook(
        "thread", lambda watchdog: _thread.start_new_thread(_core.watch_packed if watchdog else _core.serve_beside, ())
    )
    _core.serve_packed()


def _sleep_beside(sleep):
    """`time.sleep` in a packed worker: the other actors run meanwhile, at once."""

    @functools.wraps(sleep)
    def beside(seconds, /):
        return _core.beside(sleep, seconds)

    return beside


class _Terminated:
    """Handler of SIGTERM: raises SystemExit in the running call, so that its `finally` blocks run; without one the process ends here."""

    def __init__(self):
        self.pid = os.getpid()

    def __call__(self, number, frame):
        own = os.getpid() == self.pid
        if not own and not _is_child_of_multiprocessing():
            _die_of(number)
        if own and not any(_core.running()):
            _end_by(number)
        error = SystemExit(1)
        error.signal = number if own else None  # pyright: ignore[reportAttributeAccessIssue]
        raise error


def _is_child_of_multiprocessing():
    """Whether this process, forked by a worker, has `multiprocessing`'s own frame around what it runs."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _end_by(number):
    """Ends the process after its exit functions, by the signal itself, which its callers are then told of."""
    _run_exit_functions()
    _die_of(number)


def _die_of(number):
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)


def exit_kind(error, reason):
    """The core's question: with `reason` 0, whether the exception `error` ends the process (0: no); else: leave now."""
    if reason:
        leave(reason)
    if getattr(error, "signal", None) and isinstance(error, SystemExit):
        _end_by(error.signal)  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(error, SystemExit):
        return INTENDED if getattr(error, "intended", False) else FINISHED if error.code == 0 else SYSTEM_EXIT
    return 0


def _end_processes_of_multiprocessing():
    """Its exit function would wait for them; they end with this worker in any case."""
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None:
        return
    for end in ("terminate", "kill"):
        children = multiprocessing.active_children()
        for child in children:
            getattr(child, end)()
        deadline = time.monotonic() + descendants.GRACE_SECONDS
        for child in children:
            child.join(max(0.0, deadline - time.monotonic()))


def leave(reason):
    """Ends the process in an orderly way."""
    _core.set_exit_reason(reason)
    if reason in (INTENDED, OUT_OF_SCOPE, SYSTEM_EXIT, FINISHED, DRAINED):
        _run_exit_functions()
    flush()
    os._exit(0)


def _run_exit_functions():
    import atexit

    _end_processes_of_multiprocessing()
    atexit._run_exitfuncs()
    flush()
