"""Devices, and operations of collective communication."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Device(Enum):
    DEFAULT = "default"
    CPU = "cpu"
    GPU = "gpu"
    CUDA = "cuda"

    def __str__(self) -> str:
        return self.value


class ReduceOp(Enum):
    """A reduction of several tensors to one."""

    SUM = 0
    PRODUCT = 1
    MAX = 2
    MIN = 3
    AVG = 4

    def __str__(self) -> str:
        return self.name.lower()

    def of(self, tensors: list[Any]) -> Any:
        """The reduction of a list of tensors of one shape, in the order of the list. Raises ValueError for different shapes."""
        import torch

        if len({t.shape for t in tensors}) > 1:
            raise ValueError(
                f"Expected tensors of one shape from all actors, but got {[tuple(t.shape) for t in tensors]} (reduction with {self}: have the bound methods return one shape)"
            )
        reduced = tensors[0].clone()
        for t in tensors[1:]:
            if self in (ReduceOp.SUM, ReduceOp.AVG):
                reduced += t
            elif self is ReduceOp.PRODUCT:
                reduced *= t
            else:
                reduced = (torch.maximum if self is ReduceOp.MAX else torch.minimum)(reduced, t)
        return reduced / len(tensors) if self is ReduceOp.AVG else reduced


class _CollectiveOp:
    """A collective operation; `apply(tensors, rank)` returns the result of the actor with this rank."""


@dataclass(frozen=True)
class AllGatherOp(_CollectiveOp):
    def apply(self, tensors: list[Any], rank: int) -> Any:
        import torch

        return torch.cat(tensors)


@dataclass(frozen=True)
class AllReduceOp(_CollectiveOp):
    reduceOp: ReduceOp = ReduceOp.SUM

    def apply(self, tensors: list[Any], rank: int) -> Any:
        return self.reduceOp.of(tensors)


@dataclass(frozen=True)
class ReduceScatterOp(_CollectiveOp):
    reduceOp: ReduceOp = ReduceOp.SUM

    def apply(self, tensors: list[Any], rank: int) -> Any:
        if tensors[0].shape[0] % len(tensors):
            raise ValueError(
                f"Expected the first dimension of the input tensor to be divisible by the world size {len(tensors)} "
                f"(reducescatter got a tensor of shape {tuple(tensors[0].shape)} from each actor; pad it, or use another number of actors)"
            )
        return self.reduceOp.of(tensors).chunk(len(tensors))[rank].clone()
