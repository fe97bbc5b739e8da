"""NIXL moves tensors between machines and devices; rayshim has it not, and each function says so."""

from __future__ import annotations

from typing import Any, NoReturn

from rayshim.errors.user_code import at


def _absent(function) -> NoReturn:
    raise ModuleNotFoundError(
        f"No module named 'nixl' ({at(function)}: rayshim runs on one machine and has no NIXL. Leave the call out: tensors travel through shared memory)"
    )


def register_nixl_memory(tensor: Any) -> None:
    """Raises ModuleNotFoundError."""
    _absent("register_nixl_memory")


def deregister_nixl_memory(tensor: Any) -> None:
    """Raises ModuleNotFoundError."""
    _absent("deregister_nixl_memory")


def register_nixl_memory_pool(size: int, device: Any) -> None:
    """Raises ModuleNotFoundError."""
    _absent("register_nixl_memory_pool")


def set_nixl_cuda_stream(stream: Any) -> None:
    """Accepted: there is no stream that rayshim would wait for."""
