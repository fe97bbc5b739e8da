"""The backend "ray" for joblib."""

from __future__ import annotations

import copy
import sys
from typing import Any

from joblib import parallel_backend  # pyright: ignore[reportAttributeAccessIssue]
from joblib._parallel_backends import FallbackToBackend, MultiprocessingBackend, SequentialBackend
from joblib.parallel import BatchedCalls

from rayshim import api
from rayshim.calls.refs import ObjectRef
from rayshim.session import session
from rayshim.util.multiprocessing.pool import Pool

_SMALL = 100  # bytes; smaller arguments are sent with each batch


class RayBackend(MultiprocessingBackend):
    """Runs joblib's batches in a pool of actors. `ray_remote_args`: options of the actors; those in `Parallel(...)` override those here."""

    def __init__(
        self,
        nesting_level: int | None = None,
        inner_max_num_threads: int | None = None,
        ray_remote_args: dict[str, Any] | None = None,
        **backend_arguments: Any,
    ) -> None:
        self.ray_remote_args = ray_remote_args
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads, **backend_arguments)

    def configure(
        self,
        n_jobs: int = 1,
        parallel: Any = None,
        prefer: str | None = None,
        require: str | None = None,
        ray_remote_args: dict[str, Any] | None = None,
        **memmapping_arguments: Any,
    ) -> int:
        """Starts the pool and returns its size. The arguments for joblib's memory maps have no effect, because large values are always shared."""
        n_jobs = self.effective_n_jobs(n_jobs)
        if n_jobs == 1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        options = self.ray_remote_args if ray_remote_args is None else ray_remote_args
        self._pool = _SharingPool(n_jobs, ray_remote_args=options)
        self.parallel = parallel
        return n_jobs

    def effective_n_jobs(self, n_jobs: int) -> int:
        """The number of jobs that run at the same time; -1 means the CPUs of the session."""
        allowed = super().effective_n_jobs(n_jobs)
        if n_jobs != -1:
            return allowed
        session.ensure()
        return int(api.cluster_resources()["CPU"])


class _SharingPool(Pool):
    """Puts each large argument into the object store only once, even if it is in several batches."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._registry = []  # (argument, its ref)

    def apply_async(self, func, args=None, kwargs=None, callback=None, error_callback=None):
        batch = getattr(func, "func", func)  # joblib wraps a batch to transfer its traceback
        if isinstance(batch, BatchedCalls):
            shared = _SharedCalls([self._share(item) for item in batch.items], batch)
            func = shared if func is batch else _rewrapped(func, shared)
        return super().apply_async(func, args, kwargs, callback, error_callback)

    def _share(self, item):
        func, args, kwargs = item
        return func, [self._put(arg) for arg in args], {name: self._put(arg) for name, arg in kwargs.items()}

    def _put(self, value):
        if isinstance(value, ObjectRef) or sys.getsizeof(value) < _SMALL:
            return value
        for known, ref in self._registry:
            if known is value:
                return ref
        ref = api.put(value)
        self._registry.append((value, ref))
        return ref

    def close(self):
        self._registry.clear()
        super().close()


def _rewrapped(wrapper, func):
    wrapper = copy.copy(wrapper)
    wrapper.func = func
    return wrapper


class _SharedCalls:
    """joblib's BatchedCalls, with refs in place of some arguments."""

    def __init__(self, items, batch):
        self.items, self.backend, self.n_jobs = items, batch._backend, batch._n_jobs

    def __call__(self):
        with parallel_backend(self.backend, n_jobs=self.n_jobs):
            return [
                func(*map(_value, args), **{name: _value(arg) for name, arg in kwargs.items()})
                for func, args, kwargs in self.items
            ]

    def __len__(self):
        return len(self.items)


def _value(arg):
    return api.get(arg) if isinstance(arg, ObjectRef) else arg
