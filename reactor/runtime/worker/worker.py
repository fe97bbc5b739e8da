"""The main function of a worker, from the fork to its end."""

import _thread
import faulthandler
import functools
import io
import os
import signal
import sys
import threading
import time

from reactor import _core
from reactor.runtime.messages import control, output
from reactor.runtime.processes import descendants, forks
from reactor.runtime.seeding.seeding import reseed
from reactor.runtime.spawning import descriptors, imported_with, spawning
from reactor.runtime.worker import stacks

# ExitReason in the core
UNKNOWN, INTENDED, CREATION_FAILED, OUT_OF_SCOPE, IDLE, SYSTEM_EXIT, DRAINED, FINISHED, LOST_DESCRIPTOR = (
    _core.ExitReason
)
HOST = {}  # the facts of a worker that hosts many actors
LASTING = (
    INTENDED,
    CREATION_FAILED,
    OUT_OF_SCOPE,
    FINISHED,
)  # an actor that ended for one of these reasons is not restarted
_THREADS_SECONDS = 2.0  # how long a worker's end waits for threads of the program
_IDLE_SECONDS = 10.0  # an idle task worker ends after this time if there are more task workers than CPUs


before_exit = []  # called when the process ends in an orderly way, before its exit functions
after_exit = []  # called after them
threads_of_runtime = set()  # threads that are not the program's, though they are no daemons
has_one_actor = False  # this process is an actor's own
exit_status = 0  # of the last SystemExit that ended this process or, where it has several, an actor
drained_as = DRAINED  # the reason of the end after `_core.leave_after_task()`


def follow(label):
    """From now on, shows output of this process under the label that `label()` returns at that moment, if it returns one."""
    for stream in _streams:
        stream.label_now = label


class _Text(io.TextIOWrapper):
    """Standard output or error as text. `print(..., end="")` is written at once: its last act is to write an empty text. Other unfinished lines
    are written when the running call ends; a write for each would make a `print` of several values several times as slow."""

    def write(self, text):
        written = super().write(text)
        if not text:
            self.flush()
        elif text[-1] != "\n":
            _core.mark_unflushed()
        return written


_streams = []  # standard output and error, raw


def rename(label):
    """From now on, shows output of this process under `label`."""
    flush()
    for stream in _streams:
        stream.rename(label)


def _label_children():
    """Children of this process write to the same pipes: under the label of the call that starts them."""
    for stream in _streams:
        stream.follow()


def print_on_both(text):
    """Prints `text` on stdout and on stderr."""
    flush()
    for stream in _streams:
        stream.write(text.encode(errors="replace") + b"\n")


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # noqa: S110
            pass  # closed, or replaced by something of the program's own


class _Stream(io.FileIO):
    """Standard output or error of a worker. Where calls of several functions or actors run, it writes a new label when another of them begins to write."""

    label = None
    in_line = False  # whether the last text did not end with a newline
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

    def follow(self):
        if self.label_now is not None:
            name = self.label_now()
            if name is not None and name != self.label:
                self.rename(name)

    def write(self, data):
        self.follow()
        self.in_line = bytes(data[-1:]) != b"\n"
        return super().write(data)


def main(parent, slot, facts, gpus, setting, birth, pipes, config, plugin):
    """Runs the worker in this process, which was just forked; never returns.

    Arguments:
        parent: pid of the zygote.
        slot: the process's entry in the heap.
        facts: the actor's facts; None: a task worker; HOST: a packed worker.
        gpus: [(id, share)] that it may use.
        setting: the setting of a task worker's tasks, or of a packed worker; None: the default.
        birth: distinguishes this worker from others for seeding.
        pipes: descriptors for stdout and stderr.
        config, plugin: those of the zygote.
    """
    try:
        # Processes that it starts belong to its group, and end with it. A signal that the program sends to its process group does not reach other workers.
        os.setpgid(0, 0)
        _core.die_with_parent()
        if os.getppid() != parent:
            os._exit(0)  # the parent ended before the line above; an orphan's new parent need not be process 1
        for target, pipe in enumerate(pipes, 1):
            os.dup2(pipe, target)
        descriptors.of_workers.close_others()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        arguments = slot, facts, gpus, setting, birth
        variables = plugin.variables(config["settings"], facts, setting)
        if imported_with.others(variables) or imported_with.hides(
            plugin.directories(config["settings"], facts, setting), plugin
        ):
            spawning.restart(variables, config, plugin, arguments)
        go_on(
            *arguments, variables, config, plugin, lambda slot: _core.attach_worker(slot, descriptors.of_workers.send)
        )
    except BaseException:
        _show_error()
    finally:
        os._exit(1)


