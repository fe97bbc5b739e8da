"""`ray.cloudpickle`, which can pickle closures and classes of `__main__`, unlike pickle."""

import pickle

from cloudpickle import *  # noqa: F401,F403
from cloudpickle import (  # noqa: F401
    load,
    loads,
    register_pickle_by_value,
    unregister_pickle_by_value,
)

from rayshim.cloudpickle import cloudpickle  # noqa: F401  `from ray.cloudpickle import cloudpickle`
from rayshim.cloudpickle.cloudpickle import CloudPickler, Pickler, dump, dumps  # noqa: F401


def dumps_debug(obj, *args, **kwargs):
    """`dumps`; where that fails, its error says what cannot be pickled, and where in `obj` it lies."""
    try:
        return dumps(obj, *args, **kwargs)
    except (TypeError, pickle.PicklingError) as error:
        from rayshim.errors.unpicklable import inspect_serializability

        message = f"ray.cloudpickle.dumps({obj}) failed.\nTo check which non-serializable variables are captured in scope, re-run the ray script with 'RAY_PICKLE_VERBOSE_DEBUG=1'."
        inspect_serializability(obj)
        raise type(error)(message) from error
