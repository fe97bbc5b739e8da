"""The table of workloads: for each its cases, its competitors, and the required results."""

from dataclasses import dataclass, replace

from benchmarks.competitors import BARE, CONTROLS, PROCESSES, VECTOR_ENVIRONMENTS, Competitor, rays, rayshims


@dataclass(frozen=True)
class Required:
    """`ours` must cost so little that the other's cost is `at_least` times it."""

    other: str
    at_least: float
    ours: str = "rayshim"


@dataclass(frozen=True)
class Case:
    """One setting of a workload: the program's `options`, how much `work` a round is, and what is required.

    A quick run leaves out those that are not `quick`.
    """

    title: str
    options: dict
    work: float = 1
    required: tuple[Required, ...] = ()
    quick: bool = True
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Workload:
    """A program of `programs/`, its cases, and who takes part.

    Slow competitors run `rounds` rounds and the others `longer` times as many, after `warm_up` that are discarded. Shown is
    the time of one unit of work, or with a `unit` how many there are in a second. `published` is what the paper found. A
    process that says nothing for `patience` seconds has failed. `axis` is the option that the cases are drawn over.
    """

    name: str
    title: str
    program: str
    cases: tuple[Case, ...]
    competitors: tuple[Competitor, ...]
    rounds: int = 20
    longer: float = 1.0
    warm_up: int = 3
    unit: str | None = None
    published: str = ""
    patience: float = 120.0
    axis: str | None = None

    def of(self, case):
        """The competitors of a case."""
        return [competitor for competitor in self.competitors if competitor.name not in case.without]

    def with_only(self, names):
        """The workload with no other competitors than these; ValueError for an unknown name."""
        known = [competitor.name for competitor in self.competitors]
        if unknown := set(names) - set(known):
            raise ValueError(f"no competitor of {self.name} is called {unknown.pop()!r}; there are {', '.join(known)}")
        return replace(self, competitors=tuple(c for c in self.competitors if c.name in names))


# "Published" is "Efficient Parallel Reinforcement Learning Framework using the Reactor Model", Ray against Lingua Franca.
OVER_RAY = Required("ray", 1.5)
MEGABYTE = 1 << 20
BROADCAST = (*rays("naive", "idiomatic", "compiled"), *rayshims("naive", "idiomatic"), *CONTROLS)
STEPPING = (*rays("naive", "compiled"), *rayshims("naive"), *VECTOR_ENVIRONMENTS, *CONTROLS, PROCESSES)


def _broadcast(title, actors, size, required=5.0, **options):
    wanted = (Required("ray", required), Required("ray-idiomatic", 1.5, "rayshim-idiomatic"))
    return Case(title, {"actors": actors, "size": size}, required=wanted, **options)


def _stepping(env, steps, *required, **options):
    return Case(env, {"env": env, "envs": 15, "steps": steps}, 15 * steps, required, **options)


OVER_VECTOR = (Required("ray", 40), Required("AsyncVectorEnv", 2))
OF_LIMIT = (OVER_RAY, Required("limit", 0.8))

# Ray needs a gigabyte for twenty actors.
RAYS_MOST_ACTORS = 100
SCALING = (*rays("naive"), *rayshims("naive"), BARE)
SIZES = {"1 B": 1, "1 KB": 1 << 10, "32 KB": 1 << 15, "1 MB": 1 << 20, "32 MB": 1 << 25, "1 GB": 1 << 30}


