"""Roles: which actors and tasks of a program run in which processes, as a file says (rayshim.placement.roles_file)."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass

from rayshim.errors.user_code import calling

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True)
class Role:
    """A role: a table `[roles.NAME]` of the file.

    Attributes:
        name, where: its name; "FILE:LINE" of its table.
        actors: patterns of the names of actor classes. named: of the names of actors. tasks: of the names of task functions.
        workers: number of processes that its actors share; None: a process for each. first: number of the first of them, among those of all roles.
        cores: numbers of the cores that its processes may use; (): all. threads: of numeric libraries in its processes; None: as without a role.
        gpu: share of a GPU, or number of GPUs, of each actor or task, in place of its option `num_gpus`; None: that option counts.
        time_share: name of a device on which its actors take turns (rayshim.placement.time_share); None: they do not.
        together: for each shared process the actors that it has, such as "Env#3", the fourth of its class. apart: those with a process of their own.
    """

    name: str
    where: str
    actors: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    workers: int | None = None
    first: int = 0
    cores: tuple[int, ...] = ()
    threads: int | None = None
    gpu: float | None = None
    time_share: str | None = None
    together: tuple[tuple[str, ...], ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def process(self) -> tuple[tuple[int, ...], int | None] | None:
        """(cores, threads) of its processes; None if it sets neither."""
        return (self.cores, self.threads) if self.cores or self.threads else None

    def options(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options of an actor or a task, with what the role has in place of the program's."""
        return options if self.gpu is None else {**options, "num_gpus": self.gpu}

    def check(self, cls: type, at_once: bool) -> None:
        """ValueError if actors of this class cannot have the role. at_once: they run several calls at the same time."""
        if self.time_share is None:
            return
        whose = f"{self.where}: role {self.name}: time_share: the class {cls.__name__}"
        if at_once:
            raise ValueError(
                f"{whose} runs several calls at the same time, and is never idle between them (at {calling()}). Remove time_share"
            )
        for hook in ("offload", "onload"):
            if not callable(getattr(cls, hook, None)):
                raise ValueError(
                    f"{whose} has no method {hook} (at {calling()}). Define offload(self), which moves its state from the device, and onload(self), which brings it back"
                )


@dataclass(frozen=True)
class Roles:
    """The roles of a file, in its order: the first one that matches applies."""

    kind = "roles"  # of placement, see rayshim.placement.kinds

    path: str
    roles: tuple[Role, ...]

    def of_actor(self, names: tuple[str, ...], name: str | None) -> Role | None:
        """The role of an actor whose class has these names, and which is called `name`, or None."""
        own = (name,) if name else ()
        return next((r for r in self.roles if matches(r.actors, names) or matches(r.named, own)), None)

    def of_task(self, names: tuple[str, ...]) -> Role | None:
        """The role of a task whose function has these names, or None."""
        return next((r for r in self.roles if matches(r.tasks, names)), None)

    def plan(self) -> dict[str, Any]:
        """The plan of the shared processes for reactor's supervisor (reactor.runtime.supervisor.hosting)."""
        groups, born_with = [], []
        for role in self.roles:
            if role.workers:
                groups += [list(group) for group in role.together] + [[]] * (role.workers - len(role.together))
                born_with += [(None, False, role.process)] * role.workers
        apart = [label for role in self.roles for label in role.apart]
        return {"workers": len(groups), "groups": groups, "alone": apart, "born_with": born_with}


def matches(patterns: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Whether one of the names matches one of the patterns (as in `fnmatch`, upper and lower case differ)."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns for name in names)
