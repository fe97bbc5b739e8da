"""The driver's side of a run: starts the zygote, hands on workers' output, ends everything."""

import os
import pickle
import signal
import socket
import sys
import tempfile
import threading
import time

from reactor import _core, codec
from reactor.runtime import output
from reactor.runtime.control import Sender
from reactor.runtime.descriptors import CONTROL_FD, HEAP_FD, LINE_FD, PARKED_FD, SEND_FD, SPILL_FD

ORDERINGS = ("arrival", "logical", "strict")  # Ordering in the core
_FLAGS = (("O", "optimize"), ("B", "dont_write_bytecode"), ("s", "no_user_site"), ("S", "no_site"), ("E", "ignore_environment"),
          ("I", "isolated"), ("b", "bytes_warning"))


class Driver:
    """One run: shared heap, zygote, workers. Made by `start`, ended by `stop`.

    Arguments:
        cpus: int or float, what tasks and actors may use at once.
        resources: {name: amount}, further resources.
        store_limit: bytes that large values may take together.
        plugin: name of the module that gives the hooks of this layer's user (see reactor.runtime.plugin).
        settings: dict for the plugin, sent to every worker; picklable.
        preload: names of modules that the zygote imports before the first fork.
        show: called with (stream, label, pid, line) for each line that a worker printed; stream is 1 or 2. None: not shown. May
            be set as an attribute until the first actor or task is made.
        ordering: "logical" (an actor's messages in the order of the program's serial run), "strict" (the same, and an error where that
            cannot be) or "arrival"; see _core/order.h.
        patience: seconds that a message is held back, in logical order, for a call that may never end.
        digesting: what calls add to the digest (_core/digest.h): 0 nothing, 1 large buffers sampled, 2 everything.
        keeping: calls are told to the hooks makes, made, result, began, executed and ended.
        inline: everything in this process, no zygote, each call run at the point of call.
        spilling: where large values go that do not fit: a dict of `directory`, a path; `note`, bytes after which the user is
            told, then at each doubling, 0 for never; `note_text`, added to that line. None: a full store is an error.
        packed: {"workers": number of processes, "groups": names of the actors that share each, "alone": of those that
            share none} for packed workers (see reactor.runtime.hosting); None: a process per actor.
    """

    def __init__(self, *, cpus, resources, store_limit, plugin, settings, preload=(), show=None, inline=False, spilling=None,
                 ordering="arrival", patience=2.0, digesting=0, keeping=False, packed=None):
        self.cpus = cpus
        self.resources = {"CPU": cpus, **resources}
        self.store_limit = store_limit
        self.plugin = plugin
        self.settings = settings
        self.preload = list(preload)
        self.show = show
        self.inline = inline
        self.ordering, self.patience, self.digesting = ordering, patience, digesting
        self.keeping = keeping
        self.spilling = spilling
        self.packed = packed
        self.zygote = None
        self.control = None
        self._line = None
        self._thread = None
        self._stopping = False

    def start(self):
        codec.install()
        spill = _spill_file(self.spilling["directory"]) if self.spilling else -1
        heap = _core.create(
            _heap_capacity(self.store_limit),
            int(self.store_limit),
            os.cpu_count() or 1,
            self.inline,
            spill=spill,
            spill_note=self.spilling["note"] if self.spilling else 0,
            ordering=ORDERINGS.index(self.ordering),
            patience=self.patience,
            digesting=self.digesting,
            keeping=self.keeping,
        )
        for name, amount in self.resources.items():
            _core.register_resource(name, round(amount * 10000), name == "CPU")
        _core.demand([(0, 10000)])  # demand 0: one CPU
        _core.demand([])  # demand 1: nothing
        if self.inline:
            return
        receive, send = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line, line = socket.socketpair()
        try:
            self._spawn(heap, receive.fileno(), send.fileno(), line.fileno(), spill)
        except BaseException:
            _core.close()
            raise
        finally:
            receive.close()
            line.close()
        self.control = Sender(send)
        self._socket = send
        _core.set_control(send.fileno())
        self._line.sendall(_framed(self._config()))
        self._thread = threading.Thread(target=self._read_line, name="reactor-output", daemon=True)
        self._thread.start()

    def _config(self):
        return {
            "path": list(sys.path),
            "cwd": os.getcwd(),
            "plugin": self.plugin,
            "settings": self.settings,
            "preload": self.preload,
            "spilling": self.spilling,
            "packed": self.packed,
            "parent": os.getpid(),
            # The kernel's "parent died" signal follows the thread that spawned, so only the main thread's counts.
            "die_with_parent": threading.current_thread() is threading.main_thread(),
        }

    def _spawn(self, heap, control, send, line, spill):
        here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        # The blanks are room for what `ps` shows of a worker (title.h).
        program = f"import sys; sys.path.insert(0, {here!r}); from reactor.runtime.zygote import main; main()" + " " * 160
        pairs = [(heap, HEAP_FD), (control, CONTROL_FD), (send, SEND_FD), (line, LINE_FD)]
        pairs += [(spill, SPILL_FD)] if spill >= 0 else []
        actions = [(os.POSIX_SPAWN_DUP2, fd, PARKED_FD + i) for i, (fd, _) in enumerate(pairs)]
        actions += [(os.POSIX_SPAWN_DUP2, PARKED_FD + i, to) for i, (_, to) in enumerate(pairs)]
        actions += [(os.POSIX_SPAWN_CLOSE, PARKED_FD + i) for i in range(len(pairs))]
        flags = [f"-{letter}" for letter, name in _FLAGS for _ in range(int(getattr(sys.flags, name, 0)))]
        flags += [f"-X{k}" if v is True else f"-X{k}={v}" for k, v in sys._xoptions.items()]
        flags += [f"-W{w}" for w in sys.warnoptions]
        argv = [sys.executable, *flags, "-c", program]
        self.zygote = os.posix_spawn(sys.executable, argv, os.environ, file_actions=actions, setsid=True)

    def _read_line(self):
        reader = output.FrameReader(self._line)
        while True:
            frame = reader.read()
            if frame is None:
                break
            if self.show is not None:
                try:
                    self.show(*frame)
                except Exception:
                    pass  # the program's own stream is closed or broken; its results are not
        if not self._stopping:
            _core.abort()

    def forget(self):
        """In a forked child: lets go of the descriptors, and of nothing else."""
        if self.zygote is not None:
            self._line.close()
            self._socket.close()

    def stop(self):
        """Ends every process of the run and lets go of its memory. Arrays that the program still has stay valid."""
        self._stopping = True
        if self.zygote is not None:
            try:
                self.control.tell("shutdown")
            except RuntimeError:
                pass  # it is gone already
            if not _core.supervisor_ready():
                os.kill(self.zygote, signal.SIGKILL)  # it is still importing, and has no workers yet
            _wait_for_end(self.zygote)
            self._thread.join(timeout=5)
            self._line.close()
            self._socket.close()
        _core.close()


def _wait_for_end(pid):
    """Waits for the zygote; after 10 s it is ended the hard way (its workers die with it)."""
    deadline = time.monotonic() + 10
    pause = 0.0005
    while True:
        try:
            if os.waitpid(pid, os.WNOHANG)[0] == pid:
                return
        except ChildProcessError:
            return
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


def _heap_capacity(store_limit):
    """Address space, not memory: what the store may hold, and as much again for queues and for values on the disk, at least
    256 GiB."""
    return max(256 << 30, 1 << (4 * int(store_limit) - 1).bit_length())


def _spill_file(directory):
    """Descriptor of a file without a name in `directory`, which is made if need be: it ends with the last process that has it."""
    os.makedirs(directory, exist_ok=True)
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        return os.dup(file.fileno())


def _framed(config):
    data = pickle.dumps(config)
    return len(data).to_bytes(4, "little") + data
