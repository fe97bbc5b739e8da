"""`multiprocessing.Pool` with actors instead of processes."""

from multiprocessing import JoinableQueue, TimeoutError

from rayshim.util.multiprocessing.pool import Pool

__all__ = ["JoinableQueue", "Pool", "TimeoutError"]
