"""Runs one random program and tells the trace what came of each step: `python -m benchmarks.faults.driver SEED PLACEMENT STEPS_FD`."""

import contextlib
import gc
import os
import sys
import time

from reactor import _core

import rayshim as ray
from benchmarks.faults import program as p
from benchmarks.faults import trace, victims
from benchmarks.faults.cast import TASKS, Caller, Given, identity, pattern, told
from benchmarks.faults.processes import children
from rayshim.timing import file

TESTING = hasattr(
    _core, "stats"
)  # the core is built for tests, as in an editable installation: it counts what is in the store
SETTLE_SECONDS = 4.0  # for the last processes to end and the store to become empty
# What a session may keep of a program that has ended (what its workers exported, facts of dead actors): bytes, objects.
ROOM = {"store_used": 32 << 10, "slab_slots_used": 64}


class Gone(Exception):
    """The runtime's processes were killed: the program ends here."""


class Driver:
    def __init__(self, program, steps_fd):
        self.program, self.steps_fd = program, steps_fd
        self.caller = Caller()
        self.actors = {}  # name -> Friend
        self.slots = {}  # slot -> (name of its call or put, ref, refs or generator)
        self.kept = []  # (name, size, view)
        self.read_so_far = {}  # name of a generator's call -> how many of its values were read
        self.step = -2  # -1: init
        self.inside = {}
        for strike in program.strikes:
            if strike.inside:
                self.inside.setdefault(strike.at, []).append(strike)

    def run(self, steps):
        for step in steps:
            self.begin()
            if isinstance(step, p.Loop):
                for _ in range(step.times):
                    self.run(step.body)
            else:
                self.make(step)
            for at in [at for at in self.inside if at <= self.step]:
                for strike in self.inside.pop(at):
                    victims.strike(strike, os.getpid())

    def begin(self):
        self.step += 1
        os.write(self.steps_fd, (self.step + 1).to_bytes(4, "little"))

    def make(self, step):
        try:
            getattr(self, type(step).__name__.lower())(step)
        except RuntimeError as error:
            if "the processes of the session have ended" not in str(error):
                raise
            trace.write("gone", told(error))
            raise Gone from error

    # ---- steps

    def create(self, step):
        a = step.actor
        arguments, facts = [], []
        if a.array:
            name = self.caller.name()
            trace.write("put", name, a.array)
            arguments.append(ray.put(pattern(name, a.array)))
            facts.append(["ref", name, 0])
        if a.friend in self.actors:
            arguments.append(self.actors[a.friend])
        self.actors[a.name] = self.caller.create(
            a.name,
            a.kind,
            a.max_restarts,
            a.max_task_retries,
            arguments,
            a.registered,
            facts,
            a.own_interpreter,
        )

    def call(self, step):
        friend = self.actors.get(step.actor)
        if friend is None:
            return
        registered = self.program.actors[step.actor].registered
        if registered and step.slot % 3 == 0:
            try:
                friend = friend._replace(handle=ray.get_actor(friend.name))
            except ValueError as error:
                trace.write("not named", friend.name, told(error))
        values, facts = self.arguments(step.arguments)
        name, refs = self.caller.method(friend, step.method, values, step.retries, facts)
        self.keep_result(step.slot, name, step.method, refs)

    def task(self, step):
        values, facts = self.arguments(step.arguments)
        name, refs = self.caller.task(step.function, values, step.retries, facts, step.own_interpreter)
        self.keep_result(step.slot, name, step.function, refs)

    def keep_result(self, slot, name, what, refs):
        if what == "two":
            self.slots[slot] = name, "refs", refs
        else:
            self.slots[slot] = name, {"stream": "stream", "dynamic": "dynamic"}.get(what, "ref"), refs

    def arguments(self, arguments):
        """(values, what the trace is told of them); what is not there any more is left out."""
        values, facts = [], []
        for argument in arguments:
            if isinstance(argument, p.Number):
                values.append(argument.value)
                facts.append(["number", argument.value])
            elif isinstance(argument, p.Result) and argument.slot in self.slots:
                name, index, ref = self.refs(argument.slot)[-1]
                values.append(ref)
                facts.append(["ref", name, index])
            elif isinstance(argument, p.Inside):
                refs = [found for slot in argument.slots for found in self.refs(slot)]
                values.append([ref for *_, ref in refs])
                facts.append(["refs", [[name, index] for name, index, _ in refs]])
            elif isinstance(argument, p.Handle) and argument.actor in self.actors:
                values.append(self.actors[argument.actor])
                facts.append(["actor", argument.actor])
        return values, facts

    def refs(self, slot):
        """[(name, index, ref)] of a slot that is not a generator's; empty if it was given up."""
        name, kind, value = self.slots.get(slot, ("", "refs", ()))
        return [(name, i, ref) for i, ref in enumerate(value)] if kind == "refs" else [(name, 0, value)]

    def put(self, step):
        name = self.caller.name()
        trace.write("put", name, step.size)
        self.slots[step.slot] = name, "ref", ray.put(pattern(name, step.size))

    def get(self, step):
        self.get_refs([found for slot in step.slots for found in self.refs(slot)], step.timeout)

    def get_refs(self, found, timeout=None):
        if not found:
            return None
        start = time.monotonic()
        value, names = None, [[name, index] for name, index, _ in found]
        try:
            values = ray.get([ref for *_, ref in found], timeout=timeout)
        except ray.exceptions.RayError as error:
            trace.write("got", names, start, timeout, told(error))
        else:
            trace.write("got", names, start, timeout, ["values", [identity(value) for value in values]])
            value = values[-1]
            for given in values:
                if isinstance(given, Given):
                    for inner, ref in zip(given.names, given.refs, strict=True):
                        self.get_refs([(inner, 0, ref)], timeout)
        return value

    def wait(self, step):
        found = [found for slot in step.slots for found in self.refs(slot)]
        if not found:
            return
        count = min(step.count, len(found))
        start = time.monotonic()
        ready, rest = ray.wait([ref for *_, ref in found], num_returns=count, timeout=step.timeout)
        whole = {*ready, *rest} == {ref for *_, ref in found} and len(ready) + len(rest) == len(found)
        trace.write(
            "waited", [[name, index] for name, index, _ in found], start, step.timeout, count, len(ready), whole
        )

    def read(self, step):
        name, kind, generator = self.slots.get(step.slot, (None, None, None))
        if kind == "dynamic":
            self.read_dynamic(name, generator)
        elif kind == "stream":
            self.read_stream(name, generator, step.count)

    def read_stream(self, name, generator, count):
        while count is None or count > 0:
            index = self.read_so_far.get(name, 0)
            start = time.monotonic()
            try:
                ref = next(generator)
            except StopIteration:
                trace.write("ended", name, index, start)
                return
            except ray.exceptions.RayError as error:
                trace.write("got", [[name, index]], start, None, told(error))
                return
            self.read_so_far[name] = index + 1
            self.get_refs([(name, index, ref)])
            count = None if count is None else count - 1

    def read_dynamic(self, name, ref):
        start = time.monotonic()
        try:
            refs = list(ray.get(ref))
        except ray.exceptions.RayError as error:
            trace.write("got", [[name, 0]], start, None, told(error))
            return
        trace.write("ended", name, len(refs), start)
        self.get_refs([(name, index, ref) for index, ref in enumerate(refs)])

    def keep(self, step):
        for name, index, ref in self.refs(step.slot):
            view = self.get_refs([(name, index, ref)])
            if view is not None:
                self.kept.append((name, view))

    def cancel(self, step):
        name, kind, refs = self.slots.get(step.slot, (None, None, None))
        if name is None:
            return
        trace.write("cancel", name, step.force)
        with contextlib.suppress(ValueError):  # by force: not for actors
            ray.cancel(refs[0] if kind == "refs" else refs, force=step.force)

    def kill(self, step):
        friend = self.actors.get(step.actor)
        if friend is not None:
            trace.write("ray.kill", friend.name, step.no_restart)
            ray.kill(friend.handle, no_restart=step.no_restart)

    def forget(self, step):
        for slot in step.slots:
            self.slots.pop(slot, None)

    def drop(self, step):
        if step.actor in self.actors:
            trace.write("drop", step.actor)
            del self.actors[step.actor]

    def pause(self, step):
        time.sleep(step.seconds)

    # ---- the end

    def settle(self):
        """Everything that was asked for comes or fails."""
        for slot, (_, kind, _) in list(self.slots.items()):
            self.begin()
            if kind in ("stream", "dynamic"):
                self.make(p.Read(slot))
            else:
                self.make(p.Get((slot,)))
        for name, view in self.kept:
            trace.write("still", name, identity(view))

    def let_go(self, base):
        """The store is as empty as before the program, once it holds nothing."""
        for held in (self.slots, self.kept, self.actors):
            held.clear()
        gc.collect()
        deadline = time.monotonic() + SETTLE_SECONDS
        hosts = (
            os.cpu_count() if self.program.placement == "packed" else 0
        )  # as many as `init` makes unless told otherwise
        while (left := leftover(base, hosts)) and time.monotonic() < deadline:
            time.sleep(0.01)
        trace.write(
            "let go", left and {**left, "large values": _core.runs() if TESTING else "shown by a build for tests"}
        )


