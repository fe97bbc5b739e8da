"""Collective calls over several GPUs of one process. They need NCCL, which rayshim does not provide, and raise RuntimeError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from rayshim.errors.user_code import calling


def _refuse(name: str) -> Callable[..., NoReturn]:
    def call(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"{name}: Multigpu calls requires NCCL and Cupy. rayshim's collectives run on CPU tensors; within one process use torch (at {calling()})"
        )

    call.__name__ = call.__qualname__ = name
    return call


allgather_multigpu: Callable[..., NoReturn] = _refuse("allgather_multigpu")
allreduce_multigpu: Callable[..., NoReturn] = _refuse("allreduce_multigpu")
broadcast_multigpu: Callable[..., NoReturn] = _refuse("broadcast_multigpu")
recv_multigpu: Callable[..., NoReturn] = _refuse("recv_multigpu")
reduce_multigpu: Callable[..., NoReturn] = _refuse("reduce_multigpu")
reducescatter_multigpu: Callable[..., NoReturn] = _refuse("reducescatter_multigpu")
send_multigpu: Callable[..., NoReturn] = _refuse("send_multigpu")
