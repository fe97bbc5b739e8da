"""`ray.cloudpickle`, which can pickle closures and classes of `__main__`, unlike pickle."""

import os
import pickle

from cloudpickle import *  # noqa: F401,F403
from cloudpickle import (  # noqa: F401
    load,
    loads,
    register_pickle_by_value,
    unregister_pickle_by_value,
)
from cloudpickle.cloudpickle import list_registry_pickle_by_value  # noqa: F401

from rayshim.cloudpickle import cloudpickle  # noqa: F401  `from ray.cloudpickle import cloudpickle`
from rayshim.cloudpickle.cloudpickle import CloudPickler, Pickler, dump, dumps  # noqa: F401


def dump_debug(obj, *args, **kwargs):
    """`dump`; see `dumps_debug`."""
    return _debugged(dump, obj, args, kwargs)


def dumps_debug(obj, *args, **kwargs):
    """`dumps`; where that fails and RAY_PICKLE_VERBOSE_DEBUG is set, prints what cannot be pickled, and where in `obj` it lies."""
    return _debugged(dumps, obj, args, kwargs)


def _debugged(pickled, obj, args, kwargs):
    try:
        return pickled(obj, *args, **kwargs)
    except (TypeError, pickle.PicklingError) as error:
        if os.environ.get("RAY_PICKLE_VERBOSE_DEBUG"):
            from rayshim.errors.unpicklable import inspect_serializability

            inspect_serializability(obj)
            raise
        raise type(error)(
            f"ray.cloudpickle.{pickled.__name__}({obj}) failed.\nTo check which non-serializable variables are captured in scope, re-run the ray "
            "script with 'RAY_PICKLE_VERBOSE_DEBUG=1'."
        ) from error
