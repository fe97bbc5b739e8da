"""The functions of `ray.util.collective`, for actors and tasks. A process can be in several groups, which have names."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from rayshim.errors.user_code import at, calling
from rayshim.session import session
from rayshim.util.collective import types
from rayshim.util.collective.backend_registry import _global_registry
from rayshim.util.collective.collective_group.torch_gloo_collective_group import TorchGLOOGroup

if TYPE_CHECKING:
    from rayshim.util.collective.collective_group.base_collective_group import BaseGroup

_TIMEOUT_MS = 30000
_global_registry.put("GLOO", TorchGLOOGroup)
_groups = {}  # (identifier of this process's actor and run, name) -> group
_locks = {}  # the same key -> the lock of who joins or leaves: members that share a process wait for each other


def is_backend_available(backend: str) -> bool:
    """Whether groups with this backend ("NCCL", "GLOO", ...) can be created here."""
    return _global_registry.check(backend)


def nccl_available() -> bool:
    return is_backend_available("NCCL")


def gloo_available() -> bool:
    return is_backend_available("GLOO")


def _name(backend):
    return "GLOO" if backend.upper() == "TORCH_GLOO" else backend.upper()


def _backend(name):
    name = _name(name)
    if not _global_registry.is_registered(name):
        raise RuntimeError(
            f"Backend {name} is not registered. Please register it using register_collective_backend('{name}', YourBackendClass), "
            f"or give backend='gloo', which rayshim has for CPU tensors. (at {calling()})"
        )
    if not is_backend_available(name):
        raise RuntimeError(
            f"Backend {name} is registered but not available. Please check the installation requirements for it. (at {calling()}: its check_backend_availability() says no)"
        )
    return name


# ---- groups


def init_collective_group(
    world_size: int,
    rank: int,
    backend: str = types.Backend.NCCL,
    group_name: str = "default",
    gloo_timeout: float | None = _TIMEOUT_MS,
) -> None:
    """Makes the calling actor or task rank `rank` of a group of `world_size` members. Waits for the others, at most `gloo_timeout` ms."""
    _check_inside()
    if not group_name:
        raise ValueError(f"group_name '{group_name}' needs to be a string. ({at('init_collective_group')})")
    with _joining(group_name):
        if is_group_initialized(group_name):
            raise RuntimeError(
                f"Trying to initialize a group a second time. ({at('init_collective_group')}: this process is in '{group_name}' already; call destroy_collective_group first, or give another group_name)"
            )
        if not (world_size > 0 and 0 <= rank < world_size):
            raise AssertionError(
                f"init_collective_group: rank {rank} of a group of {world_size}: must be from 0 to world_size - 1 (at {calling()})"
            )
        if not _global_registry.is_registered(_name(backend)):
            raise ValueError(
                f"Backend {_name(backend)} not registered ({at('init_collective_group')}: rayshim has 'gloo', for CPU tensors)"
            )
        _join(world_size, rank, backend, group_name, gloo_timeout)


def create_collective_group(
    actors: list[Any],
    world_size: int,
    ranks: list[Any],
    backend: str = types.Backend.NCCL,
    group_name: str = "default",
    gloo_timeout: float | None = _TIMEOUT_MS,
) -> None:
    """Declares a group of actors. Each actor joins at its first collective call. `ranks`: the rank of each actor."""
    if _declared(group_name) is not None:
        raise RuntimeError(
            f"Trying to initialize a group twice. ({at('create_collective_group')}: '{group_name}' is declared already; give another group_name)"
        )
    if len(ranks) != len(actors):
        raise RuntimeError(
            f"Each actor should correspond to one rank. Got '{len(ranks)}' ranks but '{len(actors)}' actors ({at('create_collective_group')})"
        )
    if set(ranks) != set(range(len(ranks))):
        raise RuntimeError(
            f"Ranks must be a permutation from 0 to '{len(ranks)}'. Got '{''.join(map(str, ranks))}'. ({at('create_collective_group')})"
        )
    if world_size <= 0:
        raise RuntimeError(
            f"World size must be greater than zero. Got '{world_size}'. ({at('create_collective_group')})"
        )
    if len(ranks) != world_size:
        raise RuntimeError(
            f"A group of world size {world_size} needs as many actors. Got {len(actors)}. ({at('create_collective_group')})"
        )
    _backend(backend)
    ids = [actor._actor_id.hex() for actor in actors]
    _declare(
        group_name,
        {"ranks": dict(zip(ids, ranks)), "world_size": world_size, "backend": backend, "timeout": gloo_timeout},
    )


def destroy_collective_group(group_name: str = "default") -> None:
    """Removes the calling actor from the group."""
    _check_inside()
    with _joining(group_name):
        group = _groups.pop(_key(group_name), None)
    if group is not None:
        group.destroy_group()
        if _declared(group_name) is not None:
            _declare(group_name, None)


def is_group_initialized(group_name: str) -> bool:
    """Whether the calling process is in the group."""
    return _key(group_name) in _groups


def get_rank(group_name: str = "default") -> int:
    """The caller's rank, -1 if it is not in the group."""
    _check_inside()
    group = _groups.get(_key(group_name))
    return -1 if group is None else group.rank


