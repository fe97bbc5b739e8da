"""The processes of a deployment, and what they are asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from rayshim.fragments.policies import Iteration
from rayshim.fragments.process import Process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rayshim.fragments.algorithm import Algorithm
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


class Collected(NamedTuple):
    """Refs of what a collector has collected. trajectory: None inside if it stays there."""

    collector: Member
    trajectory: Any
    ended: Any


class Asked(NamedTuple):
    """Refs of what a learner asks for: whether, and what."""

    asked: Any
    part: Any


class Team:
    """The processes that a policy asks for. `devices`: {role: (device, share of a GPU of each process)}.

    Attributes:
        ray: the module of Ray's API.
        collectors: processes with `act`, in the order of their environments.
        learners: processes with `gradient`, in the order of theirs.
        server: the process with `update`, if that is apart from the learners; else None.
        weights: ref of the newest weights for actors; None before the first and where nobody acts but learners.
    """

    def __init__(
        self, algorithm: Algorithm, policy: Policy, devices: Mapping[str, tuple[str, float]], ray: Any
    ) -> None:
        self.ray = ray
        self.members = arrange(policy, algorithm.environments)
        self.collectors = [member for member in self.members if member.has("act")]
        self.learners = [member for member in self.members if member.has("gradient")]
        servers = [member for member in self.members if member.has("update") and not member.has("gradient")]
        self.server = servers[0] if servers else None
        self.weights: Any = None
        self._horizon = algorithm.horizon
        self._are_sent = any(not member.has("gradient") for member in self.collectors)
        stored = ray.put(algorithm)
        for member in sorted(self.members, key=lambda member: bool(member.sources)):
            member.handle = self._start(member, stored, algorithm, *devices[member.role.name])
        # Those that another acts in are ready when that is.
        sources = [source for member in self.members for source in member.sources]
        ray.get([member.handle.__ray_ready__.remote() for member in self.members if member not in sources])

    def _start(self, member: Member, stored: Any, algorithm: Algorithm, device: str, gpu: float) -> Any:
        actor = type(member.role.name, (Process,), {"__module__": Process.__module__})
        learns = range(algorithm.environments) if member is self.server else None
        if member.has("gradient"):
            learns = range(member.feeders[0].environments.start, member.feeders[-1].environments.stop)
        return (
            self.ray.remote(actor)
            .options(num_cpus=0, num_gpus=gpu)
            .remote(
                stored,
                device,
                member.environments if member.has("environments") else None,
                [(source.handle, source.environments) for source in member.sources],
                learns,
                member.has("act"),
                self.ray.__name__,
            )
        )

    def collect(self) -> list[Collected]:
        """Starts an iteration of all collectors with `weights`."""
        return [self.collect_at(member) for member in self.collectors]

    def collect_at(self, member: Member) -> Collected:
        """Starts an iteration of one collector."""
        keep = member.feeders == [member]
        call = member.handle.collect.options(num_returns=2)
        return Collected(member, *call.remote(None if member.has("gradient") else self.weights, keep))

    def learn(self, collected: Sequence[Collected]) -> None:
        """Learns from what all collectors have collected. A learner that is alone is not waited for; `weights` is a ref in any case."""
        if len(self.learners) == 1 and self.server is None:
            self.weights = self.learners[0].handle.learn.remote(*self._trajectories(self.learners[0], collected))
            return
        requests = [self.begin(learner, collected) for learner in self.learners]
        while any(asked := self.ray.get([request.asked for request in requests])):
            if not all(asked):
                raise RuntimeError(
                    "learn asked for more steps at one learner than at another; it may not depend on the number of environments."
                )
            if self.server:
                answer = self.combine(requests)
                requests = [self.resume(learner, answer) for learner in self.learners]
            else:
                parts = [request.part for request in requests]
                requests = [self.resume(learner, None, *parts) for learner in self.learners]
        if self._are_sent:
            self.weights = self.head.handle.weights.remote()

    def begin(self, learner: Member, collected: Sequence[Collected] = ()) -> Asked:
        """Starts `learn` at a learner."""
        call = learner.handle.begin.options(num_returns=2)
        return Asked(*call.remote(*self._trajectories(learner, collected)))

    def resume(self, learner: Member, answer: Any, *parts: Any) -> Asked:
        """Goes on with `learn` at a learner: with an answer of the server, or with the requests of all learners."""
        return Asked(*learner.handle.resume.options(num_returns=2).remote(answer, *parts))

    def combine(self, requests: Sequence[Asked]) -> Any:
        """Ref of the server's answer to these requests."""
        return self.server.handle.combine.remote(*(request.part for request in requests))

    def iteration(self, collected: Sequence[Collected]) -> Iteration:
        """Waits for what was collected."""
        ended = sorted(episode for part in self.ray.get([one.ended for one in collected]) for episode in part)
        steps = sum(len(one.collector.environments) for one in collected) * self._horizon
        return Iteration(steps, [episode.value for episode in ended])

    @property
    def head(self) -> Member:
        """The process that has the newest weights."""
        return self.server or self.learners[0]

    def close(self) -> None:
        for member in self.members:
            self.ray.kill(member.handle)

    def _trajectories(self, learner: Member, collected: Sequence[Collected]) -> list[Any]:
        if learner.feeders == [learner]:
            return []
        return [one.trajectory for one in collected if one.collector in learner.feeders]


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
