"""`ray.cloudpickle`, which can pickle closures and classes of `__main__`, unlike pickle."""

from cloudpickle import *  # noqa: F401,F403
from cloudpickle import (  # noqa: F401
    CloudPickler,
    Pickler,
    dump,
    dumps,
    load,
    loads,
    register_pickle_by_value,
    unregister_pickle_by_value,
)
