"""Distribution policies: which fragments share a process, how many processes of each kind there are, and in which order they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rayshim.fragments.team import Team

#: The fragments of a training loop. `environments` steps environments, `act` infers actions and makes trajectories, `gradient` computes what
#: `Algorithm.learn` asks for, `update` makes the steps of the optimisers.
FRAGMENTS = ("environments", "act", "gradient", "update")


class Iteration(NamedTuple):
    """What an iteration has done: environment steps, the returns of the episodes that ended, frames that were updated (0: they are not counted), and
    the mean return of an evaluation that has ended."""

    steps: int
    returns: list[float]
    updated: int = 0
    evaluation: float | None = None


@dataclass(frozen=True)
class Role:
    """A kind of process. Fragments of one role are fused: nothing crosses between them.

    name: of the actors' class. fragments: some of FRAGMENTS. replicas: number of processes.
    """

    name: str
    fragments: tuple[str, ...]
    replicas: int = 1


@dataclass(frozen=True)
class Policy:
    """A distribution policy. Environments are divided among the processes that hold them; actors without environments are divided among these; each
    learner (a process with `gradient`) gets the trajectories of as many environments. What crosses between two processes follows from the roles:

    - environments, act: actions and observations, at each step;
    - act, gradient: trajectories there, weights back, in each iteration;
    - gradient, update: gradients there, weights back, at each step of an optimiser. Where each of several learners has `update`, all get the
      gradients of all, and add them in the same order.

    A subclass with its own `iterate` changes the order in which processes run.
    """

    name: str
    roles: tuple[Role, ...]

    def iterate(self, team: Team) -> Iterator[Iteration]:
        """Trains without end, an iteration at a time: all environments make `horizon` steps with the newest weights, then the learners learn."""
        while True:
            collected = team.collect()
            team.learn(collected)
            yield team.iteration(collected)


@dataclass(frozen=True)
class AsynchronousCentral(Policy):
    """Each worker goes on as soon as the server has answered it: gradients are applied in the order in which they come, to weights that other
    workers may have changed since (A3C, Mnih et al. 2016)."""

    def iterate(self, team: Team) -> Iterator[Iteration]:
        """An iteration is that of one worker."""
        running = [(worker, team.collect_at(worker)) for worker in team.collectors]
        requests = [(team.begin(worker), worker, collected) for worker, collected in running]
        while True:
            (ready,), _ = team.ray.wait([request.asked for request, _, _ in requests], num_returns=1)
            at = next(k for k, (request, _, _) in enumerate(requests) if request.asked == ready)
            request, worker, collected = requests.pop(at)
            if team.ray.get(ready):
                requests.append((team.resume(worker, team.combine([request])), worker, collected))
            else:
                yield team.iteration([collected])
                collected = team.collect_at(worker)
                requests.append((team.begin(worker), worker, collected))


def single_learner_coarse(replicas: int = 2) -> Policy:
    """Actors hold environments and act; they send trajectories to one learner (MSRL's DP-SingleLearnerCoarse). replicas: of the actors."""
    return Policy("coarse", (Role("Actor", ("environments", "act"), replicas), Role("Learner", ("gradient", "update"))))


def single_learner_fine(replicas: int = 2) -> Policy:
    """Processes hold environments alone; the learner infers all actions (DP-SingleLearnerFine). replicas: of the processes with environments."""
    return Policy(
        "fine", (Role("Environment", ("environments",), replicas), Role("Learner", ("act", "gradient", "update")))
    )


def multiple_learners(replicas: int = 2) -> Policy:
    """Each learner has environments of its own and acts in them; gradients are all-reduced (DP-MultiLearner). replicas: of the learners."""
    return Policy("multiple learners", (Role("Learner", FRAGMENTS, replicas),))


def one_device(replicas: int = 1) -> Policy:
    """The whole loop in one process, with all environments in one vector (DP-GPUOnly on one device)."""
    if replicas != 1:
        raise ValueError(
            f"One device has one process, and {replicas} were asked for. Several of them are multiple_learners({replicas})."
        )
    return Policy("one device", (Role("Device", FRAGMENTS),))


def environment_workers(replicas: int = 2, actors: int = 1) -> Policy:
    """Processes for environments alone, actors apart from them, and one learner (DP-Environments). replicas: of the processes with environments."""
    return Policy(
        "environment workers",
        (
            Role("Environment", ("environments",), replicas),
            Role("Actor", ("act",), actors),
            Role("Learner", ("gradient", "update")),
        ),
    )


def central(replicas: int = 2, asynchronous: bool = False) -> Policy:
    """Workers compute gradients on environments of their own; a parameter server applies them and answers with weights (DP-Central).

    replicas: of the workers. asynchronous: the server answers each worker at once, and does not wait for the gradients of the others.
    """
    roles = (Role("Worker", ("environments", "act", "gradient"), replicas), Role("Server", ("update",)))
    return AsynchronousCentral("central, asynchronous", roles) if asynchronous else Policy("central", roles)


def hybrid(replicas: int = 2) -> Policy:
    """Stages share processes by time: all processes hold environments and act, then the first of them learns. replicas: of the processes."""
    first = Role("Learner", FRAGMENTS)
    actors = (Role("Actor", ("environments", "act"), replicas - 1),) if replicas > 1 else ()
    return Policy("hybrid", (first, *actors))


#: The policies by the names that `deploy` takes.
POLICIES: dict[str, Callable[..., Policy]] = {
    "coarse": single_learner_coarse,
    "fine": single_learner_fine,
    "multiple-learners": multiple_learners,
    "one-device": one_device,
    "environment-workers": environment_workers,
    "central": central,
    "hybrid": hybrid,
}
