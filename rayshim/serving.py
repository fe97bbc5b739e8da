"""rayshim's hooks in the runtime (see reactor.runtime.plugin): making actors, running functions, errors in both directions."""

import contextlib
import os
import sys

from reactor import _core, codec
from reactor.runtime.seeding import reseed

from rayshim import session
from rayshim.sites import OURS, calling

_recorded = None  # in the zygote: path of the record


def install(settings, role):
    """Sets the core's hooks in this process: role is driver, inline, zygote, actor or task."""
    import rayshim.refs  # noqa: F401  refs are made as ObjectRef from here on
    from rayshim import generators, ordering, stuck

    if settings["alias"]:
        from rayshim import alias

        alias.install()
    elif role == "zygote":
        from rayshim import alias

        alias.install_when_driver_does()
    for name, hook in (("failure", failure), ("error", error), ("create", create), ("create_failed", create_failed),
                       ("function", load_function), ("loads", loads), ("store_full", store_full), ("deferred", deferred),
                       ("generator", generators.ObjectRefGenerator), ("gather", generators.gather), ("stale", stale),
                       ("unpicklable", unpicklable), ("cancelled", cancelled), ("relaxed", ordering.relaxed), ("lost", lost), ("stuck", stuck.stuck)):
        _core.set_hook(name, hook)
    if role == "inline":
        from rayshim import inline

        _core.set_hook("anew", inline.anew)
        from reactor.runtime import worker

        _core.set_hook("exit_kind", worker.exit_kind)
    if role == "zygote":
        global _recorded
        _recorded = settings["kept"][0] if settings["kept"] and not settings["kept"][1] else None
        import socket  # noqa: F401  imported here once, not in each worker

        import rayshim.actor  # noqa: F401
        import rayshim.builtin_methods  # noqa: F401
        import rayshim.cancelling  # noqa: F401
        import rayshim.exceptions  # noqa: F401
        import rayshim.function  # noqa: F401

        if settings["kept"]:
            from rayshim import recorded_threads

            recorded_threads.know_locks()


def observe(settings):
    """Turns recording and tracing on or off in this process."""
    _core.set_own_directory(OURS[0])
    _core.set_recording(settings["recording"])
    _core.set_tracing(settings["trace"])
    if settings["seed"] is not None:
        _core.set_hook("task_random", task_random)
    if settings["kept"]:
        from rayshim import rerun

        rerun.begin(settings)


def begin(settings, record, own_gpus, setting):
    """In a worker after its birth: the session, the environment, how it is interrupted."""
    import socket

    from reactor.runtime.control import Sender
    from reactor.runtime.descriptors import SEND_FD

    from rayshim import gpus, num_threads, runtime_env

    own = (record or {}).get("env") if record else setting and setting[0]
    env = settings["runtime_env"] if own is None else runtime_env.thawed(own)
    s = session.begin(session.Session(Sender(socket.socket(fileno=SEND_FD)), settings, None, record, own_gpus or (), env))
    _core.set_titles(*((f"ray::{record['class_name']}", f"ray::{record['class_name']}.") if record else ("ray::packed" if s.hosted is not None else "ray::IDLE", "ray::")))
    if s.hosted is not None:
        from rayshim import packing

        packing.host()
    from rayshim import cancelling

    cancelling.listen()
    _take_place_among_processes()
    observe(settings)
    if settings["logging"] is not None:
        settings["logging"].apply()
    try:
        num_threads.begin_worker(settings, _cpus(record), lambda: runtime_env.enter(env))
    except Exception as error:
        s.broken = error
    os.environ["PYTHONBREAKPOINT"] = "rayshim.util.rpdb.set_trace"  # breakpoint() waits for a connection; a worker has no terminal
    s.gpus_told = gpus.visible()
    if s.gpus or "GPU" in settings["resources"]:
        gpus.show(gpus.names(s.gpus, s.gpus_told))


