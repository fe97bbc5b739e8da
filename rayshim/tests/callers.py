"""Random programs in which actors have several callers, and what a run of one shows: each actor's calls in their order, and all results.

A program is a tree of calls. Each call names its target (an actor or a task), how the handles that it needs reach it, whether its caller
gets its result at once, and the calls that it makes in its turn. An actor calls only actors of a higher number, so nobody waits for
himself.
"""

import random
import time

from hypothesis import strategies as st

ACTORS = 4
TASK, FRESH = (
    ACTORS,
    ACTORS + 1,
)  # targets: a task; an actor that a caller makes, and whose handle goes on to those that it calls
WAYS = ("arg", "nested", "put", "dep", "known", "registry", "named")

leaf = st.tuples(st.integers(0, FRESH), st.sampled_from(WAYS), st.booleans(), st.just([]))
call = st.recursive(
    leaf,
    lambda inner: st.tuples(st.integers(0, FRESH), st.sampled_from(WAYS), st.booleans(), st.lists(inner, max_size=4)),
    max_leaves=12,
)
programs = st.tuples(
    st.booleans(), st.lists(call, min_size=2, max_size=8)
)  # (the actors have names, what the driver calls)


def run(ray, program, delays=False):
    """Runs `program` on `ray`, which is initialised. `delays`: calls sleep for random times of up to some milliseconds.

    One long function, because its classes and steps are closures over `ray`.
    """

    def nap():
        if delays and random.random() < 0.5:
            time.sleep(random.random() * 0.004)

    def find(known, given, number):
        return given.get(number) or known.get(number)

    def perform(calls, floor, known, given, path):
        """Makes the calls; gives what came of those that were waited for."""
        refs, out, given = [], [], dict(given)
        for i, (target, way, at_once, children) in enumerate(calls):
            mine = (*path, i)
            reachable = {
                n: find(known, given, n)
                for n in (*range(floor + 1, ACTORS), FRESH, "registry")
                if find(known, given, n)
            }
            nap()
            args = (mine, children, floor if target == TASK else target, *handed(reachable, way, mine))
            if target == TASK:
                ref = task.remote(*args)
            elif target == FRESH:
                if FRESH not in reachable:
                    given[FRESH] = Fresh.remote()
                ref = find(known, given, FRESH).call.remote(mine)
            elif target in reachable:
                ref = reachable[target].call.remote(*args)
            else:
                out.append((mine, "no handle"))
                continue
            if at_once:
                out.append((mine, ray.get(ref)))
            else:
                refs.append((mine, ref))
        # The first of them is looked at when all are made; the others nobody waits for.
        out.extend((mine, ray.get(ref)) for mine, ref in refs[:1])
        return out

    def handed(handles, way, path):
        if way == "registry" and "registry" in handles:
            handles["registry"].keep.remote(path, handles)
            return way, handles["registry"], path
        if way == "arg":
            return way, *[part for pair in handles.items() for part in pair]
        if way == "nested":
            return way, handles
        if way == "put":
            return way, [ray.put(handles)]
        if way == "dep":
            return way, same.remote(handles)
        return (way,)

    def received(way, rest):
        if way == "registry" and rest:
            return ray.get(rest[0].fetch.remote(rest[1]))
        if way == "named" and named:
            return {n: ray.get_actor(f"actor {n}") for n in range(ACTORS)}
        if way == "arg":
            return dict(zip(rest[::2], rest[1::2], strict=True))
        if way == "put":
            return ray.get(rest[0][0])
        return rest[0] if rest else {}

    @ray.remote
    def same(value):
        nap()
        return value

    @ray.remote
    def task(path, children, floor, way, *rest):
        nap()
        return perform(children, floor, {}, received(way, rest), path)

    @ray.remote
    class Actor:
        def __init__(self, number):
            self.number, self.known, self.seen = number, {}, []

        def call(self, path, children, floor, way, *rest):
            self.seen.append(path)
            nap()
            given = received(way, rest)
            out = perform(children, self.number, self.known, given, path)
            self.known.update(given)
            return len(self.seen), out

        def log(self):
            return self.seen

    @ray.remote
    class Fresh:
        def __init__(self):
            self.seen = []

        def call(self, path):
            self.seen.append(path)
            return list(self.seen)

    @ray.remote
    class Registry:
        def __init__(self):
            self.kept, self.seen = {}, []

        def keep(self, path, handles):
            self.seen.append(path)
            self.kept[path] = handles

        def fetch(self, path):
            self.seen.append(path)
            return self.kept[path]

        def log(self):
            return self.seen

    named, calls = program
    actors = {n: Actor.options(name=f"actor {n}" if named else None).remote(n) for n in range(ACTORS)}
    registry = Registry.remote()
    shown = perform(calls, -1, {}, {**actors, "registry": registry}, ())
    return shown, [ray.get(a.log.remote()) for a in (*actors.values(), registry)]
