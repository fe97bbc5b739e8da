"""`ray.experimental.multiprocessing`: the former place of `ray.util.multiprocessing`."""

from multiprocessing import TimeoutError

from rayshim.experimental.multiprocessing.pool import Pool

__all__ = ["Pool", "TimeoutError"]
