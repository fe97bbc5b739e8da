"""Random programs and what is to be killed while they run: a pure function of a seed."""

import random
from dataclasses import dataclass, replace

PLACEMENTS = ("isolated", "packed", "inline")
ORDERINGS = ("logical", "logical", "arrival", "timed", "guessed")  # see rayshim.init; of the last two see driver.py
MEGABYTE = 1 << 20
MOST_STEPS = 4000


@dataclass(frozen=True)
class Actor:
    """`kind`: plain, threaded or async. `friend`: the name of an actor whose handle its constructor gets. `array`: bytes of an array that
    the constructor gets by ref, or 0. `registered`: it is looked up by its name. `own_interpreter`: its environment variables need one."""

    name: str
    number: int
    kind: str
    max_restarts: int
    max_task_retries: int
    friend: str | None
    array: int
    registered: bool
    own_interpreter: bool = False


# Arguments of calls.


@dataclass(frozen=True)
class Number:
    value: int


@dataclass(frozen=True)
class Result:
    """The ref in a slot, passed as such: the callee gets the value."""

    slot: int


@dataclass(frozen=True)
class Inside:
    """Refs in a list: the callee gets the refs and asks for their values."""

    slots: tuple


@dataclass(frozen=True)
class Handle:
    """An actor's handle: the callee calls the actor and tells what came of it."""

    actor: str


# Steps of the driver. A slot is where the ref of a call or a put is kept.


@dataclass(frozen=True)
class Create:
    actor: Actor


@dataclass(frozen=True)
class Call:
    slot: int
    actor: str
    method: str
    arguments: tuple = ()
    retries: int | None = None  # None: those of the actor


@dataclass(frozen=True)
class Task:
    slot: int
    function: str
    arguments: tuple = ()
    retries: int = 3
    own_interpreter: bool = False


@dataclass(frozen=True)
class Put:
    slot: int
    size: int


@dataclass(frozen=True)
class Get:
    slots: tuple
    timeout: float | None = None


@dataclass(frozen=True)
class Wait:
    slots: tuple
    count: int
    timeout: float | None = None


@dataclass(frozen=True)
class Read:
    """Reads `count` values of a generator, or all."""

    slot: int
    count: int | None = None


@dataclass(frozen=True)
class Keep:
    """Gets an array and keeps the view to the end of the program."""

    slot: int


@dataclass(frozen=True)
class Cancel:
    slot: int
    force: bool


@dataclass(frozen=True)
class Kill:
    """`ray.kill`."""

    actor: str
    no_restart: bool


@dataclass(frozen=True)
class Forget:
    slots: tuple


@dataclass(frozen=True)
class Drop:
    """The driver lets go of an actor's handle."""

    actor: str


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Loop:
    times: int
    body: tuple


@dataclass(frozen=True)
class Strike:
    """`kill -9` after step `at` has begun (`inside`: by the driver itself, right after it) and `delay` more seconds.

    `whom`: a worker ("any", "newest", "oldest"), "all" workers, the "zygote" or the "driver"; `pick` draws among several. `steps`: machine
    instructions through which a worker is led before.
    """

    at: int
    delay: float
    whom: str
    pick: float
    inside: bool = False
    steps: int = 0


@dataclass(frozen=True)
class Program:
    seed: int
    placement: str
    ordering: str
    num_cpus: int
    store: int  # bytes
    steps: tuple
    strikes: tuple
    stepping: bool

    @property
    def actors(self):
        return {step.actor.name: step.actor for step in self.steps if isinstance(step, Create)}

    @property
    def own_interpreters(self):
        """Whether any actor or task has an interpreter of its own."""
        tasks = (step for step in self.steps if isinstance(step, Task))
        return any(one.own_interpreter for one in (*self.actors.values(), *tasks))


def length(steps):
    """How many steps a driver makes: those of loops count each time."""
    return sum(1 + step.times * length(step.body) if isinstance(step, Loop) else 1 for step in steps)


