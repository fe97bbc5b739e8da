"""A backend for joblib's `Parallel` that uses actors: `register_ray()`, then `with joblib.parallel_backend("ray"): ...`."""

from __future__ import annotations


def register_ray() -> None:
    """Registers the backend "ray" in joblib. Raises ImportError without joblib."""
    from joblib.parallel import register_parallel_backend

    from rayshim.util.joblib.ray_backend import RayBackend

    register_parallel_backend("ray", RayBackend)


__all__ = ["register_ray"]
