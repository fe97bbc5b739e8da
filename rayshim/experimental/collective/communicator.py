"""The handle of a collective group, and what a member knows of its own."""

from __future__ import annotations

from dataclasses import dataclass

from rayshim.calls.direct.groups import CommunicatorHandle

__all__ = ["Communicator", "CommunicatorHandle"]


@dataclass
class Communicator:
    """A group of which the process is a member."""

    name: str
    rank: int
    backend: str
