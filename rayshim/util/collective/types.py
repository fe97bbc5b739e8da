"""Types for collective calls: backends, reductions, and the options for methods of a group."""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from rayshim.errors.user_code import calling

unset_timeout_ms: timedelta = timedelta(milliseconds=-1)


class Backend:
    """The name of a backend: one of these, or one that `register_collective_backend` adds. `Backend("torch_gloo")` is GLOO, too. Raises ValueError for an unknown
    name."""

    NCCL = "NCCL"
    GLOO = "GLOO"
    UNRECOGNIZED = "unrecognized"

    def __new__(cls, name: str) -> str:
        known = cls.GLOO if name.upper() == "TORCH_GLOO" else getattr(cls, name.upper(), cls.UNRECOGNIZED)
        if known == cls.UNRECOGNIZED:
            raise ValueError(f"Unrecognized backend: '{name}'. Only NCCL and GLOO are supported (at {calling()})")
        return known


class ReduceOp(Enum):
    SUM = 0
    PRODUCT = 1
    MIN = 2
    MAX = 3


@dataclass
class AllReduceOptions:
    reduceOp: ReduceOp = ReduceOp.SUM
    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class BarrierOptions:
    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class ReduceOptions:
    reduceOp: ReduceOp = ReduceOp.SUM
    root_rank: int = 0
    root_tensor: int = 0
    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class AllGatherOptions:
    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class BroadcastOptions:
    root_rank: int = 0
    root_tensor: int = 0
    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class ReduceScatterOptions:
    reduceOp: ReduceOp = ReduceOp.SUM
    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class SendOptions:
    dst_rank: int = 0
    dst_gpu_index: int = 0
    n_elements: int = 0
    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class RecvOptions:
    src_rank: int = 0
    src_gpu_index: int = 0
    n_elements: int = 0
    timeout_ms: timedelta = unset_timeout_ms