def _show_error():
    import traceback

    traceback.print_exc()
    sys.stderr.flush()


def go_on(slot, facts, gpus, setting, birth, variables, config, plugin, attach):
    """Runs the worker in this process, which has its place among the processes and its standard streams; never returns. variables: from the plugin;
    `attach(slot)`: takes part in the run. The other arguments: see `main`."""
    global has_one_actor
    status = 1
    try:
        role = "task" if facts is None else "actor" if facts else "packed"
        for number, name in ((1, "stdout"), (2, "stderr")):
            raw = _Stream(number, "w", closefd=False)
            _streams.append(raw)
            # Two objects: a library that finds sys.stdout to be sys.__stdout__ may take its own way to a terminal, as Train's print does.
            for attribute in (name, f"__{name}__"):
                stream = _Text(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)
                stream.mode = "w"  # pyright: ignore[reportAttributeAccessIssue]
                setattr(sys, attribute, stream)
        if role == "task":
            follow(_core.running_name)
        if role != "actor":
            _core.before_children(_label_children)
        attach(slot)
        forks.stays_with_parent()
        if role == "packed":
            _core.begin_packed()
        if role == "task":
            _core.set_hook("put_off", _put_off(slot, config.get("scope")))
        faulthandler.enable()  # shows the Python stack of a crash in native code
        stacks.offer()
        if config.get("scope"):  # a driver from outside: the zygote has other paths
            sys.path[:] = config["path"]
            if config["cwd"] is not None:
                os.chdir(config["cwd"])
        if hasattr(threading.main_thread(), "_set_native_id"):
            threading.main_thread()._set_native_id()  # pyright: ignore[reportAttributeAccessIssue]  Python has the zygote's
        reseed(config["seed"], f"{role} {birth}")
        _core.set_hook("exit_kind", exit_kind)
        _core.set_hook("leave", leave)
        _core.set_hook("flush", flush)
        plugin.install(config["settings"], role)
        if role != "packed":  # an interrupt for one actor of a packed worker would hit the others, too
            signal.signal(signal.SIGTERM, _Terminated())
            _core.wake_on_signal(signal.SIGTERM)
        has_one_actor = role == "actor"
        plugin.begin(config["settings"], facts, gpus, setting, variables)
        if role == "packed":
            _host()
        reason = IDLE
        while reason == IDLE:
            reason = _core.serve(_IDLE_SECONDS if role == "task" else 0.0)
            if reason == IDLE and _core.pool_surplus():
                break
        leave(drained_as if reason == DRAINED else reason)
    except BaseException:
        _show_error()
    finally:
        os._exit(status)


def _put_off(slot, scope):
    """The hook that gives a task back to the supervisor, which queues it again after the pause of a retry."""
    sender = control.Sender(scope)
    return lambda task, number: sender.tell("put_off", _core.submitter(slot, 0), number, task)


def _host():
    """Serves the actors of this packed worker, in as many threads as their waits need; never returns."""
    from reactor.runtime.worker.started_processes import Started

    sender = control.Sender()
    started = Started()
    started.watch()
    _core.set_hook("actor_left", _actor_left(sender, started))
    time.sleep = _sleep_beside(time.sleep)
    _core.set_hook(
        "thread", lambda watchdog: _thread.start_new_thread(_core.watch_packed if watchdog else _core.serve_beside, ())
    )
    _core.serve_packed()


def _actor_left(sender, started):
    """The hook that tells the supervisor that an actor has left this worker."""

    def tell(number, offset, reason):
        sender.tell("actor_left", offset, reason, started.take(number), status_of(reason))

    return tell


def _sleep_beside(sleep):
    """`time.sleep` for a packed worker: the other actors run during the sleep."""

    @functools.wraps(sleep)
    def beside(seconds, /):
        return _core.beside(sleep, seconds)

    return beside


