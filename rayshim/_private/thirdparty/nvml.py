"""A small interface to NVIDIA's management library, with the names of nvidia-ml-py."""

import ctypes

__all__ = [
    "NVML_ERROR_LIBRARY_NOT_FOUND",
    "NVML_ERROR_UNINITIALIZED",
    "NVMLError",
    "nvmlDeviceGetCount",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlInit",
    "nvmlShutdown",
    "nvmlSystemGetDriverVersion",
]

NVML_ERROR_UNINITIALIZED = 1
NVML_ERROR_LIBRARY_NOT_FOUND = 12
_TEXT_BYTES = 96
_FILE = "libnvidia-ml.so.1"

_library = None


class NVMLError(Exception):
    """What the library answers instead of 0; `value` is the number."""

    def __init__(self, value):
        self.value = value
        super().__init__(value)

    def __str__(self):
        if self.value == NVML_ERROR_LIBRARY_NOT_FOUND:
            return f"NVML Shared Library Not Found: {_FILE}, which comes with NVIDIA's driver"
        if _library is None:
            return "Uninitialized: call nvmlInit() first"
        _library.nvmlErrorString.restype = ctypes.c_char_p
        return _library.nvmlErrorString(self.value).decode()


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


def nvmlInit():  # noqa: N802
    """Loads the library and starts it. NVMLError: there is none, or it finds no driver."""
    global _library
    try:
        library = ctypes.CDLL(_FILE)
    except OSError:
        raise NVMLError(NVML_ERROR_LIBRARY_NOT_FOUND) from None
    _library = library
    _call("nvmlInit_v2")


def nvmlShutdown():  # noqa: N802
    """Ends the use of the library, once for each nvmlInit."""
    _call("nvmlShutdown")


def nvmlDeviceGetCount():  # noqa: N802
    """The number of GPUs."""
    count = ctypes.c_uint()
    _call("nvmlDeviceGetCount_v2", ctypes.byref(count))
    return count.value


def nvmlDeviceGetHandleByIndex(index):  # noqa: N802
    """The handle of a GPU, which the other functions take; `index` from 0."""
    handle = ctypes.c_void_p()
    _call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
    return handle


def nvmlDeviceGetName(handle):  # noqa: N802
    """Such as "NVIDIA H100 80GB HBM3"."""
    return _text("nvmlDeviceGetName", handle)


def nvmlDeviceGetUUID(handle):  # noqa: N802
    """Such as "GPU-5e3f..."."""
    return _text("nvmlDeviceGetUUID", handle)


def nvmlDeviceGetMemoryInfo(handle):  # noqa: N802
    """The GPU's memory: `total`, `free` and `used`, in bytes."""
    memory = _Memory()
    _call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
    return memory


def nvmlSystemGetDriverVersion():  # noqa: N802
    """Such as "550.54.15"."""
    return _text("nvmlSystemGetDriverVersion")


def _text(function, *arguments):
    buffer = ctypes.create_string_buffer(_TEXT_BYTES)
    _call(function, *arguments, buffer, ctypes.c_uint(_TEXT_BYTES))
    return buffer.value.decode()


def _call(function, *arguments):
    if _library is None:
        raise NVMLError(NVML_ERROR_UNINITIALIZED)
    if status := getattr(_library, function)(*arguments):
        raise NVMLError(status)
