"""On what a zygote's modules depend: on environment variables that they, its interpreter or its libraries have read, and on the places where they were
found. A worker that is to have another value of such a variable, or another module of that name, cannot be a copy of the zygote (see
reactor.runtime.worker.own_interpreter)."""

import contextlib
import os
import sys
from importlib import machinery
from typing import Any

from reactor.runtime.processes import library_threads

#: Read by the interpreter, the loader or the C library when a process starts.
_AT_START = ("PYTHON", "LD_", "LC_", "MALLOC_", "GLIBC_")
#: Of these, those that change nothing here, or are read later.
_LATER = frozenset(
    ("PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "PYTHONBREAKPOINT", "PYTHONASYNCIODEBUG", "PYTHONDONTWRITEBYTECODE")
)
#: Read by libraries in another way than by their names in Python, when they are loaded. Numbers of threads are not among them: `threads` can change these.
_BY_LIBRARIES = {
    **dict.fromkeys(("OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_"), ("numpy", "torch")),
    "NPY_": ("numpy",),
    **dict.fromkeys(("TORCH_", "PYTORCH_", "ATEN_"), ("torch",)),
    **dict.fromkeys(("ARROW_", "MIMALLOC_"), ("pyarrow",)),
    "NUMBA_": ("numba",),
    "HDF5_": ("h5py",),
    "OPENCV_": ("cv2",),
    "GRPC_": ("grpc",),
    "TF_": ("tensorflow",),
    "XLA_": ("jax", "tensorflow"),
    "OPENSSL_": ("_hashlib",),
}
_LATER_IN_LIBRARIES = ("TORCH_NCCL_", "TORCH_HOME", "TORCH_EXTENSIONS_DIR")

# These are imported in any new interpreter of a worker, too.
_OF_ALL_WORKERS = {*sys.stdlib_module_names, "cloudpickle", "reactor"}

_Environment: Any = type(os.environ)
_read = set()  # names that Python code has read during `watched`


@contextlib.contextmanager
def watched():
    """A context manager: modules are imported inside the block."""
    lookup = _Environment.__getitem__

    def noted(self, name):
        _read.add(os.fsdecode(name) if isinstance(name, bytes) else name)
        return lookup(self, name)

    _Environment.__getitem__ = noted
    try:
        yield
    finally:
        _Environment.__getitem__ = lookup


def others(variables):
    """Whether modules that are imported here depend on one of these variables, {name: value or None}, of which the environment has another value."""
    return any(os.environ.get(name) != value and _matters(name) for name, value in variables.items())


def _matters(name):
    if name == "LANG" or name.startswith(_AT_START):
        return name not in _LATER
    if name in library_threads.VARIABLES:
        return False
    return name in _read or (
        not name.startswith(_LATER_IN_LIBRARIES)
        and any(
            name.startswith(prefix) and not sys.modules.keys().isdisjoint(libraries)
            for prefix, libraries in _BY_LIBRARIES.items()
        )
    )


def hides(directories, plugin):
    """Whether a module that is imported here, and is not of the package of `plugin`, stands for another one in these directories (a list of str)."""
    if not directories:
        return False
    of_plugin = os.path.join(os.path.dirname(sys.modules[plugin.__name__.partition(".")[0]].__file__ or ""), "")
    endings = (os.sep + "__init__.py", *machinery.SOURCE_SUFFIXES, *machinery.EXTENSION_SUFFIXES)
    for name, module in list(sys.modules.items()):
        file = None if "." in name or name in _OF_ALL_WORKERS else getattr(module, "__file__", None)
        if not file or file.startswith(of_plugin):
            continue
        for directory in directories:
            other = next(
                (p for p in (os.path.join(directory, name) + end for end in endings) if os.path.exists(p)), None
            )
            if other and os.path.realpath(other) != os.path.realpath(file):
                return True
    return False