def _take_place_among_processes():
    """As in Ray: where memory runs out, the system kills workers before anything else; where there are fewer cores than running processes, the
    driver goes on and the workers wait. A learner in the driver beside four actors that compute on 2 cores is 2.5 times slower without."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/oom_score_adj", "w") as score:
        score.write(str(min(max(int(os.environ.get("RAY_worker_oom_score_adjustment") or 1000), 0), 1000)))
    with contextlib.suppress(OSError, ValueError):
        os.nice(int(os.environ.get("RAY_worker_niceness") or 15))


def _cpus(facts):
    """The threads of the actor with these facts; of a worker of many: 1."""
    from rayshim import num_threads, placement

    return num_threads.of({name: amount / _core.UNIT for name, amount in placement.plain(facts["demand"]).items()}) if facts else 1


def task_random(tag):
    """With a seed: a task draws what its place in the serial run says, in whatever process it runs. None: it has ended (inline)."""
    s = session.current
    if s.inline:
        from rayshim import inline

        if tag is None:
            return inline.end_task()
        inline.begin_task(tag)
    reseed(s.settings["seed"], f"task {tag}")


def begin_inline(s):
    """What `begin` is for workers, for the one process of inline placement."""
    from rayshim import inline, runtime_env

    inline.begin(s)
    runtime_env.add_paths(s.runtime_env)
    try:
        runtime_env.run_hook(s.runtime_env)
    except Exception as error:
        s.broken = error


def died(facts):
    """The reason of a death as it is stored."""
    if _recorded:
        from rayshim import rerun

        rerun.died(_recorded, facts)
    return {**facts, "actor": facts["actor"] and public(facts["actor"])}


# ---- actors


def create(number, args, kwargs):
    """Makes the instance of an actor; gives (list of its methods in ClassInfo's order, whether calls are handed on, their lanes, where
    its digest begins)."""
    (cls_ref, facts, how), args = args[0], args[1:]
    s = session.current
    if s.states is not None:
        s.states.seed(number, s.settings["seed"], f"actor {facts['ordinal']}")
    if s.inline:
        from rayshim import num_threads

        num_threads.begin_inline(s.settings, _cpus(facts))
    if s.broken is not None:
        raise s.broken
    if s.settings["kept"]:
        from rayshim import rerun

        facts = {**facts, "restarts": (s.record or facts).get("restarts", 0)}
        rerun.to_be(facts)
    info = _core.get_one(_info_ref(facts), None)
    side = None
    if s.settings["kept"] and not s.inline:
        from rayshim.concurrency import has_threads

        side = rerun.Side(facts, info.is_async, has_threads(how, info.is_async))  # before what it imports makes locks
    cls = _imported(cls_ref, f"actor with name {facts['class_name']}")
    s.imported(cls, cls_ref)
    make = lambda: cls(*args, **kwargs)  # noqa: E731
    handed_on, lanes, plain, around = False, [], lambda method: method, lambda method: method
    if s.inline and facts.get("env"):
        from rayshim.runtime_env import Surroundings, thawed

        around = Surroundings(thawed(facts["env"])).around
        make = around(make)
    if s.inline and s.inline_actors[number].gpus:
        around = _seeing_gpus(s, s.inline_actors[number].gpus, around)
        make = around(make)
    if s.inline and info.is_async:
        from rayshim.inline_loop import ActorLoop

        loop = ActorLoop()
        instance, plain = loop.make(make), loop.plain
    elif s.inline:
        instance = make()
    else:
        from rayshim import concurrency

        instance, handed_on, lanes = concurrency.make(info, how, lambda: cls(*args, **kwargs), side)
    if s.driver is None and type(instance).__repr__ is not object.__repr__:
        if s.hosted is not None:
            s.hosted[number].label = repr(instance)
        else:
            from reactor.runtime import worker

            worker.rename(repr(instance))
    from rayshim import builtin_methods

    made = {name: builtin_methods.bind(instance, name, method[5], lambda m: around(plain(m))) for name, method in info.methods.items()}
    script = rerun.came_to_be(facts, handed_on) if s.settings["kept"] else None  # tags of its calls in their recorded order
    return list(made.values()), handed_on, lanes, _name_in_every_run(facts), script


def _seeing_gpus(s, own, around):
    """Inline placement: `around` with the actor's GPUs shown to the method."""
    from rayshim import gpus
    from rayshim.task_options import within

    return lambda method: within(around(method), lambda: gpus.shown(gpus.names(own, s.gpus_told)))


def _name_in_every_run(facts):
    """A number that names the actor among those of a run, whatever the timing and the placement: where its digest begins."""
    import zlib

    ordinal = facts["ordinal"]
    return zlib.crc32(f"{facts['class_name']} {'of a task' if ordinal.startswith('task worker') else ordinal}".encode())


def _info_ref(facts):
    return _core.ref_at(facts["info"])


def deferred(actor, index, function, args, kwargs, completion):
    from rayshim import concurrency

    concurrency.submit(actor, index, function, args, kwargs, completion)


def cancelled(uid, children):
    from rayshim import concurrency

    concurrency.cancel(uid, children)


def create_failed(number, error_bytes, reason):
    """The reason of death of an actor whose constructor raised (`error_bytes`) or that left by itself; number 0: a task left."""
    s = session.current
    facts = s.record if not s.inline else number and s.inline_actors[number].facts
    if error_bytes:
        from rayshim import exceptions

        cause = exceptions.RayError.from_bytes(error_bytes)
        print(f"Exception raised in creation task: {exceptions.ActorDiedError(cause)}", file=sys.stderr, flush=True)
    return {"pid": os.getpid(), "status": 0, "exit_reason": reason, "killed": None, "creation_error": error_bytes,
            "actor": public(facts) if facts else None}


def public(facts):
    """What of an actor's facts is told in the reason of its death."""
    return {k: v for k, v in facts.items() if k not in ("preload", "info")}


# ---- tasks


