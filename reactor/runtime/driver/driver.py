"""The driver's side of a run: starts the zygote, shows the workers' output, and ends everything."""

import contextlib
import errno
import os
import pickle
import signal
import socket
import sys
import tempfile
import threading
import time

from reactor import _core, codec
from reactor.runtime.messages import output, own_socket, private_folder
from reactor.runtime.messages.control import Sender
from reactor.runtime.processes import control_groups, descendants, forks, silence
from reactor.runtime.spawning import spawning
from reactor.runtime.spawning.descriptors import CONTROL_FD, HEAP_FD, LINE_FD, LISTEN_FD, SEND_FD, SPILL_FD
from reactor.runtime.zygote import early_zygote

_FEWEST_DESCRIPTORS = 24  # with which a run can have a few workers
PATIENCE = 0.1, 0.1  # seconds, and share of the time, that a caller may be blocked because of order


class Driver:
    """One run: shared heap, zygote, workers. Made by `start`, ended by `stop`.

    Arguments:
        cpus: int or float, number of CPUs that tasks and actors may use at the same time.
        resources: {name: amount}, further resources.
        store_limit: most bytes of all large values together.
        plugin: name of the module with the functions of the higher layer (see reactor.runtime.worker.plugin).
        settings: for the plugin, sent to every worker; picklable.
        seed: from which the random states of workers are made; None: from the operating system.
        preload: modules that the zygote imports before the first fork, as reactor.runtime.spawning.preloading takes them.
        variables: {name: value} of environment variables for workers, unless the program has set them.
        environment: {name: value} of environment variables for workers, whether or not the program has set them.
        show: called with (stream, label, pid, line) for each line that a worker prints; stream is 1 or 2. None: the output is not shown. It may
            be set as an attribute until the first actor or task is made. So may `lost`, which is called with a text (from the plugin's
            `lost_text`) for each failed call whose last ref is gone and whose result nobody asked for.
        ordering: "logical" (an actor runs its calls in the order of the program's serial run), "strict" (the same, and an error if this is
            impossible) or "arrival"; see native/order/order.h.
        timing: with ordering "timed": the arguments of `_core.begin_timed_order`, whether the run is measured and the durations that it follows.
        patience: (seconds, share of the time): the budget for which logical order may block a caller, for each call that it waits for.
        digesting: the part of calls that the digest covers (native/codec/digest.h): 0 nothing, 1 large buffers sampled, 2 everything.
        journaling: whether calls are reported to the hooks call_tag, call_sent, result, call_started, executed and call_finished.
        inline: everything in this process, without a zygote; each call runs to its end where it is made.
        spilling: where large values go if the store is full: a dict of `directory`, a path; `remedy`, what the user can do if nothing
            can be written there; `left`, the share of that disk which is left free; `note`, bytes after which the user gets a message,
            then at each doubling, 0 for never; `note_text`, added to that message. None: a full store is an error.
        full_wait: seconds for which a value waits for room in the store before that is an error, counted from when the store became full.
        memory: what is done when the machine's memory runs out (see supervisor/out_of_memory.py): a dict of `interval`, seconds between two looks;
            `share` of the memory that may be in use; `free`, bytes with which more may be in use, or None; `idle`, bytes from which on idle workers end
            first; `retries`, how often one task is run again, -1 for ever; `delay`, seconds before the first time, twice as long before
            each further one. None: nothing is done.
        retry_delay: seconds before a call is run again whose process has died, or that was put off (`_core.run_later`).
        packed: the plan of packed workers (see reactor.runtime.supervisor.hosting); None: a process per actor.
        listening: a socket on which drivers come to this session (see supervisor/joined_drivers.py); about: a dict, the facts of the session for those;
            head: this process makes no calls of its own.
    """

    def __init__(
        self,
        *,
        cpus,
        resources,
        store_limit,
        plugin,
        settings,
        seed=None,
        preload=(),
        variables=None,
        environment=None,
        show=None,
        inline=False,
        spilling=None,
        full_wait=5.0,
        memory=None,
        retry_delay=0.0,
        ordering="arrival",
        patience=PATIENCE,
        timing=None,
        digesting=0,
        journaling=False,
        packed=None,
        listening=None,
        about=None,
        head=False,
    ):
        self.cpus = cpus
        self.resources = {"CPU": cpus, **resources}
        self.store_limit = store_limit
        self.plugin = plugin
        self.settings, self.seed = settings, seed
        self.preload = list(preload)
        self.variables = variables or {}
        self.environment = environment or {}
        self.show = show
        self.lost = None
        self.inline = inline
        self.ordering, self.patience, self.digesting = ordering, patience, digesting
        self.journaling, self.timing = journaling, timing
        self.spilling, self.full_wait, self.memory = spilling, full_wait, memory
        self.retry_delay = retry_delay
        self.packed = packed
        self.listening, self.about, self.head = listening, about, head
        self.zygote = None
        self.control = None
        self._line = self._socket = None
        self._thread = None
        self._stopping = False
        self._spill = -1  # descriptor of the spill file, until the core has it

    def start(self):
        """RuntimeError: a limit of this process is too low, or it takes part in a run already."""
        refuse_second_run()
        try:
            with _standard_descriptors_taken():
                self._start()
        except BaseException as error:
            self.stop()
            if os.strerror(errno.EMFILE) in str(error):
                raise OSError(
                    errno.EMFILE,
                    f"init: this process has too many open files ({error}). Close some, or raise the limit: `ulimit -n 4096`",
                ) from None
            raise

    def _start(self):
        codec.install()
        _check_limits(_heap_capacity(self.store_limit), self.inline)
        spill = self._spill = _spill_file(self.spilling["directory"], self.spilling["remedy"]) if self.spilling else -1
        heap = _core.create(
            _heap_capacity(self.store_limit),
            int(self.store_limit),
            control_groups.cores(),
            self.inline,
            spill=spill,
            spill_note=self.spilling["note"] if self.spilling else 0,
            ordering=getattr(_core.Ordering, self.ordering.upper()),
            patience=self.patience,
            digesting=self.digesting,
            journaling=self.journaling,
            head=self.head,
            full_wait=self.full_wait,
            disk_left=self.spilling["left"] if self.spilling else 0.0,
        )
        self._spill = -1  # the core's
        if self.timing:
            _core.begin_timed_order(*self.timing)
        forks.stays_with_parent(self)
        for name, amount in self.resources.items():
            _core.register_resource(name, round(amount * _core.UNIT), name == "CPU")
        if self.inline or self.journaling:  # a journal begins with the first lock that its zygote creates
            early_zygote.end()
        if self.inline:
            return
        with contextlib.ExitStack() as theirs:
            self._socket, receive = own_socket.pair(socket.SOCK_SEQPACKET)
            theirs.enter_context(receive)
            self._line, line = own_socket.pair()
            theirs.enter_context(line)
            self._spawn(heap, receive.fileno(), self._socket.fileno(), line.fileno(), spill)
        self.control = Sender()
        _core.set_control(self._socket.fileno())
        try:
            self._line.sendall(_framed(self._config()))
        except ConnectionError as error:
            raise RuntimeError(
                f"init: the process that starts the workers (pid {self.zygote}) ended before it was ready ({error.strerror}). It was killed, "
                "or Python could not start in it: see its output on stderr, then call init() again"
            ) from None
        thread = threading.Thread(target=self._read_line, name="reactor-output", daemon=True)
        thread.start()
        self._thread = thread

    def _config(self):
        return {
            "path": list(sys.path),
            "environment": self.environment,
            "own_path": spawning.path_without_the_programs(),
            "cwd": spawning.current_directory(),
            "plugin": self.plugin,
            "settings": self.settings,
            "seed": self.seed,
            "preload": self.preload,
            "spilling": self.spilling,
            "memory": self.memory,
            "retry_delay": self.retry_delay,
            "packed": self.packed,
            "drivers": self.about if self.listening is not None else None,
            "head": self.head,
            "parent": os.getpid(),
            # The kernel's "parent died" signal follows the thread that spawned, so only the main thread's counts.
            "die_with_parent": threading.current_thread() is threading.main_thread(),
        }

    def _spawn(self, heap, control, send, line, spill):
        descriptors = [(heap, HEAP_FD), (control, CONTROL_FD), (send, SEND_FD), (line, LINE_FD)]
        descriptors += [(spill, SPILL_FD)] if spill >= 0 else []
        descriptors += [(self.listening.fileno(), LISTEN_FD)] if self.listening is not None else []
        self.zygote = early_zygote.take(descriptors, self.variables, self.environment)
        if self.zygote is None:
            environment = {**spawning.environment(self.variables), **self.environment}
            self.zygote = spawning.spawn(spawning.command(), descriptors, environment)

    def _read_line(self):
        output.read_frames(self._line, self, _core.collect_if_asked)
        if not self._stopping:
            if not self._line.is_own():
                _core.lost_descriptor()
            _core.abort()
            descendants.end(lambda: descendants.in_session(self.zygote))

    def forget(self):
        """In a forked child: closes the descriptors, and ends nothing."""
        for end in (self._line, self._socket):
            if end is not None:
                end.close()

    def wait(self):
        """Until the run's other processes have ended."""
        self._thread.join()

    def stop(self):
        """Ends every process of the run and frees its memory, also if `start` has failed in the middle. Arrays that the program still has stay valid."""
        self._stopping = True
        if self.zygote is not None:
            try:
                if self.control is not None:
                    self.control.tell("shutdown")
            except RuntimeError:  # it is gone already, or cannot be reached any more
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.zygote, signal.SIGTERM)
            except silence.Unanswered:
                pass  # it is killed below
            if not _core.supervisor_ready():
                os.kill(self.zygote, signal.SIGKILL)  # it is still importing, and has no workers yet
            elif silence.is_stopped(self.zygote):
                os.kill(self.zygote, signal.SIGCONT)
            _wait_for_end(self.zygote)
            if self._thread is not None:
                self._thread.join(timeout=5)
            self.zygote = None  # another process may have the number from now on
        _core.close()  # then nobody sends through the socket's descriptor any more
        forks.over()
        for end in (self._line, self._socket):
            if end is not None:
                end.close()
        if self._spill >= 0:
            os.close(self._spill)
            self._spill = -1


