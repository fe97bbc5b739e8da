"""A session whose processes are struck at their n-th system call, case after case:
`python -m benchmarks.faults.syscall_session CONFIG REPORT_FD`. CONFIG: JSON with the fields of `Config`.

Each case is a scenario with one fault. Afterwards every call of the scenario must have ended, and a new task and a new actor must work. The report has a
line of JSON for each event: ["begin", n], ["end", n, struck, calls, [sentences about what is wrong]], ["counts", {function: calls}], ["closed", [sentences]].
"""

import contextlib
import gc
import json
import os
import signal
import sys
import time
from dataclasses import dataclass

import numpy as np

import rayshim as ray
from benchmarks.faults import shim, victims
from benchmarks.faults.syscall_cast import (
    CALLS,
    Async,
    Helper,
    Plain,
    array,
    echo,
    large,
    parts,
    run,
    run_stored,
    stream,
)

UNSTRUCK = 3  # cases in a row whose victim makes fewer calls: the last one is reached
KEPT_BYTES = 250_000  # that the store may have more after the cases: less than one array


@dataclass
class Config:
    scenario: str
    action: int
    first: int
    step: int
    cases: int
    names: tuple
    error: str | None
    limit: float  # seconds that any call may take
    verbose: bool

    def fault(self, n):
        return shim.Fault(self.action, n, tuple(self.names), self.error)


class Case:
    """The calls of a scenario with what each must give. `certain`: a call that is killed once must give its value all the same."""

    def __init__(self, limit, certain):
        self.limit, self.certain = limit, certain
        self.calls = []  # (name, ref or generator, expected value; for a generator a list)
        self.wrong, self.failed = [], []

    def call(self, name, make, expected):
        try:
            self.calls.append((name, make(), expected))
        except (ray.exceptions.RayError, RuntimeError, OSError, MemoryError, ValueError) as error:
            self.failed.append((name, error))

    def settle(self):
        """Gets all results."""
        for name, ref, expected in self.calls:
            try:
                if isinstance(ref, ray.ObjectRef):
                    found = ray.get(ref, timeout=self.limit)
                    if name == "stored":
                        found = ray.get(found, timeout=self.limit)
                else:
                    found = [ray.get(one, timeout=self.limit) for one in self.items(ref)]
                if not same(found, expected):
                    self.wrong.append(f"{name} gave {shown(found)}")
            except ray.exceptions.GetTimeoutError:
                self.wrong.append(f"{name} did not end within {self.limit:.0f} s")
            except (ray.exceptions.RayError, RuntimeError, OSError, MemoryError) as error:
                self.failed.append((name, error))
        self.calls.clear()

    def items(self, generator):
        deadline = time.monotonic() + self.limit
        while True:
            try:
                ref = generator._next_sync(max(deadline - time.monotonic(), 0.0))
            except StopIteration:
                return
            if ref.is_nil():
                raise ray.exceptions.GetTimeoutError
            yield ref


def shown(value):
    return str(value)[:100]


def same(found, expected):
    if isinstance(expected, np.ndarray):
        return isinstance(found, np.ndarray) and np.array_equal(found, expected)
    if isinstance(expected, (list, tuple)):
        return isinstance(found, (list, tuple)) and len(found) == len(expected) and all(map(same, found, expected))
    return type(found) is type(expected) and found == expected


def actor_calls(case, cls, **options):
    """All that an actor can do. The actor ends with its last ref."""
    given = ray.put(array(1))
    held = []
    case.call(
        "create", lambda: held.append(ray.remote(cls).options(num_cpus=0, **options).remote(given)) or given, array(1)
    )
    if not held:
        return
    (actor,) = held
    for i in range(3):
        case.call("echo", lambda i=i: actor.echo.remote(i), i)
    case.call("stream", lambda: actor.stream.remote(4), list(range(4)))
    case.call("large argument", lambda: actor.echo.remote(array(2)), array(2))
    case.call("large", lambda: actor.large.remote(3), array(3))
    case.call("parts", lambda: actor.parts.remote(3), [array(key) for key in range(3)])
    case.call("stored", actor.stored.remote, [array(8), 9])
    if cls is Async:
        case.call("awaited", actor.nested.remote, 4)
    for function, expected in CALLS.items():
        case.call(function.__name__, lambda function=function: actor.run.remote(function.__name__), expected)
    late = case.calls[-1][1] if case.calls else given
    case.call("dependent", lambda: echo.remote(late), case.calls[-1][2] if case.calls else None)


