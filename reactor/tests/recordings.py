"""Recordings to test with: a training run, and random ones."""

from hypothesis import strategies as st
from reactor.recording.patterns import Operation, Pattern, Recording, Result, Source


def value(layout, size):
    return Source("value", layout=layout, bytes=size)


def call(target, method, process, needs=(), sources=(), result="int"):
    """A call of one result; `needs` are the indices of operations of the same pattern whose first results it takes."""
    taken = tuple(Source("operation", 0, k, layout="int", bytes=8) for k in needs)
    return Operation(target, method, f"{target}.py:1", (*taken, *sources), (Result(result, 8),), process)


def training(actors):
    """Set-up; rounds of a put, a step of each actor and a learn; now and then a task that calls an actor, and a save."""
    setup = [
        Operation(f"Env#{i}", "__init__", "train.py:12", (value("int", 8),), (Result(),), i + 1) for i in range(actors)
    ]
    setup.append(Operation("Learner#0", "__init__", "train.py:13", (value("pickle", 900),), (Result(),), 0))
    setup += [
        Operation(f"Env#{i}", "reset", "train.py:15", (), (Result("float32[4]", 16),), i + 1) for i in range(actors)
    ]
    weights, step = "float32[64,4]", "(float32[4], float, bool)"
    rounds = [Operation("put", "", "train.py:20", (value(weights, 1024),))]
    for i in range(actors):
        arguments = (value("int", 8), Source("put", 0, 0, 0, weights, 1024))
        rounds.append(Operation(f"Env#{i}", "step", "train.py:21", arguments, (Result(step, 25),), i + 1))
    steps = tuple(Source("operation", 0, 1 + i, 0, step, 25) for i in range(actors))
    rounds.append(Operation("Learner#0", "learn", "train.py:23", steps, (Result("float", 8),), 0))
    evaluation = (
        Operation("task:evaluate", "", "train.py:30", (value("int", 8),), (Result("float", 8),)),
        Operation(
            "Learner#0", "save", "train.py:31", (Source("operation", -1, actors + 1),), (Result("pickle", 4000),), 0
        ),
    )
    render = Operation("Env#0", "render", "eval.py:7", (), (Result("uint8[84,84,3]", 21168),), 1)
    reset = tuple(Source("operation", 0, actors + 1 + i) for i in range(actors))
    patterns = (
        Pattern("driver", tuple(setup), "get", 0, 0.3, 9, 1, reset, "train.py:15"),
        Pattern(
            "driver", tuple(rounds), "get", 999, 2.1, 9990, 999, (Source("operation", 0, actors + 1),), "train.py:24"
        ),
        Pattern("driver", evaluation, "get", 10, 0.4, 20, 10, None, "train.py:32"),
        Pattern("task:evaluate", (render,), "get", 10, 0.1, 10, 10, None, "eval.py:8"),
        Pattern("task:evaluate", (), "end of task", 10),
    )
    return Recording(patterns, {(0, 1): 1, (1, 1): 988, (1, 2): 10, (2, 1): 9, (3, 4): 10})


@st.composite
def recordings(draw):
    """Random recordings: up to four patterns of the driver and of one task, following each other at random."""
    callers = draw(st.lists(st.sampled_from(["driver", "A.f", "task:t"]), min_size=1, max_size=4))
    patterns = [_pattern(draw, caller) for caller in callers]
    pairs = [(i, j) for i in range(len(callers)) for j in range(len(callers)) if callers[i] == callers[j]]
    followed = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=6))
    return Recording(tuple(patterns), {pair: draw(st.integers(1, 9)) for pair in followed})


def _pattern(draw, caller):
    operations = []
    for k in range(draw(st.integers(0, 6))):
        target = draw(st.sampled_from(["A", "B", "C#0", "C#1", "task:t", "put"]))
        sources = tuple(_source(draw, k, operations) for _ in range(draw(st.integers(0, 3))))
        if target == "put":
            operations.append(Operation("put", "", f"a.py:{k}", (value("int", 8),)))
        else:
            method = "" if target == "task:t" else draw(st.sampled_from("fg"))
            process = {"A": 0, "B": 1, "C#0": 2, "C#1": draw(st.sampled_from([2, 3]))}.get(target)
            results = (Result("int", 8),) * draw(st.integers(0, 2))
            operations.append(Operation(target, method, f"a.py:{k}", sources, results, process))
    gets = [
        Source("operation", 0, k)
        for k, operation in enumerate(operations)
        if operation.results and not operation.is_put
    ]
    known = draw(st.one_of(st.none(), st.lists(st.sampled_from(gets), unique=True).map(tuple) if gets else st.just(())))
    ends = draw(st.sampled_from(["get", "wait", "end of task"]))
    return Pattern(caller, tuple(operations), ends, draw(st.integers(1, 10)), gets=known)


def _source(draw, k, operations):
    back = draw(st.sampled_from([0, 0, 0, -1, -2]))
    if back == 0:
        usable = [n for n in range(k) if operations[n].results]
        if not usable or draw(st.booleans()):
            return value(draw(st.sampled_from(["int", "pickle", "float32[4]"])), 8)
        n = draw(st.sampled_from(usable))
        output = draw(st.integers(0, len(operations[n].results) - 1))
        return Source("put" if operations[n].is_put else "operation", 0, n, output, "int", 8)
    return Source("operation", back, draw(st.integers(0, 4)), 0, "int", 8)
