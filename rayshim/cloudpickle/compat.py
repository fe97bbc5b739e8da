"""`ray.cloudpickle.compat`: the pickle below cloudpickle, which is Python's own."""

import pickle  # noqa: F401
from _pickle import Pickler  # noqa: F401