class _Terminated:
    """Handler of SIGTERM: raises SystemExit in the running call, so that its `finally` blocks run. If no call runs, it ends the process."""

    def __init__(self):
        self.pid = os.getpid()

    def __call__(self, number, frame):
        own = os.getpid() == self.pid
        if not own and not _is_child_of_multiprocessing():
            _die_of(number)
        if own and not _core.running_uid():
            _end_by(number)
        error = SystemExit(1)
        error.signal = number if own else None  # pyright: ignore[reportAttributeAccessIssue]
        raise error


def _is_child_of_multiprocessing():
    """Whether `multiprocessing` runs the code of this process, which a worker has forked."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _end_by(number):
    """Ends the process by the signal itself, after its exit functions. So the error of its calls names the signal."""
    try:
        _tell(before_exit)
        _run_exit_functions()
    finally:
        _die_of(number)


def _die_of(number):
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)


def exit_kind(error):
    """Hook of the core. Returns the ExitReason if the exception `error` ends the process, else UNKNOWN."""
    if getattr(error, "signal", None) and isinstance(error, SystemExit):
        _end_by(error.signal)  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(error, SystemExit):
        global exit_status
        exit_status = _status(error.code)
        if not isinstance(error.code, (int, type(None))):
            print(error.code, file=sys.stderr)  # as Python does
        return INTENDED if getattr(error, "intended", False) else FINISHED if error.code == 0 else SYSTEM_EXIT
    return UNKNOWN


def status_of(reason):
    """The status with which a process ends for this ExitReason that `exit_kind` has just given."""
    return exit_status if reason in (SYSTEM_EXIT, FINISHED) else 0


def _status(code):
    """The status with which Python ends for this code of a SystemExit."""
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


def _end_processes_of_multiprocessing():
    """Ends the children of `multiprocessing`, because its exit function would wait for them; they end with this worker in any case."""
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
    """Ends the process after its exit functions and the flush of its output."""
    _core.set_exit_reason(reason)
    if reason in (INTENDED, OUT_OF_SCOPE, SYSTEM_EXIT, FINISHED, DRAINED):
        _tell(before_exit)
        _finish_threads()
        _run_exit_functions()
    flush()
    os._exit(status_of(reason))


def _finish_threads():
    """Waits for the program's threads that are no daemons, and for the work of its thread pools, as Python does at its end; but not for long, because
    the worker keeps its resources meanwhile, and callers wait for its end."""
    not_these = {threading.main_thread(), threading.current_thread(), *threads_of_runtime}
    of_pools = getattr(threading, "_threading_atexits", ())  # functions that finish the work of thread pools

    def left():
        return [thread for thread in threading.enumerate() if not thread.daemon and thread not in not_these]

    def finish():
        _tell(reversed(of_pools))
        for thread in left():
            if thread.ident is not None:  # else it is just being started
                threading.Thread.join(thread)  # the program's class may have a `join` of its own

    if not of_pools and not left():
        return
    waiter = threading.Thread(target=finish, daemon=True)
    waiter.start()
    waiter.join(_THREADS_SECONDS)
    if waiter.is_alive():
        names = ", ".join(thread.name for thread in left()) or "those of thread pools"
        print(
            f"this process ends. {_THREADS_SECONDS:g} s later threads of it still run, and their work is lost: {names}. "
            "Let them end before, or make them daemons",
            file=sys.stderr,
        )


def _write_out_files():
    """Writes out what the program has left in the buffers of open files, as Python does at its end."""
    import gc

    for file in gc.get_objects():
        kind = type(file)  # `isinstance` would ask the object for its __class__, and a proxy may answer with anything
        if issubclass(kind, (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)) and _is_open(file):
            _tell([file.flush])


def _is_open(file):
    try:
        return not file.closed
    except ValueError:  # the signal that ends this process came while it was being made
        return False


def _tell(functions):
    for function in functions:
        try:
            function()
        except BaseException:
            import traceback

            traceback.print_exc()


def _run_exit_functions():
    import atexit

    _end_processes_of_multiprocessing()
    atexit._run_exitfuncs()
    _write_out_files()
    _tell(after_exit)
    _write_out_files()
    flush()