def refuse_second_run():
    """RuntimeError if this process takes part in a run: the core has the memory of one."""
    if _core.attached():
        raise RuntimeError(
            "init: this process takes part in a run already, for example of a reactor program on workers, and can take part in one at a time. Call it "
            "when that has ended, or in another process"
        )


def _wait_for_end(pid):
    """Waits until the zygote has ended; kills it after 10 s, and its workers die with it. The zygote ends the processes that workers have started; if
    it was killed, this function does."""
    deadline = time.monotonic() + 10
    pause = 0.0005
    while True:
        try:
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None:
                if ended.si_code != os.CLD_EXITED:
                    descendants.end(lambda: descendants.in_session(pid))
                os.waitpid(pid, 0)
                return
        except ChildProcessError:
            return
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


@contextlib.contextmanager
def _standard_descriptors_taken():
    """A context manager that occupies closed standard descriptors (0 to 2), so that files opened inside the block do not get their numbers."""
    taken = []
    try:
        while not taken or taken[-1] <= 2:
            taken.append(os.open(os.devnull, os.O_RDWR))
        yield
    finally:
        for fd in taken:
            os.close(fd)


def _heap_capacity(store_limit):
    """Bytes of address space (not memory) for the heap: the limit of the store, and the same again for queues and for values on the disk, at least
    256 GiB."""
    return max(256 << 30, 1 << (4 * int(store_limit) - 1).bit_length())


