"""Random programs on the API, and what a run of one shows: every value and error got, and each actor's own order of calls."""

import numpy as np
from hypothesis import strategies as st

from rayshim.tests.plain import plain

ACTORS = 3

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.integers(2**70, 2**70 + 3),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.sampled_from(
        [np.arange(3.0), np.ones((2, 2), np.float32), np.zeros(3000, np.int64), np.arange(40_000, dtype=np.float32)]
    ),
    st.lists(st.integers(0, 3), max_size=3),
    st.just({1, 2, 3}),
)
argument = st.one_of(st.tuples(st.just("value"), values), st.tuples(st.just("ref"), st.integers(0, 30)))
operation = st.one_of(
    st.tuples(st.just("call"), st.integers(0, ACTORS - 1), st.lists(argument, max_size=2)),
    st.tuples(st.just("fail"), st.integers(0, ACTORS - 1), argument),
    st.tuples(st.just("task"), st.lists(argument, max_size=2)),
    st.tuples(st.just("nest"), st.integers(0, 2)),
    st.tuples(st.just("put"), values),
    st.tuples(st.just("inside"), st.integers(0, ACTORS - 1), st.integers(0, 30)),
    st.tuples(st.just("get"), st.lists(st.integers(0, 30), min_size=1, max_size=4)),
    st.tuples(st.just("wait"), st.lists(st.integers(0, 30), min_size=1, max_size=4)),
    st.tuples(st.just("drop"), st.integers(0, 30)),
    st.tuples(st.just("mutate"), st.integers(0, ACTORS - 1)),
    st.tuples(st.just("renew"), st.integers(0, ACTORS - 1)),
)
block = st.tuples(st.integers(1, 4), st.lists(operation, min_size=1, max_size=6))  # (how often, what)
programs = st.lists(block, min_size=1, max_size=5)


def run(ray, program):
    """Runs `program` on `ray`, which is initialised; gives everything that can be seen of it.

    One long function, because its classes and steps are closures over `ray`.
    """

    @ray.remote
    class Log:
        def __init__(self, name):
            self.name, self.seen = name, []

        def call(self, *args):
            self.seen.append([plain(a) for a in args])
            return self.name, len(self.seen), args

        def fail(self, arg):
            self.seen.append("fail")
            raise KeyError(plain(arg))

        def inside(self, refs):
            return plain(ray.get(refs[0]))

        def log(self):
            return self.seen

    @ray.remote
    def task(*args):
        return "task", args

    @ray.remote
    def nest(depth):
        return [depth, *(ray.get(nest.remote(depth - 1)) if depth else [])]

    actors = [Log.remote(k) for k in range(ACTORS)]
    refs, shown = [], []

    def ref(k):
        return refs[k % len(refs)]

    def make(arg):
        kind, value = arg
        return ref(value) if kind == "ref" and refs else value if kind == "value" else None

    def look(refs):
        try:
            shown.append(plain(ray.get(refs)))
        except Exception as error:
            shown.append((type(error).__name__, [type(c).__name__ for c in type(error).__mro__[1:3]]))

    def step(kind, *rest):
        if kind == "call":
            refs.append(actors[rest[0]].call.remote(*map(make, rest[1])))
        elif kind == "fail":
            refs.append(actors[rest[0]].fail.remote(make(rest[1])))
        elif kind == "task":
            refs.append(task.remote(*map(make, rest[0])))
        elif kind == "nest":
            refs.append(nest.remote(rest[0]))
        elif kind == "put":
            refs.append(ray.put(rest[0]))
        elif kind == "mutate":
            array = np.arange(10.0)
            refs.append(actors[rest[0]].call.remote(array))
            array[:] = -1
        elif kind == "renew":
            shown.append(plain(ray.get(actors[rest[0]].log.remote())))
            actors[rest[0]] = Log.remote(f"new {rest[0]}")
        elif refs and kind == "inside":
            refs.append(actors[rest[0]].inside.remote([ref(rest[1])]))
        elif refs and kind == "get":
            look([ref(k) for k in rest[0]])
        elif refs and kind == "wait":
            chosen = list(dict.fromkeys(ref(k) for k in rest[0]))
            done, left = ray.wait(chosen, num_returns=len(chosen))
            shown.append((len(done), len(left)))
        elif refs and kind == "drop":
            del refs[rest[0] % len(refs)]

    for times, operations in program:
        for _ in range(times):
            for op in operations:
                step(*op)
    for r in refs:
        look(r)
    shown.append(ray.get([a.log.remote() for a in actors]))
    return shown