def task_calls(case, **options):
    def of(function):
        return function.options(**options) if options else function

    case.call("task echo", lambda: of(echo).remote(1), 1)
    case.call("task large", lambda: of(large).remote(2), array(2))
    case.call("task argument", lambda: of(echo).remote(array(3)), array(3))
    case.call("task stream", lambda: of(stream).remote(4), list(range(4)))
    case.call("task parts", lambda: of(parts).remote(3), [array(key) for key in range(3)])
    case.call("stored", of(run_stored).remote, [array(8), 9])
    for function, expected in CALLS.items():
        case.call(f"task {function.__name__}", lambda function=function: of(run).remote(function.__name__), expected)


OWN = {"runtime_env": {"env_vars": {"PYTHONHASHSEED": "7"}}}  # Python reads it only at its start
RESTARTS = {"max_restarts": 2, "max_task_retries": 5}
BORN = shim.BY_BIRTH


@dataclass
class Scenario:
    by: int
    calls: object  # called with the case
    placement: str = "isolated"
    certain: bool = False


SCENARIOS = {
    "actor": Scenario(BORN, lambda case: actor_calls(case, Plain)),
    "restarting": Scenario(BORN, lambda case: actor_calls(case, Plain, **RESTARTS), certain=True),
    "async": Scenario(BORN, lambda case: actor_calls(case, Async, **RESTARTS)),
    "threaded": Scenario(BORN, lambda case: actor_calls(case, Plain, max_concurrency=3, **RESTARTS)),
    "own interpreter": Scenario(BORN, lambda case: actor_calls(case, Plain, **OWN, **RESTARTS), certain=True),
    "task": Scenario(BORN, task_calls, certain=True),
    "task, own interpreter": Scenario(BORN, lambda case: task_calls(case, **OWN), certain=True),
    "packed": Scenario(BORN, lambda case: actor_calls(case, Plain), "packed"),
    "zygote": Scenario(shim.ZYGOTE, lambda case: (task_calls(case), actor_calls(case, Plain, **RESTARTS))),
    "start": Scenario(shim.ZYGOTE, task_calls),
    "driver": Scenario(shim.BY_PID, lambda case: (task_calls(case), actor_calls(case, Plain))),
    "driver's start": Scenario(shim.BY_PID, task_calls),
}


