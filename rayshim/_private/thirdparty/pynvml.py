"""`ray._private.thirdparty.pynvml`: NVIDIA's Python interface to its management library (NVML), which Ray brings along. Here it is the package
nvidia-ml-py."""

try:
    from pynvml import *  # noqa: F403
except ImportError as error:
    raise ImportError(
        f'{__name__} is the package nvidia-ml-py, which is not installed: pip install "rayshim[gpus]"', name="pynvml"
    ) from error
