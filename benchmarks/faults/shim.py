"""The preloaded library that strikes a process at its n-th system call (shim.c), and the plan that it follows."""

import contextlib
import ctypes
import errno
import mmap
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PATH = "FAULTS_SHIM"
OFF, COUNT, KILL_BEFORE, KILL_AFTER, FAIL = range(5)
BY_PID, BY_BIRTH, ZYGOTE = 1, 2, 3
NAMES = (
    "send", "sendmsg", "recv", "recvmsg", "read", "write", "pread", "pwrite", "mmap", "munmap", "ftruncate", "fallocate", "fork", "posix_spawn",
    "epoll_create", "epoll_ctl", "epoll_wait", "poll", "futex_wait", "futex_wake", "memfd_create", "eventfd", "pidfd_open", "pipe", "socketpair",
    "socket", "accept", "connect", "open", "dup", "close", "waitid", "kill", "setpgid", "nanosleep",
)  # fmt: skip
SENDS = ("send", "sendmsg", "futex_wake", "write", "fork")
# The errors with which a call may fail for a reason outside of the program.
ERRORS = {
    "send": ("EAGAIN", "ENOBUFS", "EINTR"), "sendmsg": ("EAGAIN", "ENOBUFS", "EINTR"), "recv": ("EINTR",), "recvmsg": ("EINTR", "ENOMEM"),
    "read": ("EINTR",), "write": ("EINTR",), "pread": ("EINTR", "EIO"), "pwrite": ("EINTR", "ENOSPC"), "mmap": ("ENOMEM",),
    "ftruncate": ("ENOSPC",), "fallocate": ("ENOSPC",), "fork": ("EAGAIN", "ENOMEM"), "posix_spawn": ("EAGAIN",),
    "epoll_create": ("EMFILE",), "epoll_ctl": ("ENOSPC",), "epoll_wait": ("EINTR",), "poll": ("EINTR",), "futex_wait": ("EINTR", "EAGAIN"),
    "memfd_create": ("EMFILE",), "eventfd": ("EMFILE",), "pidfd_open": ("EMFILE",), "pipe": ("EMFILE",), "socketpair": ("EMFILE",),
    "socket": ("EMFILE",), "accept": ("EMFILE",), "connect": ("EAGAIN",), "open": ("EMFILE",), "dup": ("EMFILE",), "waitid": ("EINTR",),
    "nanosleep": ("EINTR",),
}  # fmt: skip


def mask(names):
    return sum(1 << NAMES.index(name) for name in names)


@dataclass(frozen=True)
class Fault:
    """What befalls a process: `action` at the `n`-th of its calls of the functions `names`; `error`: name of an errno, for FAIL."""

    action: int
    n: int
    names: tuple = NAMES
    error: str | None = None

    def __str__(self):
        what = {COUNT: "count", KILL_BEFORE: "killed before", KILL_AFTER: "killed after", FAIL: f"{self.error} at"}[
            self.action
        ]
        return f"{what} call {self.n}{'' if self.names == NAMES else ' of ' + ', '.join(self.names)}"


class _Plan(ctypes.Structure):
    _fields_ = [
        ("action", ctypes.c_uint32), ("by", ctypes.c_uint32), ("victim", ctypes.c_int32), ("error", ctypes.c_int32), ("n", ctypes.c_uint64),
        ("mask", ctypes.c_uint64), ("count", ctypes.c_uint64), ("struck", ctypes.c_int32), ("function", ctypes.c_uint32),
        ("driver", ctypes.c_int32), ("zygote", ctypes.c_int32), ("births", ctypes.c_uint32), ("verbose", ctypes.c_uint32),
        ("counts", ctypes.c_uint64 * 64), ("pid_of", ctypes.c_int32 * (1 << 16)),
    ]  # fmt: skip


def build(directory):
    """Compiles the library into the directory; its path. RuntimeError without a C compiler."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise RuntimeError(
            "the library that strikes at system calls is compiled when it is needed, and there is no C compiler: install one, or set CC"
        )
    library = Path(directory) / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def environment(library, path):
    """The variables of a run whose processes follow the plan in the file `path`, which is made."""
    with open(path, "wb") as file:
        file.truncate(ctypes.sizeof(_Plan))
    return {"LD_PRELOAD": str(library), PATH: str(path)}


class Shim:
    """The plan of this run, in its driver. `path`: the file."""

    def __init__(self, path, verbose=False):
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), ctypes.sizeof(_Plan))
        self._plan = _Plan.from_buffer(self._map)
        self._plan.driver = os.getpid()
        self._plan.verbose = verbose

    @contextlib.contextmanager
    def striking(self, fault, by, victim=0):
        """A context manager: in the block, the process `victim` meets the fault."""
        self.arm(fault, by, victim)
        try:
            yield
        finally:
            self._plan.action = OFF

    def arm(self, fault, by, victim=0):
        plan = self._plan
        plan.action = OFF
        plan.by, plan.victim, plan.n, plan.mask = by, victim, fault.n, mask(fault.names)
        plan.error = getattr(errno, fault.error) if fault.error else 0
        plan.count = plan.struck = 0
        ctypes.memset(ctypes.addressof(plan.counts), 0, ctypes.sizeof(plan.counts))
        plan.action = fault.action

    def disarm(self):
        self._plan.action = OFF

    @property
    def next_birth(self):
        """The number of the process that the zygote forks next."""
        return self._plan.births + 1

    def pid_of(self, birth):
        """Pid of the process of that number, 0 if it is not born yet."""
        return self._plan.pid_of[birth % (1 << 16)] if birth <= self._plan.births else 0

    @property
    def zygote(self):
        return self._plan.zygote

    @property
    def struck(self):
        """(pid, name of the function) of the call at which a process was struck, or None."""
        return (self._plan.struck, NAMES[self._plan.function]) if self._plan.struck else None

    @property
    def counts(self):
        """{name of a function: calls} of the victim since the plan was armed."""
        return {name: self._plan.counts[i] for i, name in enumerate(NAMES) if self._plan.counts[i]}