class Session:
    def __init__(self, config, report_fd):
        self.config, self.report_fd = config, report_fd
        self.scenario = SCENARIOS[config.scenario]
        self.shim = shim.Shim(os.environ[shim.PATH], config.verbose)
        self.base = self.known = None

    def tell(self, *event):
        os.write(self.report_fd, json.dumps(event).encode() + b"\n")

    def init(self):
        ray.init(
            address="local", placement=self.scenario.placement, num_cpus=2, logging_level="ERROR", log_to_driver=False
        )

    def begin(self):
        self.known = Helper.options(name="known").remote()
        ray.get(self.known.echo.remote(1), timeout=self.config.limit)

    def warm_up(self):
        """Makes the calls once, so that what the session keeps of functions and classes is there."""
        case = Case(self.config.limit, True)
        self.scenario.calls(case)
        case.settle()
        if case.wrong or case.failed:
            raise SystemExit(f"without a fault: {case.wrong} {case.failed}")
        self.settled()
        self.base = _store_used()

    def run(self):
        starts = self.config.scenario in ("start", "driver's start")
        if not starts:
            self.init()
            self.begin()
            self.warm_up()
        unstruck = done = 0
        n = self.config.first
        while done < self.config.cases and unstruck < UNSTRUCK:
            self.tell("begin", n)
            struck, calls, wrong = (self.start_case if starts else self.case)(n)
            self.tell("end", n, struck and struck[1], calls, wrong)
            unstruck = 0 if struck else unstruck + 1
            n += self.config.step
            done += 1
        self.tell("counts", self.shim.counts)
        self.tell("closed", self.close())

    def case(self, n):
        """(what was struck, calls of the victim, what is wrong)"""
        case = Case(self.config.limit, self.scenario.certain)
        self.end_pool()
        victim = self.shim.next_birth if self.scenario.by == BORN else os.getpid()
        with self.shim.striking(self.config.fault(n), self.scenario.by, victim):
            self.scenario.calls(case)
            case.settle()
            if self.scenario.by == BORN and "task" not in self.config.scenario and self.scenario.placement != "packed":
                self.wait_for_the_end_of(victim, case)
        struck = self.shim.struck
        self.judge(case, struck)
        if ray.is_initialized() and self.gone():
            if struck is None or self.scenario.by == BORN:
                case.wrong.append("the session has ended")
            self.restart(case)
        else:
            self.look(case)
        return struck, sum(self.shim.counts.values()), case.wrong

    def start_case(self, n):
        """A fault from before `init` on. `init` may fail; then the next one must not."""
        case = Case(self.config.limit, False)
        with self.shim.striking(self.config.fault(n), self.scenario.by, os.getpid()):
            try:
                self.init()
                self.begin()
                self.scenario.calls(case)
                case.settle()
            except (ray.exceptions.RayError, RuntimeError, OSError, MemoryError) as error:
                if isinstance(error, ray.exceptions.GetTimeoutError):
                    case.wrong.append(f"no call ended after the start: {error}")
                case.failed.append(("init", error))
        struck = self.shim.struck
        self.judge(case, struck)
        self.restart(case)
        with contextlib.suppress(Exception):
            self.known = None
            ray.shutdown()
        return struck, sum(self.shim.counts.values()), case.wrong

    def judge(self, case, struck):
        for name, error in case.failed:
            text = f"{name} failed: {type(error).__name__}: {shown(str(error).strip().splitlines()[-1:])}"
            # A value that the killed process has put and handed on ends with it, as on Ray, whether its call has ended or not.
            owned = name == "stored" and isinstance(error, ray.exceptions.OwnerDiedError)
            if struck is None or (case.certain and self.config.action != shim.FAIL and not owned):
                case.wrong.append(text)

    def gone(self):
        try:
            ray.get(echo.remote(0), timeout=self.config.limit)
        except RuntimeError as error:
            return "have ended" in str(error)
        except ray.exceptions.RayError:
            return False
        return False

    def restart(self, case):
        """Another session, as after the end of this one."""
        self.known = None
        try:
            ray.shutdown()
            self.init()
            self.begin()
        except Exception as error:
            case.wrong.append(f"a new session: {type(error).__name__}: {shown(error)}")
        self.look(case)

    def remove_groups(self):
        """Removes the placement groups of callers that were killed before they did it: as on Ray, these are there until the driver ends."""
        from rayshim.util.placement_group import PlacementGroup, placement_group_table, remove_placement_group

        for name, facts in placement_group_table().items():
            if facts["state"] != "REMOVED":
                remove_placement_group(PlacementGroup(ray.PlacementGroupID.from_hex(name)))

    def look(self, case):
        """Whether a new task and a new actor work."""
        self.remove_groups()
        limit = self.config.limit
        try:
            if ray.get([echo.remote(21), echo.remote(22)], timeout=limit) != [21, 22]:
                case.wrong.append("a new task gave a wrong value")
        except Exception as error:
            case.wrong.append(f"a new task: {type(error).__name__}: {shown(error)}")
        try:
            helper = Helper.remote()
            if ray.get(helper.echo.remote(23), timeout=limit) != 23:
                case.wrong.append("a new actor gave a wrong value")
            if ray.get(self.known.echo.remote(24), timeout=limit) != 24:
                case.wrong.append("an old actor gave a wrong value")
        except Exception as error:
            case.wrong.append(f"a new actor: {type(error).__name__}: {shown(error)}")

    def end_pool(self):
        """Kills the idle task workers, and the packed workers but that of the old actor: the case needs new ones."""
        deadline = time.monotonic() + self.config.limit
        old = ray.get(self.known.pid.remote(), timeout=self.config.limit)
        while pool := [
            pid
            for pid in victims.children(self.shim.zygote)
            if pid != old and victims.title(pid) in ("ray::IDLE", "ray::packed")
        ]:
            for pid in pool:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            while any(os.path.exists(f"/proc/{pid}") for pid in pool) and time.monotonic() < deadline:
                time.sleep(0.001)

    def wait_for_the_end_of(self, birth, case):
        pid = self.shim.pid_of(birth)
        deadline = time.monotonic() + self.config.limit
        while pid and os.path.exists(f"/proc/{pid}"):
            gc.collect(0)
            if time.monotonic() > deadline:
                case.wrong.append(
                    f"the actor's process {pid} ({victims.title(pid)}) does not end, though nobody holds it"
                )
                return
            time.sleep(0.001)

    def settled(self):
        """Waits until nothing but idle processes is there: sentences about what is left."""
        deadline = time.monotonic() + self.config.limit
        while True:
            gc.collect()
            kinds = [victims.title(pid) for pid in victims.children(self.shim.zygote)]
            left = [kind for kind in kinds if kind not in ("ray::IDLE", "ray::packed", "ray::Helper")] + [
                "ray::Helper"
            ] * (kinds.count("ray::Helper") - 1)
            more = _store_used() - self.base if self.base is not None else 0
            if (not left and more <= KEPT_BYTES) or time.monotonic() > deadline:
                break
            time.sleep(0.01)
        found = [f"left: process {kind}" for kind in left]
        return found + ([f"left: {more} bytes in the store"] if more > KEPT_BYTES else [])

    def close(self):
        left = self.settled() if ray.is_initialized() and self.base is not None else []
        self.known = None
        ray.shutdown()
        return left


def _store_used():
    from reactor import _core

    return _core.store_used()


def main():
    config, report_fd = Config(**json.loads(sys.argv[1])), int(sys.argv[2])
    os.set_inheritable(report_fd, False)
    Session(config, report_fd).run()


if __name__ == "__main__":
    main()
