"""`ray.experimental.multiprocessing.pool`."""

from rayshim.util import multiprocessing


class Pool(multiprocessing.Pool):
    """`ray.util.multiprocessing.Pool`."""
