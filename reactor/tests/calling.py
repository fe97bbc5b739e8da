"""The runtime as its tests use it: a plugin (see reactor.runtime.worker.plugin), and the driver's side of making actors and tasks.

An actor is an instance of a plain class; its public methods can be called.
"""

import mmap
import os
import signal
import struct
import time

import numpy as np
from reactor import _core
from reactor.runtime.worker.plugin import Instance


class Died(Exception):
    """The process that should have given a result ended; args[0] is what the supervisor knew."""


class Cancelled(Exception):
    pass


class Hung(Exception):
    """A result did not come in time."""


# ---- plugin


MORE_RESOURCES = "use a larger machine"


def install(settings, role):
    hooks = {
        "failure": _failure,
        "error": _error,
        "create": _create,
        "create_failed": _create_failed,
        "function": _function,
        "store_full": _store_full,
    }
    for name, hook in hooks.items():
        _core.set_hook(name, hook)


def directories(settings, facts, setting):
    return []


def variables(settings, facts, setting):
    return {}


def begin(settings, facts, gpus, setting, variables):
    pass


def died(facts):
    return {"pid": facts["pid"], "status": facts["status"], "killed": facts["killed"]}


orphaned = died  # of the submitter of a task


def retried(facts, left):
    return f"{len(left)} calls of {facts['pid']} are run again"


def crashed(facts):
    return f"{facts['pid']} has died"


def ended():
    """Nothing is left to remove after a run."""


def _failure(error, what, is_argument):
    return error


def _error(state, value, ref):
    return value if state == 17 else Died(value) if state == 18 else Cancelled()


def _create(number, args, kwargs):
    cls, *args = args
    instance = cls(*args, **kwargs)
    return Instance([getattr(instance, name) for name in _methods(cls)])


def _create_failed(number, error, reason):
    return {"pid": os.getpid(), "status": 0, "killed": None, "error": error}


def _function(ref):
    return _core.get_one(ref, None)


def _store_full(wanted, used, limit):
    return MemoryError(f"{wanted} bytes wanted, {used} of {limit} used")


def _methods(cls):
    return [name for name in sorted(vars(cls)) if not name.startswith("_")]


# ---- driver


class Actor:
    """Handle of an actor; can be passed to others."""

    def __init__(self, link, cls, created=None, retries=0):
        self.link, self.cls, self.created = link, cls, created
        for index, name in enumerate(_methods(cls)):
            setattr(self, name, _core.Method(link, index, name, 1, 0, -1, None, 0, 1, retries).remote)

    def __reduce__(self):
        return _import_actor, (_core.export_ref(self.link), self.cls)


def _import_actor(index, cls):
    return Actor(_core.import_ref(index), cls)


class Run:
    """A running runtime. `actor(cls, *args)` and `task(function)` make what can be called; `get` waits, and never forever."""

    def __init__(self, cpus=2, store=512 << 20, preload=()):
        from reactor.runtime.driver.driver import Driver

        others = _heap_descriptors()
        self.driver = Driver(
            cpus=cpus, resources={}, store_limit=store, plugin="reactor.tests.calling", settings={}, preload=preload
        )
        self.driver.start()
        install({}, "driver")
        self.info = _core.put(None)
        self.created = 0
        self._memory = mmap.mmap(
            (_heap_descriptors() - others).pop(), _core.HEADER_BYTES + (1 << 24), prot=mmap.PROT_READ
        )

    def actor(self, cls, *args, cpus=0, restarts=0, retries=0):
        link = _core.actor(restarts != 0)
        self.created += 1
        facts = {
            "class_name": cls.__name__,
            "name": "",
            "namespace": "",
            "demand": {"CPU": round(cpus * 10000)} if cpus else {},
            "ordinal": str(self.created),
            "number": link.actor,
            "detached": False,
            "creator": os.getpid(),
            "info": self.info.offset,
            "preload": (),
            "max_restarts": restarts,
        }
        _core.hold(self.info.offset)
        self.driver.control.tell("actor", link.offset, facts)
        return Actor(link, cls, link.create((cls, *args), {}), retries)

    def task(self, function, demand=_core.ONE_CPU, retries=0):
        return _core.Function(_core.put(function), function.__name__, 1, 0, -1, None, demand, retries).remote

    def get(self, ref, seconds=20):
        value = _core.get_one(ref, seconds)
        if value is _core.TIMED_OUT:
            raise Hung(f"no result within {seconds} s: state {ref.state}, runner {ref.runner}")
        return value

    def ask(self, *request):
        return self.driver.control.ask(*request, timeout=20)

    def workers(self):
        """[{pid, slot, actor}] of the live workers."""
        return self.ask("state")["workers"]

    def pid(self, actor):
        """Pid of the actor's process; waits for it."""
        return wait_until(lambda: actor.link.proc >= 0 and _core.proc_info(actor.link.proc)["pid"])

    def kill(self, actor):
        self.ask("kill", actor.link.offset, "test", True)

    def page_states(self):
        """Number of heap pages in each state of alloc.h; 16: claimed by some process and not published."""
        (pages,) = struct.unpack_from("<I", self._memory, 24)
        states = np.frombuffer(self._memory, np.uint32, min(pages, 1 << 20), _core.HEADER_BYTES)
        return {int(s): int(n) for s, n in zip(*np.unique(np.minimum(states, 16), return_counts=True)) if s > 1}

    def levels(self):
        """What must come back to where it was when nothing is left of some work."""
        stats = _core.stats()
        free = {name: amount.free for name, amount in _core.resources().items()}
        return {
            "slots": stats["slab_slots_used"],
            "store": stats["store_used"],
            "claimed": self.page_states().get(16, 0),
            "runs": self.page_states().get(2, 0),
            "free": free,
            "workers": len(self.workers()),
        }

    def stop(self):
        self.driver.stop()


def _heap_descriptors():
    """Of this run and of earlier ones whose arrays are still in use."""
    found = set()
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith("/memfd:reactor"):
                found.add(fd)
        except OSError:
            pass
    return found


# ---- processes


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][:1] not in "ZX"
    except OSError:
        return False


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def wait_until(condition, seconds=20.0):
    """The first true value of `condition()`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {condition}")
        time.sleep(0.002)
    return value
