"""Timed order on shared memory and its readable model (reactor/tests/timed_order.py) give random programs with the same durations the same run."""

import random
from dataclasses import dataclass

import numpy as np
import pytest
from reactor.tests import timed_order as model

import rayshim
from rayshim.timing import file

ACTORS, LEVELS = 3, 3
TASK = "task"


@dataclass(frozen=True)
class Operation:
    """What a strand does: a call of an actor (its number) or a task, with results so far (their numbers) as arguments, or a wait for some of them. A timeout is in ticks."""

    kind: str
    target: object = None
    refs: tuple = ()
    count: int = 0
    timeout: int | None = None
    number: int = 0  # of the call


class Program:
    """Operations of each call and of the driver, drawn from a seed. Strands block only on calls of actors behind their own, and on tasks, so they never wait for each other."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.calls = []  # operations of each call, by its number
        self.driver = self._strand(-1, 0, 14)

    def _strand(self, actor, level, most):
        operations, made = [], 0
        for _ in range(self.draw.randrange(most // 2, most + 1)):
            kind = self.draw.choice(("call", "call", "call", TASK, "get", "wait", "wait"))
            if level == LEVELS or (kind == "call" and actor == ACTORS - 1) or (kind in ("get", "wait") and not made):
                continue
            some = tuple(
                sorted(
                    self.draw.sample(range(made), self.draw.randint(0 if kind in ("call", TASK) else 1, min(made, 3)))
                )
            )
            if kind in ("call", TASK):
                target = TASK if kind == TASK else self.draw.randrange(actor + 1, ACTORS)
                number = len(self.calls)
                self.calls.append(None)
                self.calls[number] = self._strand(actor if kind == TASK else target, level + 1, 4)
                operations.append(Operation("call", target, some[:1], number=number))
                made += 1
            elif kind == "get":
                operations.append(Operation("get", refs=some[:1]))
            else:
                timeout = self.draw.choice((None, None, 0, self.draw.randrange(1, 2000)))
                operations.append(Operation("wait", refs=some, count=self.draw.randint(1, len(some)), timeout=timeout))
        if made:  # all calls have ended when the program has
            operations.append(Operation("wait", refs=tuple(range(made)), count=made))
        return operations

    def durations(self, count):
        """Of a strand's stretches, in ticks. Few different ones, so that much happens at the same tick."""
        return [self.draw.choice((1, 5, 5, 40, 200)) for _ in range(count)]


# ---- on the runtime


def carry_out(operations, actors, tasks):
    """What the operations give: of a get its value, of a wait the numbers of the refs."""
    refs, seen = [], []
    for operation in operations:
        some = [refs[k] for k in operation.refs]
        if operation.kind == "call":
            if operation.target == TASK:
                refs.append(tasks[operation.number].remote(actors, *some))
            else:
                refs.append(getattr(actors[operation.target], f"call{operation.number}").remote(*some))
        elif operation.kind == "get":
            seen.append(rayshim.get(some[0]))
        else:
            timeout = None if operation.timeout is None else operation.timeout * 1e-6
            ready, _ = rayshim.wait(some, num_returns=operation.count, timeout=timeout)
            seen.append([refs.index(ref) for ref in ready])
    return seen, refs