def _spill_file(directory, remedy):
    """Descriptor of a file without a name in `directory`, which is created if it does not exist. The file ends with the last process that has it open."""
    try:
        private_folder.make(os.path.abspath(directory))
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            return _core.move_high(os.dup(file.fileno()))
    except OSError as error:
        raise type(error)(
            error.errno,
            f"init: cannot create the spill file, which takes values beyond the store's limit ({error.strerror}). {remedy}",
            directory,
        ) from None


def _check_limits(capacity, inline):
    """Raises RuntimeError if a limit of this process is below the heap's capacity in bytes."""
    # Not by the module `resource`: a program may have one of its own beside it.
    with open("/proc/self/limits") as file:
        rows = {line[:26].strip(): line[26:].split() for line in file}
    limits = {name: row[0] for name, row in rows.items()}
    most = rows.get("Max open files", ["unlimited"] * 2)[1]  # the hard limit: the zygote raises the other one to it
    if not inline and most != "unlimited" and int(most) < _FEWEST_DESCRIPTORS:
        raise RuntimeError(
            f"init: this process has a limit of {most} open files (ulimit -n), which is too few for the process that starts the workers. Set it to "
            f"{_FEWEST_DESCRIPTORS} or more"
        )
    for name, row, option in (
        ("address space", "Max address space", "-v"),
        ("the size of files", "Max file size", "-f"),
    ):
        limit = limits.get(row, "unlimited")
        if limit != "unlimited" and int(limit) < capacity:
            raise RuntimeError(
                f"init: this process has a limit of {limit} bytes on {name} (ulimit {option}), but the shared memory reserves {capacity} bytes of "
                f"addresses (it takes memory only for what it stores). Raise the limit: `ulimit {option} unlimited`"
            )


def _framed(config):
    data = pickle.dumps(config)
    return len(data).to_bytes(4, "little") + data