def leftover(base, hosts):
    """What the run has more than at its start, or None: bytes of the store, processes that are neither the driver, the zygote, of the pool
    nor packed workers, of which `hosts` may stay for actors to come."""
    now = use()
    more = {key: now[key] - base[key] for key, room in ROOM.items() if key in now and now[key] > base[key] + room}
    others = now["processes"] - hosts
    return {**more, **({"processes": others} if others > 0 else {})} or None


def use():
    """What the store has in use, and how many processes there are that are neither the driver, the zygote, nor idle workers of the pool."""
    if not TESTING:
        workers = [victims.title(pid) for zygote in children(os.getpid()) for pid in children(zygote)]
        return {"store_used": _core.store_used(), "processes": sum(title != "ray::IDLE" for title in workers)}
    now = _core.stats()
    kept = now["notices"] + now["waited_pairs"]  # of order, as long as the session
    now["slab_slots_used"] -= kept // 254  # in a slot, see kept.h
    return {**now, "processes": now["processes"] - 2 - now["pool_idle"]}


def warm_up():
    """Makes each kind of call once, so that what the session keeps of each (functions, classes) is there; returns the store's use."""
    caller = Caller("warm-up ")
    refs = [
        caller.task(function, (0,) if function in ("slow", "big", "stream", "dynamic") else ())[1] for function in TASKS
    ]
    actors = [caller.create(f"warm-up {kind}", kind, 0, 0) for kind in ("plain", "threaded", "async")]
    refs += [caller.method(friend, "add")[1] for friend in actors]
    for ref in refs:
        for one in ref if isinstance(ref, list) else [ref]:
            if isinstance(one, ray.ObjectRef):
                with contextlib.suppress(ray.exceptions.RayError):
                    ray.get(one)
    del actors, refs, ref, one
    return use()


def _order(ordering):
    """The arguments of `init` for it. "timed" is a measured run, "guessed" follows a timing file that has no durations."""
    if ordering not in ("timed", "guessed"):
        return {"ordering": ordering}
    if ordering == "guessed":
        file.write("../run.timing", file.made({0: "none"}, {0: [[1]]}))
    return {"ordering": "timed", "timing": "../run.timing"}


def main():
    seed, placement, steps_fd, *stepping = sys.argv[1:]
    os.set_inheritable(int(steps_fd), False)
    program = p.program(int(seed), placement, bool(stepping))
    driver = Driver(program, int(steps_fd))
    trace.write("begin")
    try:
        driver.begin()
        ray.init(
            address="local",  # whatever other session this machine has
            placement=placement,
            num_cpus=program.num_cpus,
            object_store_memory=program.store,
            logging_level="ERROR",
            **_order(program.ordering),
        )
        base = warm_up()
        driver.run(program.steps)
        driver.settle()
        driver.let_go(base)
    except Gone:
        pass
    trace.write("end")
    start = time.monotonic()
    ray.shutdown()
    trace.write("shut down", start)


if __name__ == "__main__":
    main()
