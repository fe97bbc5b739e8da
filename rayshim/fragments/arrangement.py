"""Who works for whom: the processes that the roles of a policy make, and what each gets from which others."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rayshim.fragments.policies import FRAGMENTS

if TYPE_CHECKING:
    from rayshim.fragments.policies import Policy, Role


@dataclass(eq=False)
class Member:
    """A process. environments: the range of those that it holds, acts in or learns from."""

    role: Role
    environments: range = range(0)
    sources: list[Member] = field(default_factory=list)  #: whose environments it acts in, if it has none
    feeders: list[Member] = field(default_factory=list)  #: whose trajectories it learns from
    handle: Any = None

    def has(self, fragment: str) -> bool:
        return fragment in self.role.fragments


def check_roles(policy: Policy) -> None:
    """ValueError: the roles do not make a training loop."""
    for role in policy.roles:
        if unknown := sorted(set(role.fragments) - set(FRAGMENTS)):
            raise ValueError(
                f"The role {role.name!r} has the fragment {unknown[0]!r}; the fragments are {', '.join(FRAGMENTS)}."
            )
        if role.replicas < 1:
            raise ValueError(f"The role {role.name!r} has {role.replicas} replicas; it needs at least 1.")
    has = {fragment: [role for role in policy.roles if fragment in role.fragments] for fragment in FRAGMENTS}
    if missing := [fragment for fragment, roles in has.items() if not roles]:
        raise ValueError(f"No role of the policy {policy.name!r} has the fragment {missing[0]!r}.")
    apart = [role for role in has["update"] if "gradient" not in role.fragments]
    if apart and (has["update"] != apart or sum(role.replicas for role in apart) != 1):
        raise ValueError(
            f"The policy {policy.name!r} needs `update` in each role with `gradient`, or in one process apart from all of them."
        )
    if not apart and has["update"] != has["gradient"]:
        raise ValueError(
            f"A role of the policy {policy.name!r} has `gradient` without `update`, and no process apart from it has `update`."
        )


def arrange(policy: Policy, environments: int) -> list[Member]:
    """The processes of a policy, and who works for whom. ValueError: that number of environments cannot be divided so."""
    members = [Member(role) for role in policy.roles for _ in range(role.replicas)]
    holders = [member for member in members if member.has("environments")]
    if len(holders) > environments:
        raise ValueError(
            f"The policy {policy.name!r} divides {environments} environments among {len(holders)} processes, so that some have none. "
            f"Use at most {environments} replicas, or give the algorithm more environments."
        )
    for holder, part in zip(holders, split(range(environments), len(holders))):
        holder.environments = part
    alone = [member for member in holders if not member.has("act")]
    apart = [member for member in members if member.has("act") and not member.has("environments")]
    if bool(alone) != bool(apart) or len(apart) > len(alone):
        raise ValueError(
            f"In the policy {policy.name!r} {len(apart)} processes act without environments, and {len(alone)} processes hold environments without "
            "acting. Each of the first needs at least one of the second."
        )
    for actor, part in zip(apart, split(range(len(alone)), len(apart))):
        actor.sources = alone[part.start : part.stop]
        actor.environments = range(actor.sources[0].environments.start, actor.sources[-1].environments.stop)
    collectors = sorted((m for m in members if m.has("act")), key=lambda member: member.environments.start)
    learners = [member for member in members if member.has("gradient")]
    if len(learners) > len(collectors):
        raise ValueError(
            f"The policy {policy.name!r} has {len(learners)} learners and {len(collectors)} processes that act; each learner needs one."
        )
    for learner, part in zip(learners, split(range(len(collectors)), len(learners))):
        learner.feeders = collectors[part.start : part.stop]
        if any(a.environments.stop != b.environments.start for a, b in pairwise(learner.feeders)):
            raise ValueError(
                f"In the policy {policy.name!r} a learner gets environments that do not follow each other. Change the order of the roles."
            )
    numbers = [sum(len(feeder.environments) for feeder in learner.feeders) for learner in learners]
    if len(set(numbers)) > 1:
        raise ValueError(
            f"The policy {policy.name!r} gives its learners {', '.join(map(str, numbers))} environments. Each must have as many: use a number of "
            "environments that the number of learners divides."
        )
    return members


def split(items: range, parts: int) -> list[range]:
    """Ranges that follow each other, whose lengths differ by at most 1."""
    if parts == 0:
        return []
    edges = [items.start + len(items) * part // parts for part in range(parts + 1)]
    return [range(start, stop) for start, stop in pairwise(edges)]