def get_collective_group_size(group_name: str = "default") -> int:
    """The number of members of the group; -1 if the caller is not in the group."""
    _check_inside()
    group = _groups.get(_key(group_name))
    return -1 if group is None else group.world_size


def get_group_handle(group_name: str = "default") -> BaseGroup:
    """The caller's group; joins it if it was declared. Raises RuntimeError if there is no such group."""
    _check_inside()
    with _joining(group_name):
        group = _groups.get(_key(group_name))
        if group is None:
            from rayshim.worker.context import runtime_context

            declared = _declared(group_name)
            me = runtime_context.get_actor_id()
            if declared is None or me not in declared["ranks"]:
                raise RuntimeError(
                    f"The collective group '{group_name}' is not initialized in the process. (at {calling()}: call init_collective_group in every member, or create_collective_group in the driver with this actor)"
                )
            group = _join(
                declared["world_size"], declared["ranks"][me], declared["backend"], group_name, declared["timeout"]
            )
        return group


def _join(world_size, rank, backend, group_name, timeout):
    name = _backend(backend)
    extra = (timeout,) if name == "GLOO" else ()
    group = _groups[_key(group_name)] = _global_registry.get(name)(world_size, rank, group_name, *extra)
    return group


def _key(group_name):
    from rayshim.worker.context import runtime_context

    s = session.current
    return (s and s.settings.node, s and runtime_context.get_actor_id(), group_name)


def _joining(group_name):
    return _locks.setdefault(_key(group_name), threading.RLock())


def _declare(group_name, what):
    session.ensure().placement.post(("collective", group_name, "members"), what)


def _declared(group_name):
    return session.ensure().placement.posted("collective").get(("collective", group_name, "members"))


def _check_inside():
    from reactor import _core

    if session.current is None or not (session.current.record or _core.running_uid()):
        raise RuntimeError(
            f"The collective APIs shall be only used inside a Ray actor or task. (at {calling()}, in the driver: use create_collective_group there)"
        )


# ---- operations; results are written into the tensors


def allreduce(tensor: Any, group_name: str = "default", op: types.ReduceOp = types.ReduceOp.SUM) -> None:
    """Sets the tensor of every rank to the reduction of all tensors."""
    _check_tensor(tensor)
    get_group_handle(group_name).allreduce([tensor], types.AllReduceOptions(reduceOp=op))


def barrier(group_name: str = "default") -> None:
    """Waits until every rank has called it."""
    get_group_handle(group_name).barrier(types.BarrierOptions())


def reduce(
    tensor: Any, dst_rank: int = 0, group_name: str = "default", op: types.ReduceOp = types.ReduceOp.SUM
) -> None:
    """Sets the tensor of rank `dst_rank` to the reduction of all tensors; the others stay unchanged."""
    _check_tensor(tensor)
    group = _with_rank(group_name, dst_rank)
    group.reduce([tensor], types.ReduceOptions(reduceOp=op, root_rank=dst_rank))


