"""`ray.cloudpickle`: the pickler for what plain pickle cannot name, as closures and classes of `__main__`."""

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


def dumps_debug(obj, *args, **kwargs):
    """`dumps`, with an error that says where to look, and with RAY_PICKLE_VERBOSE_DEBUG set prints what of `obj` cannot be pickled."""
    import os
    from pickle import PicklingError

    try:
        return dumps(obj, *args, **kwargs)
    except (TypeError, PicklingError) as error:
        if os.environ.get("RAY_PICKLE_VERBOSE_DEBUG"):
            from rayshim.util import inspect_serializability

            inspect_serializability(obj)
            raise
        raise type(error)(
            f"Could not serialize {obj!r}: {error}. ray.util.inspect_serializability() shows which part of it cannot be pickled."
        ) from error
