"""`ray.cloudpickle.cloudpickle_fast`: the same under a name of earlier releases."""

from cloudpickle import cloudpickle as _module
from cloudpickle.cloudpickle import *  # noqa: F403


def __getattr__(name):
    return getattr(_module, name)
