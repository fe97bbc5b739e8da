"""`ray.cloudpickle.cloudpickle_fast`: the same under a name of earlier releases."""

from rayshim.cloudpickle.cloudpickle import *  # noqa: F403
from rayshim.cloudpickle.cloudpickle import CloudPickler, Pickler, __getattr__, dump, dumps  # noqa: F401
