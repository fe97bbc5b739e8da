"""The processes of a deployment, and what they are asked to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rayshim.fragments.arrangement import Member, arrange
from rayshim.fragments.policies import Iteration
from rayshim.fragments.process import Process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rayshim.fragments.algorithm import Algorithm
    from rayshim.fragments.policies import Policy


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
        weights: ref of the newest weights for actors, or of None: of the first weights, or nobody acts but learners.
    """

    def __init__(
        self, algorithm: Algorithm, policy: Policy, devices: Mapping[str, tuple[str, float]], ray: Any
    ) -> None:
        self.ray = ray
        self.members: list[Member] = arrange(policy, algorithm.environments)
        self.collectors: list[Member] = [member for member in self.members if member.has("act")]
        self.learners: list[Member] = [member for member in self.members if member.has("gradient")]
        servers = [member for member in self.members if member.has("update") and not member.has("gradient")]
        self.server: Member | None = servers[0] if servers else None
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
            self.weights = self.learners[0].handle.learn.remote(
                self._are_sent, *self._trajectories(self.learners[0], collected)
            )
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