def broadcast(tensor: Any, src_rank: int = 0, group_name: str = "default") -> None:
    """Sets the tensor of every rank to that of `src_rank`."""
    _check_tensor(tensor)
    _with_rank(group_name, src_rank).broadcast([tensor], types.BroadcastOptions(root_rank=src_rank))


def allgather(tensor_list: list[Any], tensor: Any, group_name: str = "default") -> None:
    """Writes the `tensor` of each rank into `tensor_list`, which has one tensor per rank."""
    _check_tensor(tensor)
    _check_tensors(tensor_list)
    group = get_group_handle(group_name)
    if len(tensor_list) != group.world_size:
        raise RuntimeError(
            f"The length of the tensor list operands to allgather must be equal to world_size. ({at('allgather')}: {len(tensor_list)} tensors, {group.world_size} ranks)"
        )
    group.allgather([tensor_list], [tensor], types.AllGatherOptions())


def reducescatter(
    tensor: Any, tensor_list: list[Any], group_name: str = "default", op: types.ReduceOp = types.ReduceOp.SUM
) -> None:
    """Sets `tensor` to the reduction of this rank's entries in the `tensor_list` of all ranks."""
    _check_tensor(tensor)
    _check_tensors(tensor_list)
    group = get_group_handle(group_name)
    if len(tensor_list) != group.world_size:
        raise RuntimeError(
            f"The length of the tensor list operands to reducescatter must be equal to world_size. ({at('reducescatter')}: {len(tensor_list)} tensors, {group.world_size} ranks)"
        )
    group.reducescatter([tensor], [tensor_list], types.ReduceScatterOptions(reduceOp=op))


def send(tensor: Any, dst_rank: int, group_name: str = "default") -> None:
    """Sends the tensor to a rank, which must call `recv`."""
    _check_tensor(tensor)
    group = _with_rank(group_name, dst_rank)
    if dst_rank == group.rank:
        raise RuntimeError(
            f"The destination rank '{dst_rank}' is self. ({at('send')}: name another rank of '{group_name}')"
        )
    group.send([tensor], types.SendOptions(dst_rank=dst_rank))


def recv(tensor: Any, src_rank: int, group_name: str = "default") -> None:
    """Receives into `tensor` the tensor that rank `src_rank` sends."""
    _check_tensor(tensor)
    group = _with_rank(group_name, src_rank)
    if src_rank == group.rank:
        raise RuntimeError(
            f"The destination rank '{src_rank}' is self. ({at('recv')}: name another rank of '{group_name}')"
        )
    group.recv([tensor], types.RecvOptions(src_rank=src_rank))


def _with_rank(group_name, rank):
    group = get_group_handle(group_name)
    if rank < 0:
        raise ValueError(
            f"rank '{rank}' is negative. (at {calling()}: ranks of '{group_name}' are 0 to {group.world_size - 1})"
        )
    if rank >= group.world_size:
        raise ValueError(
            f"rank '{rank}' must be less than world size '{group.world_size}' (at {calling()}, group '{group_name}')"
        )
    return group


def _check_tensor(tensor):
    import sys

    known = [getattr(sys.modules[m], t) for m, t in (("numpy", "ndarray"), ("torch", "Tensor")) if m in sys.modules]
    if not isinstance(tensor, tuple(known)):
        raise RuntimeError(
            f"Unrecognized tensor type '{type(tensor)}'. Supported types are: np.ndarray, torch.Tensor, cupy.ndarray. (at {calling()})"
        )


def _check_tensors(tensors):
    if not isinstance(tensors, list):
        raise RuntimeError(f"The input must be a list of tensors. Got '{type(tensors)}'. (at {calling()})")
    if not tensors:
        raise RuntimeError(f"Got an empty list of tensors. (at {calling()}: give one for each rank)")
    for tensor in tensors:
        _check_tensor(tensor)