def _scaling(title, actors, size, **options):
    steps = max(1, min(100 // actors, (32 * MEGABYTE) // size))
    without = ("ray",) if actors > RAYS_MOST_ACTORS else ()
    settings = {"actors": actors, "size": size, "steps": steps}
    return Case(title, settings, steps * actors, () if without else (OVER_RAY,), without=without, **options)


ALL = (
    Workload(
        "broadcast",
        "Broadcast and gather, 10 MiB: overhead of a round by the number of actors",
        "broadcast",
        tuple(_broadcast(f"{n} actors", n, 10 * MEGABYTE, quick=n in (2, 16)) for n in (2, 4, 8, 16)),
        BROADCAST,
        published="Lingua Franca over Ray, 32 cores: 2.4 to 3.4",
        axis="actors",
    ),
    Workload(
        "sizes",
        "Broadcast and gather, 16 actors: overhead of a round by the array's size",
        "broadcast",
        (
            _broadcast("1 KB", 16, 1_000),
            _broadcast("100 KB", 16, 100_000, quick=False),
            _broadcast("10 MB", 16, 10_000_000, quick=False),
            _broadcast("100 MB", 16, 100_000_000, 1.5, quick=False),
        ),
        BROADCAST,
        published="Lingua Franca over Ray, 32 cores: 1.4 to 3.4",
        axis="size",
    ),
    Workload(
        "gymnasium",
        "Gymnasium: 15 environments, an actor each, one step per call, a barrier each step",
        "stepping",
        tuple(
            _stepping(env, 50, *OVER_VECTOR, quick=env == "CartPole-v1")
            for env in ("CartPole-v1", "Blackjack-v1", "Pendulum-v1")
        ),
        STEPPING,
        rounds=12,
        longer=5,
        unit="steps",
        published="Lingua Franca over Ray, 32 cores: 1.21",
    ),
    Workload(
        "atari",
        "Atari: 15 environments with raw RGB frames, an actor each, one step per call, a barrier each step",
        "stepping",
        tuple(
            _stepping(f"ALE/{game}-v5", 20, *OF_LIMIT, quick=game == "Pong")
            for game in ("Pong", "MsPacman", "SpaceInvaders")
        ),
        STEPPING,
        rounds=12,
        longer=2,
        unit="steps",
        published="Lingua Franca over Ray, 32 cores: 11.62",
    ),
    Workload(
        "qlearning",
        "Synchronous parallel Q-learning: 16 rollout actors, a replay buffer, a learner; time of a round",
        "qlearning",
        tuple(
            Case(
                f"minibatch {size}",
                {"minibatch": size},
                1,
                (Required("ray", 2), Required("limit", 1 / 1.3)),
                quick=size == 500,
            )
            for size in (500, 1000, 2000)
        ),
        (*rays("naive", "compiled"), *rayshims("naive"), *CONTROLS),
        rounds=500,
        published="Lingua Franca: 31.2% less time than Ray at 500",
    ),
    Workload(
        "inference",
        "Multi-agent inference: traffic junction (a stand-in of our own), an actor with a torch network per agent",
        "inference",
        tuple(Case(f"{n} agents", {"agents": n, "steps": 50}, 50, (Required("ray", 20),)) for n in (4, 10)),
        (*rays("naive", "compiled"), *rayshims("naive"), *CONTROLS),
        rounds=12,
        longer=5,
        published="Lingua Franca over Ray, 32 cores: 5.12 with 10 agents",
    ),
    Workload(
        "sac",
        "Soft actor-critic on Pendulum-v1, sampling, updates and evaluation side by side: sampled steps",
        "sac",
        (Case("2 samplers, 10 updates per 200 steps", {"samplers": 2, "steps": 100, "updates": 10}, 200, (OVER_RAY,)),),
        (*rays("naive"), *rayshims("naive"), *CONTROLS),
        rounds=60,
        unit="steps",
    ),
    Workload(
        "parameter-server",
        "Parameter server with 4 workers: time of a round, a gradient of each",
        "parameter_server",
        tuple(
            Case(mode, {"workers": 4, "mode": mode}, required=(OVER_RAY,), without=without)
            for mode, without in (("sync", ()), ("async", ("ray-compiled",)))
        ),
        (*rays("naive", "compiled"), *rayshims("naive"), *CONTROLS),
        rounds=60,
        longer=4,
    ),
    Workload(
        "evolution",
        "Evolution strategies on CartPole-v1, 8 actors: time of a generation",
        "evolution",
        (Case("32 episodes", {"actors": 8, "pairs": 2}, required=(OVER_RAY,)),),
        (*rays("naive", "compiled"), *rayshims("naive"), *CONTROLS),
        rounds=60,
    ),
    Workload(
        "impala",
        "Actor-learner after IMPALA on CartPole-v1, 4 actors: played steps",
        "impala",
        (Case("50 steps a trajectory", {"players": 4, "steps": 50}, 200, (OVER_RAY,)),),
        (*rays("naive"), *rayshims("naive"), *CONTROLS),
        rounds=60,
        unit="steps",
    ),
    Workload(
        "population",
        "Population-based training, 8 members: time of a generation",
        "population",
        (Case("40 steps each", {"members": 8}, required=(OVER_RAY,)),),
        (*rays("naive"), *rayshims("naive"), *CONTROLS),
        rounds=60,
    ),
    Workload(
        "actors",
        "Scaling with the number of actors, one byte each way: time of a call in a barrier over all",
        "scaling",
        tuple(_scaling(f"{n:,} actors", n, 1, quick=n <= 10) for n in (1, 10, 100, 1_000)),
        SCALING,
        rounds=15,
        axis="actors",
        patience=300.0,
    ),
    Workload(
        "objects",
        "Scaling with the size of an array that goes to an actor and comes back: time of a call",
        "scaling",
        tuple(_scaling(size, 1, number, quick=number in (1, MEGABYTE)) for size, number in SIZES.items()),
        SCALING,
        rounds=15,
        axis="size",
        patience=300.0,
    ),
)
WORKLOADS = {workload.name: workload for workload in ALL}
