"""Generators with num_returns="dynamic", whose values are stored together."""

from reactor import _core

from rayshim.calls.generators import DynamicObjectRefGenerator
from rayshim.worker.failures import failure


def gather(values, function):
    """In the worker: the value of a call with num_returns="dynamic" that returned the generator `values`."""
    if not hasattr(values, "__next__"):
        raise ValueError(
            f'Functions with @ray.remote(num_returns="dynamic" must return a generator: {getattr(function, "__name__", function)} returned {values!r:.80}. '
            "Write it with `yield`, or leave num_returns out"
        )
    refs = []
    try:
        for value in values:
            refs.append(_core.put(value, True))
    except Exception as error:
        ref, offset = _core.request(True)
        _core.reply(offset, failure(error, function, False), True)
        refs.append(ref)
    return DynamicObjectRefGenerator(refs)
