"""`ray.cloudpickle.cloudpickle`: what the module of that name of the package `cloudpickle` has.

Functions keep the name of their file, as in the cloudpickle that Ray comes with: newer releases of the package leave it out, and then
tracebacks name no file, and `inspect.getsource` and what builds on it, such as `torch.jit.script`, find no source.
"""

import io
import types
from collections import ChainMap

from cloudpickle import cloudpickle as _module
from cloudpickle.cloudpickle import *  # noqa: F403  # pyright: ignore[reportAssignmentType]
from reactor.codec import reduce_code


class Pickler(_module.Pickler):
    """cloudpickle's Pickler, which writes the name of each function's file, too."""


Pickler.dispatch_table = ChainMap({types.CodeType: reduce_code}, _module.Pickler.dispatch_table)  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue]
CloudPickler = Pickler


def dump(obj, file, protocol=None, buffer_callback=None):
    """Pickles `obj` into `file`."""
    Pickler(file, protocol=protocol, buffer_callback=buffer_callback).dump(obj)


def dumps(obj, protocol=None, buffer_callback=None):
    """`obj` as bytes."""
    with io.BytesIO() as file:
        dump(obj, file, protocol, buffer_callback)
        return file.getvalue()


def __getattr__(name):
    return getattr(_module, name)
