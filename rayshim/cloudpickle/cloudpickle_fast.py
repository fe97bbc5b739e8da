"""`ray.cloudpickle.cloudpickle_fast`: the same under a name of earlier releases."""

from rayshim.cloudpickle.cloudpickle import *  # noqa: F403
from rayshim.cloudpickle.cloudpickle import __getattr__  # noqa: F401
