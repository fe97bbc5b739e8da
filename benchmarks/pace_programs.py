"""The programs of concurrent loops in `benchmarks/loops`, and the sides that each runs on."""

from dataclasses import dataclass

from benchmarks.machine import REPOSITORY
from benchmarks.sides import SIDES

LOOPS = REPOSITORY / "benchmarks" / "loops"


@dataclass(frozen=True)
class Program:
    """A script of `benchmarks/loops`, with its arguments.

    `not_inline` says why it does not end, or not soon, where each call is run to its end at the point of call; None if it does.
    """

    name: str
    title: str
    script: str
    arguments: tuple[str, ...] = ()
    not_inline: str | None = None

    @property
    def command(self):
        return [str(LOOPS / f"{self.script}.py"), *self.arguments]


@dataclass(frozen=True)
class PaceSide:
    """One way of running a program: `launcher` goes before the script's path, `placement` is None for Ray."""

    name: str
    launcher: tuple[str, ...]
    environment: dict
    placement: str | None = None
    ordering: str | None = None

    def runs(self, program):
        return self.placement != "inline" or program.not_inline is None


def _rayshim(placement, ordering):
    """rayshim with this placement, in the order of that name, or as it comes (None)."""
    chosen = ("--ordering", ordering) if ordering else ()
    name = f"{placement}-{ordering}" if ordering else placement
    side = SIDES["rayshim"]
    return PaceSide(
        name, (*side.launcher, "--placement", placement, *chosen), side.process_environment(), placement, ordering
    )


RAY = PaceSide("ray", (), SIDES["ray"].process_environment())
PLACEMENTS = ("isolated", "packed", "inline")
ALL_SIDES = (
    RAY,
    *(_rayshim(placement, ordering) for placement in ("isolated", "packed") for ordering in (None, "arrival")),
    _rayshim("inline", None),
)

_ONE_BY_ONE = "the calls of the slow workers, one after the other, take a minute"
_ENDLESS = "the evaluator's calls end at once, and it goes on"
_WAITS_FOR_LATER = "{} runs until the store has what {} brings, which is called later"


def _program(script, title, not_inline=None, form=None):
    name = f"{script}-{form}" if form else script
    return Program(name, title, script, (form,) if form else (), not_inline)


PROGRAMS = {
    program.name: program
    for program in (
        _program(
            "actor_learner",
            "actor and learner with a parameter store",
            _WAITS_FOR_LATER.format("a player", "the learner"),
        ),
        _program("replay_buffer", "replay buffer, writers and a learner"),
        _program(
            "muzero",
            "self-play, trainer, reanalysis, shared storage",
            _WAITS_FOR_LATER.format("self-play", "the trainer"),
        ),
        _program("population", "population with a driver that polls"),
        _program("evaluator", "evaluator that polls checkpoints"),
        _program(
            "rate_limited",
            "token bucket, bounded queue, consumers",
            "the producer fills the queue before a consumer is called",
        ),
        _program("publish_subscribe", "hub that is polled", _WAITS_FOR_LATER.format("a publisher", "the driver")),
        _program(
            "long_poll", "asyncio hub that is waited in", "a subscriber waits for a publisher that is called later"
        ),
        _program("apex", "Ape-X, refilled by wait", "the samplers stand first in the list of wait and are always done"),
        _program(
            "seed_server", "inference server, queue, learner", _WAITS_FOR_LATER.format("an environment", "the learner")
        ),
        _program("a3c", "A3C with a shared counter and parameters"),
        _program("stragglers", "wait: one slow worker of eight", form="slow"),
        _program("stragglers", "wait: heavy-tailed durations", form="tail"),
        _program("stragglers", "wait: another worker becomes slow", _ONE_BY_ONE, "change"),
        _program("k_of_n", "wait for five of eight"),
        _program("nested_wait", "wait in actors that are waited for", _ONE_BY_ONE),
        _program("actor_pool", "ActorPool over unequal actors"),
        _program("parameter_server", "asynchronous parameter server in numpy"),
        _program("steady_state", "a task submitted as each one completes"),
        _program("watchers", "one player, two watchers, one store"),
        _program("work_queue", "workers that pull from a queue"),
        _program("torch_actors", "six actors, each with a torch network"),
        _program("asyncio_trainer", "rollouts, trainer and evaluator as coroutines of the driver", _ENDLESS),
        _program(
            "threaded_buffer",
            "threaded replay buffer with a condition",
            _WAITS_FOR_LATER.format("the learner", "a writer"),
        ),
        _program("streams", "generators, whichever has its next value"),
        _program("league", "self-play by tasks with a league"),
        _program("threads", "actors with threads of their own", _WAITS_FOR_LATER.format("an actor", "the learner")),
    )
}
