"""Sets the number of threads of the numeric libraries in this process.

A library reads its environment variable only when it is loaded. But a worker is forked from a process that has already loaded some libraries, and a
task worker runs tasks with different numbers of CPUs. So this module passes the values of the variables to the loaded libraries.
"""

import os
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

OPENMP = "OMP_NUM_THREADS"
VARIABLES = frozenset((OPENMP, "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "BLIS_NUM_THREADS"))


class _Kind(NamedTuple):
    """A kind of libraries, whose file names begin with `file`, a regular expression: possible names of their two functions, the variables that they
    read (the strongest first), a function that returns their most threads, and whether each thread has a number of its own, or the process one."""

    file: str
    get: tuple
    set: tuple
    variables: tuple
    most: Callable
    of_thread: bool


class Library(NamedTuple):
    """A loaded library: its variables, its most threads, whether each thread has a number of its own, and its C functions that get and set the number
    of threads, with their addresses."""

    variables: tuple
    most: int
    of_thread: bool
    get: Callable
    set: Callable
    addresses: tuple

    def count_from_environment(self):
        """The number of threads in the environment variables; None if none of them is set."""
        for name in self.variables:
            value = _environ.get(os.fsencode(name))  # os.environ.get() takes ten times as long for what is not there
            if value is not None and (value := value.split(b",")[0].strip()).isdigit() and int(value):
                return min(int(value), self.most)
        return None

    def default(self):
        """The number of threads if no variable is set."""
        return min(self.most, _cores())


def follow():
    """Sets the number of threads of each loaded library from the environment variables, as if it were loaded now."""
    for library in libraries():
        library.set(library.count_from_environment() or library.default())


def variables():
    """The current values of the environment variables, for comparisons."""
    return {name: os.environ.get(name) for name in VARIABLES}


def libraries():
    """The loaded libraries as Library. torch is the last one, because it sets the libraries that it uses."""
    global _known
    if _known is None or _known[0] != len(sys.modules):
        paths = _loaded()
        _known = len(sys.modules), [found for kind in _KINDS for path in paths if (found := _library(kind, path))]
    return _known[1]


_UNLIMITED = 1 << 30
_environ = os.environ._data  # pyright: ignore[reportAttributeAccessIssue]  # bytes to bytes
_known = None  # (number of modules, libraries loaded then)


@cache
def _cores():
    return len(os.sched_getaffinity(0))


@cache
def _physical_cores():
    """The number of physical cores that this process may use, as MKL counts them."""
    cores = set()
    for cpu in os.sched_getaffinity(0):
        try:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as file:
                cores.add(file.read())
        except OSError:
            cores.add(cpu)
    return len(cores)


def _openblas(what):
    return tuple(
        f"{prefix}openblas_{what}_num_threads{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "_64", "")
    )


_KINDS = (
    _Kind(
        r"lib(gomp|omp|iomp5)[-.]",
        ("omp_get_max_threads",),
        ("omp_set_num_threads",),
        (OPENMP,),
        lambda: _UNLIMITED,
        of_thread=True,
    ),
    _Kind(
        r"lib\w*openblas",
        _openblas("get"),
        _openblas("set"),
        ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", OPENMP),
        _cores,
        of_thread=False,
    ),
    _Kind(
        r"libblis",
        ("bli_thread_get_num_threads",),
        ("bli_thread_set_num_threads",),
        ("BLIS_NUM_THREADS", OPENMP),
        lambda: _UNLIMITED,
        of_thread=False,
    ),
    _Kind(
        r"libmkl_rt",
        ("MKL_Get_Max_Threads",),
        ("MKL_Set_Num_Threads",),
        ("MKL_NUM_THREADS", OPENMP),
        _physical_cores,
        of_thread=False,
    ),
    _Kind(
        r"libtorch_cpu",
        ("_ZN2at15get_num_threadsEv",),
        ("_ZN2at15set_num_threadsEi",),
        ("MKL_NUM_THREADS", OPENMP),
        _physical_cores,
        of_thread=True,
    ),
)


def _loaded():
    """Paths of the shared libraries of this process."""
    with open("/proc/self/maps") as file:
        return sorted({line.split(maxsplit=5)[-1].strip() for line in file if ".so" in line})


def _library(kind, path):
    if not re.match(kind.file, os.path.basename(path)):
        return None
    import ctypes  # 3 ms, which only who has loaded a numeric library pays

    try:
        handle = ctypes.PyDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None  # replaced on the disk meanwhile
    get, put = (
        next((getattr(handle, name) for name in names if hasattr(handle, name)), None) for names in (kind.get, kind.set)
    )
    if get is None or put is None:
        return None
    get.restype, get.argtypes, put.restype, put.argtypes = ctypes.c_int, [], None, [ctypes.c_int]
    addresses = tuple(ctypes.cast(function, ctypes.c_void_p).value for function in (get, put))
    return Library(kind.variables, kind.most(), kind.of_thread, get, put, addresses)