def on_runtime(program, **how):
    """What the driver has seen, and the results of all its calls, each with its place among the calls of its actor."""
    rayshim.init(num_cpus=2, logging_level="ERROR", ordering="timed", **how)

    def method(number):
        def call(self, *arguments):
            self.served += 1
            place = self.served
            return place, arguments, carry_out(program.calls[number], self.actors, self.tasks)[0]

        return call

    def task(number, tasks):
        operations = program.calls[number]
        own = {o.number: tasks[o.number] for o in operations if o.target == TASK}

        def call(actors, *arguments):
            return 0, arguments, carry_out(operations, actors, own)[0]

        call.__name__ = call.__qualname__ = f"call{number}"
        return rayshim.remote(num_cpus=0)(call)

    def construct(self, actors, tasks):
        self.served, self.actors, self.tasks = 0, actors, tasks

    try:
        actors, tasks = {}, {}
        for number in reversed(range(len(program.calls))):  # the calls in it have greater numbers
            tasks[number] = task(number, tasks)
        methods = {f"call{number}": method(number) for number in range(len(program.calls))}
        actor_class = rayshim.remote(num_cpus=0)(type("Actor", (), {"__init__": construct, **methods}))
        for number in reversed(range(ACTORS)):
            actors[number] = actor_class.remote(dict(actors), tasks)
        seen, refs = carry_out(program.driver, actors, tasks)
        return seen, rayshim.get(refs)
    finally:
        rayshim.shutdown()


# ---- in the model


def in_model(program, durations):
    """The same, by the model. `durations`: {number of a call, or "driver" or ("actor", number): those of its stretches}."""
    of_tag = {}

    def strand(operations, tag, made=0):
        refs, seen = [], []
        for operation in operations:
            some = [refs[k] for k in operation.refs]
            if operation.kind == "call":
                server = model.TASKS if operation.target == TASK else operation.target
                made += 1
                of_tag[(*tag, made)] = operation.number
                refs.append((yield model.Call(server, str(operation.number), ((*tag, made), *some))))
            elif operation.kind == "get":
                seen.append((yield model.Get(some[0])))
            else:
                ready = yield model.Wait(some, operation.count, operation.timeout)
                seen.append([refs.index(ref) for ref in ready])
        return seen, refs

    def method(number):
        def call(state, tag, *arguments):
            place = (state or 0) + 1 if state is not None else 0
            seen, _ = yield from strand(program.calls[number], tag)
            return state if state is None else place, (place, arguments, seen)

        return call

    def constructor(state, tag):
        return 0, None
        yield

    def driver():
        for made, number in enumerate(reversed(range(ACTORS)), 1):
            of_tag[0, made] = ("actor", number)
            yield model.Call(number, "construct", ((0, made),))
        seen, refs = yield from strand(program.driver, (0,), ACTORS)
        yield model.Wait(refs, len(refs))
        return seen, [ref.value for ref in refs]

    of_tag[(0,)] = "driver"
    methods = {"construct": constructor, **{str(number): method(number) for number in range(len(program.calls))}}
    run = model.Run(
        [driver],
        methods,
        lambda tag, number, _: durations[of_tag[tag]][number],
        cpus=10**6,
        states=dict.fromkeys(range(ACTORS), 0),
    )
    return run.in_time_order().results[0]


@pytest.mark.parametrize("seed", range(5))
def test_the_runtime_and_the_model_have_the_same_run(seed, tmp_path):
    program, path = Program(seed), tmp_path / "run.timing"
    on_runtime(program, timing=path)
    timings = file.read(path)
    calls, durations = {}, {}
    for i, (series, name) in enumerate(zip(timings.series.tolist(), timings.names, strict=True)):
        calls[series] = []
        for number, measured in enumerate(timings.of(i)):
            drawn = program.durations(len(measured))
            calls[series].append(np.array(drawn, "<u4"))
            if name.startswith("call"):
                key = int(name.removeprefix("call"))
                assert len(drawn) == len(program.calls[key]) + 1
            else:
                key = "driver" if name == "driver" else ("actor", ACTORS - 1 - number)
            durations[key] = drawn
    names = dict(zip(timings.series.tolist(), timings.names, strict=True))
    file.write(path, file.made(names, calls)._replace(began=timings.began))
    expected = in_model(program, durations)
    for placement in ("isolated", "packed"):
        assert normal(on_runtime(program, timing=path, placement=placement)) == normal(expected)


def normal(value):
    """Lists in place of tuples, which calls give back as they are."""
    return [normal(one) for one in value] if isinstance(value, (list, tuple)) else value
