"""`ray.cloudpickle.cloudpickle`: what the module of that name of the package `cloudpickle` has."""

from cloudpickle import cloudpickle as _module
from cloudpickle.cloudpickle import *  # noqa: F403


def __getattr__(name):
    return getattr(_module, name)