def program(seed, placement=None, stepping=False):
    """The program of this seed. `placement`: None draws one. `stepping`: workers are led to a random instruction before they are killed."""
    rng = random.Random(seed)
    drawn = rng.choices(PLACEMENTS, (60, 32, 8))[0]
    placement = placement or drawn
    small = rng.random() < 0.15
    steps = _Writer(rng, small).program()
    interpreters = random.Random(f"interpreters of {seed}")
    if interpreters.random() < 0.1:
        steps = _with_own_interpreters(interpreters, steps)
    return Program(
        seed,
        placement,
        ordering=rng.choice(ORDERINGS) if placement != "inline" else rng.choice(("logical", "arrival")),
        num_cpus=rng.choice((1, 2, 2, 4)),
        store=(80 if small else 512) * MEGABYTE,
        steps=steps,
        strikes=_led(seed, _strikes(rng, placement, length(steps)))
        if stepping
        else _strikes(rng, placement, length(steps)),
        stepping=stepping,
    )


def _strikes(rng, placement, steps):
    fate = rng.choices(("workers", "zygote", "driver"), (76, 8, 16))[0]
    strikes = []
    if placement != "inline":
        whom, weights = ("any", "newest", "oldest", "all"), (60, 22, 14, 4)
        for _ in range(rng.randint(steps // 10, steps // 10 + rng.choice((steps // 5, steps)))):
            strikes.append(
                Strike(
                    rng.randrange(steps), _delay(rng), rng.choices(whom, weights)[0], rng.random(), rng.random() < 0.3
                )
            )
    if fate == "driver" or (fate == "zygote" and placement != "inline"):
        strikes.append(Strike(rng.randrange(-1, steps), _delay(rng), fate, 0.0))
    return tuple(sorted(strikes, key=lambda strike: (strike.at, strike.delay)))


def _with_own_interpreters(rng, steps):
    """The same steps, but a third of the actors and a tenth of the tasks run in an interpreter of their own."""
    changed = []
    for step in steps:
        if isinstance(step, Create) and rng.random() < 0.33:
            step = replace(step, actor=replace(step.actor, own_interpreter=True))
        elif isinstance(step, Task) and rng.random() < 0.1:
            step = replace(step, own_interpreter=True)
        changed.append(step)
    return tuple(changed)


def _led(seed, strikes):
    rng = random.Random(f"steps of {seed}")
    return tuple(
        replace(one, steps=round(MOST_STEPS ** rng.random())) if one.whom in ("any", "newest", "oldest") else one
        for one in strikes
    )


def _delay(rng):
    return 0.0 if rng.random() < 0.2 else 10 ** rng.uniform(-6, -2)


class _Writer:
    """Writes the steps of one program; knows which slots hold what."""

    def __init__(self, rng, small):
        self.rng = rng
        self.small = small
        self.actors = {}
        self.values, self.arrays, self.streams = [], [], []
        self.slots = self.created = 0

    def program(self):
        steps = [self.create() for _ in range(self.rng.randint(2, 6))]
        for _ in range(self.rng.randint(15, 45)):
            steps.append(self.loop() if self.rng.random() < 0.12 else self.step())
        return tuple(steps)

    def loop(self):
        """The same calls again and again, as a training loop makes them."""
        outer = (self.values, self.arrays, self.streams)
        self.values, self.arrays, self.streams = list(self.values), [], []
        body = [self.rng.choice((self.call, self.call, self.task))() for _ in range(self.rng.randint(1, 4))]
        slots = tuple(step.slot for step in body if step.slot in self.values)
        body.append(Get(slots) if slots else self.call())
        if self.rng.random() < 0.3:
            body.append(self.step_of(self.get, self.wait, self.pause))
        self.values, self.arrays, self.streams = outer
        return Loop(self.rng.randint(2, 12), tuple(body))

    def step(self):
        kinds = {
            self.call: 34, self.task: 20, self.get: 14, self.wait: 6, self.put: 5, self.read: 8, self.keep: 3, self.cancel: 4,
            self.kill: 2, self.forget: 3, self.drop: 1, self.pause: 4, self.create: 3,
        }  # fmt: skip
        return self.rng.choices(list(kinds), list(kinds.values()))[0]()

    def step_of(self, *kinds):
        return self.rng.choice(kinds)()

    def create(self):
        rng = self.rng
        restarts = rng.choice((0, 1, 3, 10, -1, -1, -1))
        self.created += 1
        actor = Actor(
            f"a{self.created}",
            self.created,
            rng.choice(("plain", "plain", "plain", "threaded", "async")),
            restarts,
            rng.choice((0, 1, 3, -1)) if restarts else 0,
            friend=rng.choice(list(self.actors)) if self.actors and rng.random() < 0.25 else None,
            array=self.size() if rng.random() < 0.15 else 0,
            registered=rng.random() < 0.25,
        )
        self.actors[actor.name] = actor
        return Create(actor)

    def new_slot(self, kind):
        self.slots += 1
        kind.append(self.slots)
        return self.slots

    def size(self):
        sizes = (
            (100, 20_000, 300_000, MEGABYTE, 4 * MEGABYTE) if not self.small else (20_000, 4 * MEGABYTE, 12 * MEGABYTE)
        )
        return self.rng.choice(sizes)

    def argument(self, callee):
        """Of a call of the actor `callee`, or of a task (None). Actors call only older ones and only tasks wait for refs in a list: so there is
        no cycle of waits in any order."""
        kind = self.rng.choices(("number", "result", "inside", "handle", "array"), (40, 25, 10, 15, 10))[0]
        if kind == "result" and self.values:
            return Result(self.rng.choice(self.values))
        if kind == "array" and self.arrays:
            return Result(self.rng.choice(self.arrays))
        if kind == "inside" and self.values and callee is None:
            return Inside(tuple(self.rng.sample(self.values, min(len(self.values), self.rng.randint(1, 3)))))
        older = [actor.name for actor in self.actors.values() if callee is None or actor.number < callee.number]
        if kind == "handle" and older:
            return Handle(self.rng.choice(older))
        return Number(self.rng.randrange(1000))

    def work(self, callee=None):
        """(what it does, its arguments, where its result is kept)"""
        rng = self.rng
        what = rng.choices(
            ("add", "slow", "big", "two", "stream", "dynamic", "nested", "spawn", "give"),
            (44, 14, 8, 6, 12, 3, 7, 4, 5),
        )[0]
        if what in ("stream", "dynamic"):
            return what, (Number(rng.randint(0, 6)),), self.streams
        if what == "big":
            return what, (Number(self.size()),), self.arrays
        if what == "slow":
            return what, (Number(rng.randint(0, 15)),), self.values
        if what in ("two", "nested", "spawn", "give"):
            return what, (), self.values
        return what, tuple(self.argument(callee) for _ in range(rng.choice((0, 1, 1, 2, 3)))), self.values

    def call(self):
        actor = self.actors[self.rng.choice(list(self.actors))]
        what, arguments, kind = self.work(actor)
        if what == "dynamic" or (what == "nested" and actor.kind == "async"):
            what, arguments, kind = "add", (), self.values
        retries = self.rng.choice((0, 2, -1)) if actor.max_restarts and self.rng.random() < 0.15 else None
        return Call(self.new_slot(kind), actor.name, what, arguments, retries)

    def task(self):
        what, arguments, kind = self.work()
        return Task(self.new_slot(kind), what, arguments, self.rng.choice((0, 1, 3, 3, -1, -1)))

    def put(self):
        return Put(self.new_slot(self.arrays), self.size())

    def some(self, slots, most):
        return tuple(self.rng.sample(slots, min(len(slots), self.rng.randint(1, most))))

    def timeout(self):
        return self.rng.choice((None, None, None, 0, 0.001, 0.02))

    def get(self):
        if not self.values:
            return self.call()
        return Get(self.some(self.values, 5), self.timeout())

    def wait(self):
        if not self.values:
            return self.task()
        slots = self.some(self.values, 5)
        return Wait(slots, self.rng.randint(1, len(slots)), self.timeout())

    def read(self):
        if not self.streams:
            return self.call()
        slot = self.rng.choice(self.streams)
        if self.rng.random() < 0.5:
            self.streams.remove(slot)
            return Read(slot)
        return Read(slot, self.rng.randint(0, 3))

    def keep(self):
        return Keep(self.rng.choice(self.arrays)) if self.arrays else self.put()

    def cancel(self):
        slots = self.values + self.streams
        return Cancel(self.rng.choice(slots), self.rng.random() < 0.3) if slots else self.task()

    def kill(self):
        return Kill(self.rng.choice(list(self.actors)), self.rng.random() < 0.4)

    def forget(self):
        if not self.values:
            return self.pause()
        slots = self.some(self.values, 3)
        self.values = [slot for slot in self.values if slot not in slots]
        return Forget(slots)

    def drop(self):
        if len(self.actors) < 2:
            return self.create()
        name = self.rng.choice(list(self.actors))
        del self.actors[name]
        return Drop(name)

    def pause(self):
        return Pause(10 ** self.rng.uniform(-5, -2))
