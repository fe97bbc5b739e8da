"""`ray._private.thirdparty.pynvml`: the package pynvml, which Ray brings along and which has to be installed here (nvidia-ml-py)."""

from pynvml import *  # noqa: F403
