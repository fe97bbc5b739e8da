"""The backend GLOO: torch's process group over local sockets."""

# pyright: reportAttributeAccessIssue=false
# (torch's stubs lack the methods)

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import Any

from rayshim.errors.user_code import at, calling
from rayshim.session import session
from rayshim.util.collective import types
from rayshim.util.collective.collective_group.base_collective_group import BaseGroup

_HOST = "127.0.0.1"


class TorchGLOOGroup(BaseGroup):
    """A group of the backend GLOO. Raises TimeoutError if not all members have joined within `gloo_timeout` milliseconds."""

    def __init__(self, world_size: int, rank: int, group_name: str, gloo_timeout: float | None = None) -> None:
        import torch.distributed as dist

        super().__init__(world_size, rank, group_name)
        s = session.current
        if world_size > 1 and not s.placement.runs_in_parallel:
            raise RuntimeError(
                f"the collective group '{group_name}' of {world_size} needs as many processes; in inline placement there is one. "
                f"Use the isolated placement (at {calling()})"
            )
        timeout = timedelta(milliseconds=gloo_timeout or 30000)
        self._store = self._meet(dist, s, timeout)
        options = dist.ProcessGroupGloo._Options()
        options._devices = [dist.ProcessGroupGloo.create_device(hostname=_HOST)]
        options._timeout = timeout
        self._group = dist.ProcessGroupGloo(self._store, rank, world_size, options)

    def _meet(self, dist, s, timeout):
        """The store by which the members find each other. Rank 0 opens it and registers its port with the supervisor."""
        key = ("collective", self.group_name, "port")
        if self.rank == 0:
            store = dist.TCPStore(_HOST, 0, is_master=True, wait_for_workers=False, timeout=timeout)
            s.placement.post(key, (os.getpid(), store.port))
            return store
        deadline = time.monotonic() + timeout.total_seconds()
        while True:
            pid, port = s.placement.posted("collective").get(key) or (0, 0)
            if pid and os.path.exists(f"/proc/{pid}"):
                return dist.TCPStore(_HOST, port, is_master=False, wait_for_workers=False, timeout=timeout)
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"rank {self.rank} of the collective group '{self.group_name}' could not connect to rank 0 within "
                    f"{timeout.total_seconds():g} s: every rank must call init_collective_group or an operation of the group (at {calling()})"
                )
            time.sleep(0.01)

    def destroy_group(self) -> None:
        if self.rank == 0:
            session.current.placement.post(("collective", self.group_name, "port"), None)
        self._group = self._store = None

    @classmethod
    def backend(cls) -> str:
        return types.Backend.GLOO

    @classmethod
    def check_backend_availability(cls) -> bool:
        from importlib.util import find_spec

        return find_spec("torch") is not None

    # ---- operations

    def allreduce(self, tensor: Any, allreduce_options: types.AllReduceOptions) -> None:
        self._sum_up(_tensor(tensor[0]), allreduce_options.reduceOp)

    def _sum_up(self, tensor, how):
        import torch.distributed as dist

        options = dist.AllreduceOptions()
        options.reduceOp = _reduction(how)
        self._group.allreduce([tensor], options).wait()

    def barrier(self, barrier_options: types.BarrierOptions) -> None:
        self._group.barrier().wait()

    def reduce(self, tensor: Any, reduce_options: types.ReduceOptions) -> None:
        import torch.distributed as dist

        tensor = _tensor(tensor[0])
        options = dist.ReduceOptions()
        options.reduceOp, options.rootRank = _reduction(reduce_options.reduceOp), reduce_options.root_rank
        if self.rank != reduce_options.root_rank:
            tensor = tensor.detach().clone()  # gloo uses it as scratch
        self._group.reduce([tensor], options).wait()

    def broadcast(self, tensor: Any, broadcast_options: types.BroadcastOptions) -> None:
        import torch.distributed as dist

        options = dist.BroadcastOptions()
        options.rootRank, options.rootTensor = broadcast_options.root_rank, 0
        self._group.broadcast([_tensor(tensor[0], read=self.rank == options.rootRank)], options).wait()

    def allgather(self, tensor_list: list[Any], tensor: Any, allgather_options: types.AllGatherOptions) -> None:
        self._group.allgather([[_tensor(t) for t in tensor_list[0]]], [_tensor(tensor[0], read=True)]).wait()

    def reducescatter(
        self, tensor: Any, tensor_list: list[Any], reducescatter_options: types.ReduceScatterOptions
    ) -> None:
        output, parts = _tensor(tensor[0]), [_tensor(t, read=True).clone() for t in tensor_list[0]]
        mine = parts[self.rank]
        if output.shape != mine.shape:
            raise ValueError(
                f"Output tensor has wrong shape {tuple(output.shape)}, expected {tuple(mine.shape)} ({at('reducescatter')}, group '{self.group_name}')"
            )
        for part in parts:
            self._sum_up(part, reducescatter_options.reduceOp)
        output.copy_(mine)

    def send(self, tensor: Any, send_options: types.SendOptions) -> None:
        self._group.send([_tensor(tensor[0], read=True)], send_options.dst_rank, 0).wait()

    def recv(self, tensor: Any, recv_options: types.RecvOptions) -> None:
        self._group.recv([_tensor(tensor[0])], recv_options.src_rank, 0).wait()


def _reduction(how):
    import torch.distributed as dist

    return getattr(dist.ReduceOp, how.name)


def _tensor(value, read=False):
    """A torch tensor over the memory of `value`; `read`: it is not written to."""
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        return value
    if not isinstance(value, np.ndarray):
        raise ValueError(
            f"torch_gloo group only accepts torch.Tensor or numpy.ndarray, received {type(value)} (at {calling()})"
        )
    if value.flags.writeable:
        return torch.from_numpy(value)
    if read:
        return torch.from_numpy(value.copy())
    raise ValueError(
        f"the result of a collective operation cannot be written into a read-only array, as `get` gives: pass a copy (at {calling()})"
    )
