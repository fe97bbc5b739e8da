"""`ray._private.thirdparty.pynvml`: NVIDIA's Python interface to its management library (NVML), which Ray brings along.

The whole of it where the package nvidia-ml-py is installed. Without it, the functions that frameworks use to look at the machine's GPUs: number,
name, UUID and memory. They call libnvidia-ml.so.1, which comes with NVIDIA's driver.
"""

try:
    from pynvml import *  # noqa: F403
except ImportError:
    from rayshim._private.thirdparty.nvml import *  # noqa: F403
