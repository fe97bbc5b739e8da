"""Collective groups of actors, made and ended from outside, for direct tensors and for `rayshim.util.collective` within the actors."""

from __future__ import annotations

import uuid
from typing import Any

from rayshim import api
from rayshim.calls.class_info import SYSTEM_GROUP
from rayshim.calls.direct import groups
from rayshim.errors.exceptions import ActorDiedError
from rayshim.errors.user_code import at
from rayshim.experimental.collective.communicator import CommunicatorHandle
from rayshim.session import session
from rayshim.util import collective
from rayshim.util.collective.types import Backend


def get_collective_groups(actors: list[Any], backend: str | None = None) -> list[CommunicatorHandle]:
    """The groups made by this process that all these actors are in; `backend`: only those with this one."""
    return groups.of(actors or [], None if backend is None else Backend(backend))


def create_collective_group(actors: list[Any], backend: str, name: str | None = None) -> CommunicatorHandle:
    """Makes these actors a collective group, in the order of their ranks, and waits until all have joined.

    Arguments:
        actors: handles, each once.
        backend: "gloo" or "torch_gloo".
        name: of the group; None: a random one.

    Raises RuntimeError if an actor is in a group with that backend already, ValueError for an unknown backend or an actor that comes twice.
    """
    kind = Backend(backend)
    for actor in actors:
        if groups.of([actor], kind):
            raise RuntimeError(
                f"Actor {actor} already in group for backend {kind}. Actors can currently only participate in at most one group per backend. "
                f"({at('create_collective_group')}: destroy that one first)"
            )
    if len(set(actors)) != len(actors):
        raise ValueError(f"All actors must be unique, got: {actors} ({at('create_collective_group')})")
    name, size = name or str(uuid.uuid4()), len(actors)
    if (
        session.ensure().placement.runs_in_parallel
    ):  # inline, tensors get to each other's actors all the same; collective operations cannot
        api.get([actor.__ray_call__.remote(_join, size, rank, kind, name) for rank, actor in enumerate(actors)])
    groups.groups[name] = handle = CommunicatorHandle(actors, name, kind)
    return handle


def destroy_collective_group(group_or_name: CommunicatorHandle | str) -> None:
    """Ends a group: its actors can be in another one. Raises ValueError if this process has made no such group."""
    if not isinstance(group_or_name, (CommunicatorHandle, str)):
        raise ValueError(f"Expected CommunicatorHandle or str (group name). ({at('destroy_collective_group')})")
    name = group_or_name if isinstance(group_or_name, str) else group_or_name.name
    group = groups.groups.pop(name, None)
    if group is None:
        raise ValueError(f"No group with name {name} found. ({at('destroy_collective_group')})")
    gone = [actor.__ray_call__.options(concurrency_group=SYSTEM_GROUP).remote(_leave, name) for actor in group.actors]
    try:
        api.get(gone)
    except ActorDiedError:
        pass


def destroy_all_collective_groups() -> None:
    """Ends all groups that this process has made."""
    for name in list(groups.groups):
        destroy_collective_group(name)


def _join(actor, size, rank, backend, name):
    collective.init_collective_group(size, rank, backend, name)


def _leave(actor, name):
    collective.destroy_collective_group(name)
