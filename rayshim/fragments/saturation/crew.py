"""The processes of an asynchronous deployment, and the loop that keeps each of them at work."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any, NamedTuple

from rayshim.fragments.policies import Iteration
from rayshim.fragments.saturation.controller import Controller, Repeating, Searching
from rayshim.fragments.saturation.ledger import Ledger
from rayshim.fragments.saturation.policy import cores
from rayshim.fragments.saturation.processes import Evaluator, Sampler, Updater, actor, updates_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rayshim.fragments.algorithm import OffPolicy
    from rayshim.fragments.saturation.climbing import Setting
    from rayshim.fragments.saturation.meter import Work
    from rayshim.fragments.saturation.policy import Saturating

_LONG = 3600.0  # seconds. rayshim serves a `wait` with a timeout in the order of arrival, whatever the session's ordering is
_DEPTH = (
    2  # calls of one process that are under way: it starts on the next one while this process is told of the last one
)


class Head(NamedTuple):
    """The process that has the newest weights."""

    handle: Any


class Collecting(NamedTuple):
    """A call of a sampler."""

    sampler: int
    setting: Setting
    frames: int
    chunk: Any  #: ref of the trajectories


class Learning(NamedTuple):
    """A call of the learner."""

    setting: Setting
    weights: Any  #: ref of the weights after it


class Evaluating(NamedTuple):
    """A call of the evaluator."""


class Crew:
    """Samplers, a learner and an evaluator. `devices`: {role: (device, share of a GPU of each process)}.

    Attributes:
        ray: the module of Ray's API.
        head: the learner.
        controller: chooses the setting.
    """

    def __init__(
        self, algorithm: OffPolicy, policy: Saturating, devices: Mapping[str, tuple[str, float]], ray: Any
    ) -> None:
        self.ray = ray
        low, high = policy.ratio(algorithm)
        self.controller: Controller = (
            Repeating(policy.decisions)
            if policy.decisions
            else Searching(
                policy.values(algorithm),
                policy.start(algorithm),
                (low, high),
                window=policy.window,
                seconds=policy.seconds,
                cores=cores(),
            )
        )
        self._policy, self._devices = policy, devices
        self._granule = algorithm.batch * algorithm.updates
        self._ledger = Ledger(low, high, self._granule)
        self._stored = ray.put(algorithm)
        self._seed = algorithm.seed
        self._samplers: dict[int, Any] = {}
        self._asked: Counter[int] = Counter()  # calls of each sampler so far
        self._learner = self._new(Updater, "Learner", self.controller.measures)
        self._evaluator = self._new(Evaluator, "Evaluator") if policy.evaluate_every else None
        self.head: Head = Head(self._learner)
        self._calls: dict[Any, Collecting | Learning | Evaluating] = {}
        self._chunks: deque[Any] = deque()  # refs of what the learner has yet to get
        self._weights: Any = None
        self._version = self._evaluated = 0

    def _new(self, kind: type, role: str, *arguments: Any) -> Any:
        device, gpu = self._devices[role]
        return actor(self.ray, kind, role, gpu).remote(self._stored, device, *arguments)

    def iterate(self) -> Iterator[Iteration]:
        """Trains without end, and yields after each call of the learner."""
        steps, returns, evaluation = 0, [], None
        while True:
            self._submit()
            ready, _ = self.ray.wait([*self._calls], num_returns=1, timeout=_LONG)
            if not ready:
                continue
            call, report = self._calls.pop(ready[0]), self.ray.get(ready[0])
            if isinstance(call, Evaluating):
                evaluation = report
            elif isinstance(call, Collecting):
                work, ended = report
                steps += call.frames
                returns.extend(ended)
                self._chunks.append(call.chunk)
                self._ledger.sampled += call.frames
                self.controller.ended(call.sampler, call.setting, work, self._ledger.sampled)
            else:
                self._learned(call, report)
                yield Iteration(steps, returns, report.frames, evaluation)
                steps, returns, evaluation = 0, [], None

    def _learned(self, call: Learning, work: Work) -> None:
        if work.frames == 0:
            self._ledger.waits()
            return
        if not self._ledger.learns:
            self._ledger.learns = True
            self._ledger.updated += work.frames
        self._weights, self._version = call.weights, self._version + 1
        self.controller.ended(None, call.setting, work, self._ledger.sampled)

    def _submit(self) -> None:
        """Starts all calls that may start now."""
        setting = self.controller.setting
        learning = sum(isinstance(call, Learning) for call in self._calls.values())
        if self._ledger.learns:
            while learning < _DEPTH and self._ledger.may_update(self._frames(setting)):
                self._learn(setting)
                learning += 1
        elif self._chunks and not learning:
            self._learn(setting)
        self._sample(setting)
        evaluates = any(isinstance(call, Evaluating) for call in self._calls.values())
        if self._evaluator and not evaluates and self._version >= self._evaluated + self._policy.evaluate_every:
            self._evaluated = self._version
            ref = self._evaluator.evaluate.remote(self._weights, self._policy.episodes, self._seed + 1_000_000)
            self._calls[ref] = Evaluating()

    def _frames(self, setting: Setting) -> int:
        """Those that a call of the learner updates."""
        return setting.batch * updates_of(self._granule, setting.batch)

    def _learn(self, setting: Setting) -> None:
        chunks = [*self._chunks]
        self._chunks.clear()
        self._ledger.delivered = self._ledger.sampled
        if self._ledger.learns:
            self._ledger.updated += self._frames(setting)
        weights, report = self._learner.learn.options(num_returns=2).remote(setting.batch, setting.threads, *chunks)
        self._calls[report] = Learning(setting, weights)

    def _sample(self, setting: Setting) -> None:
        rows = max(setting.chunk // setting.environments, 1)
        frames = rows * setting.environments
        working = [call.sampler for call in self._calls.values() if isinstance(call, Collecting)]
        while self._ledger.may_sample(frames, _DEPTH * setting.samplers * frames):
            # The ratio may let only some go on: each has its turn.
            number = min(range(setting.samplers), key=lambda one: (working.count(one), self._asked[one]))
            if working.count(number) == _DEPTH:
                return
            self._ledger.asked += frames
            self._asked[number] += 1
            collect = self._sampler(number).collect.options(num_returns=2)
            chunk, report = collect.remote(
                self._weights, self._version, setting.environments, rows, self._ledger.sampled
            )
            self._calls[report] = Collecting(number, setting, frames, chunk)
            working.append(number)

    def _sampler(self, number: int) -> Any:
        if number not in self._samplers:
            self._samplers[number] = self._new(Sampler, "Sampler", number, self.controller.measures)
        return self._samplers[number]

    def close(self) -> None:
        for handle in (*self._samplers.values(), self._learner, self._evaluator):
            if handle is not None:
                self.ray.kill(handle)