def load_function(ref):
    """The callable of an exported function, with what its options ask for around it; what a call asks for around its method
    is exported with None for the function."""
    if session.current.broken is not None:
        raise session.current.broken
    function, flags = _imported(ref, "remote function")
    if function is None:
        from rayshim.builtin_methods import Configured

        return lambda method: Configured(method, flags)
    session.current.imported(function, ref, tuple(sorted(flags.items())))
    if not flags:
        return function
    from rayshim.task_options import wrap

    return wrap(function, flags)


# ---- errors


def _imported(ref, what):
    """The exported class or function. RuntimeError, as in Ray, with the traceback if this process cannot import what it needs."""
    from rayshim.exceptions import RaySystemError

    try:
        return _core.get_one(ref, None)
    except RaySystemError as error:
        raise RuntimeError(
            f"The {what} failed to import on the worker. This may be because needed library dependencies are not installed in the "
            f"worker environment:\n\n{error.traceback_str}"
        ) from None


def stale(what):
    """The exception for a ref or handle of an earlier session."""
    from rayshim import exceptions

    if what == "actor handle":
        return exceptions.ActorHandleNotFoundError(
            "ActorHandle objects are not valid across Ray sessions: this one belongs to an earlier init() that has been shut down. "
            f"Make the actor again after the new init() (used at {calling()})"
        )
    return ValueError(
        f"An application is trying to access a Ray object whose owner is unknown: this {what} belongs to an earlier init() that has been "
        "shut down, or was made from an id alone. Please make sure that all Ray objects you are trying to access are part of the current "
        f"Ray session (used at {calling()})"
    )


def unpicklable(error, check, name):
    """The TypeError for an argument of the remote function, class or method `name` that could not be pickled with `error`."""
    from rayshim.util.check_serialize import told

    whom = getattr(getattr(check, "__self__", None), "of", None) or name
    return told(error, f"the argument {error.value!r} for a task or actor {whom} (at {calling()})") if hasattr(error, "value") else error


def failure(error, what, is_argument):
    """The stored form of an exception that a call raised; `what` is the callable, None for a constructor."""
    from rayshim import exceptions
    from rayshim.context import RuntimeContext

    if isinstance(error, KeyboardInterrupt):  # its own, or that of a cancelled call: the same to Ray
        return exceptions.TaskCancelledError(RuntimeContext()._task_id()).to_bytes()
    name, actor_repr, actor_id = _name_of(what)
    made = exceptions.make_task_error(
        name, error, os.getpid(), actor_repr, actor_id=actor_id, skip=OURS, dependency=is_argument, ip="127.0.0.1"
    )
    return made.to_bytes()


def _name_of(what):
    instance = getattr(what, "__self__", None)
    method = getattr(what, "__name__", "__init__")
    s = session.current
    number = s.record["number"] if s.record else _core.running()[1]
    if not number:
        return method, None, None
    facts = s.record if not s.inline else s.inline_actors[number].facts
    from rayshim.actor import actor_id

    who = object.__repr__(instance) if instance is None or type(instance).__repr__ is object.__repr__ else repr(instance)
    return f"{facts['class_name']}.{method}", who, actor_id(number).hex()


def error(state, value, ref):
    """The exception to raise for a result that is not a value; `state`: _core.State."""
    from rayshim import exceptions

    made = _error(state, value, ref)
    return made.as_instanceof_cause() if isinstance(made, exceptions.RayTaskError) else made


def lost(state, value):
    """In any process: nobody has seen this failure, and nobody can any more."""
    from rayshim import unhandled

    unhandled.lost(_error(state, value, None))


def lost_text(state, value):
    """In the zygote: what the driver's user is told of such a failure, None: nothing."""
    from rayshim import unhandled

    return unhandled.told(_error(state, value, None))


def _error(state, value, ref):
    from rayshim import exceptions

    if state == _core.State.ERROR:
        return exceptions.RayError.from_bytes(value) if isinstance(value, bytes) else exceptions.RaySystemError(str(value))
    if state == _core.State.CANCELLED:
        return exceptions.TaskCancelledError(ref.task_id() if ref is not None else None)
    from rayshim import deaths

    return deaths.exception(value)


def loads(data, buffers):
    """A value out of the store. What its unpickling raises becomes a RaySystemError, as in Ray."""
    try:
        return codec.loads(data, buffers)
    except Exception as error:
        from rayshim.exceptions import RaySystemError
        from rayshim.remote_traceback import format_remote

        failed = RaySystemError(error, format_remote(error, OURS))
    raise failed


def store_full(wanted, used, limit, disk):
    from rayshim.exceptions import ObjectStoreFullError, OutOfDiskError

    found = f"Failed to put an object of {wanted} bytes: the object store holds {used} of its {limit} bytes"
    what_to_do = "Let go of refs and of arrays over old values, or give init(object_store_memory=) more"
    if disk:
        return OutOfDiskError(f"{found}, and the disk has no room for more. {what_to_do}, or init(object_spilling_directory=) another disk")
    return ObjectStoreFullError(f"{found}. {what_to_do}")
