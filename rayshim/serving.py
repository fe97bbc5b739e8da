"""rayshim's hooks in the runtime (see reactor.runtime.plugin): making actors, running functions, errors in both directions."""

import os
import sys

from reactor import _core

from rayshim import session

_SKIP = (os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.abspath(_core.__file__)))


def install(settings, role):
    """Sets the core's hooks in this process: role is driver, inline, zygote, actor or task."""
    import rayshim.refs  # noqa: F401  refs are made as ObjectRef from here on

    if settings["alias"]:
        from rayshim import alias

        alias.install()
    for name, hook in (("failure", failure), ("error", error), ("create", create), ("create_failed", create_failed),
                       ("function", load_function), ("loads", loads), ("store_full", store_full), ("deferred", deferred)):
        _core.set_hook(name, hook)
    if role == "inline":
        from rayshim import inline

        _core.set_hook("switched", inline.switched)
        from reactor.runtime import worker

        _core.set_hook("exit_kind", worker.exit_kind)
    if role == "zygote":
        import rayshim.actor  # noqa: F401  imported here once, not in each worker
        import rayshim.exceptions  # noqa: F401
        import rayshim.function  # noqa: F401


def observe(settings):
    """Turns recording and tracing on or off in this process."""
    _core.set_own_directory(_SKIP[0] + os.sep)
    _core.set_recording(settings["recording"])
    _core.set_tracing(settings["trace"])


def begin(settings, record, gpus):
    """In a worker after its birth: the session, the environment, how it is interrupted."""
    import socket

    from reactor.runtime.control import Sender
    from reactor.runtime.descriptors import SEND_FD

    s = session.begin(session.Session(Sender(socket.socket(fileno=SEND_FD)), settings, None, record, gpus or ()))
    environment = {**(settings["runtime_env"].get("env_vars") or {}), **((record or {}).get("env") or {})}
    os.environ.update(environment)
    for path in [settings["runtime_env"].get("working_dir"), *(settings["runtime_env"].get("py_modules") or [])]:
        if isinstance(path, str):
            sys.path.insert(0, path)
    if settings["runtime_env"].get("working_dir"):
        os.chdir(settings["runtime_env"]["working_dir"])
    if s.gpus or "GPU" in settings["resources"]:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(str(gpu) for gpu, _ in s.gpus)
    from rayshim import cancelling

    cancelling.listen()
    observe(settings)


def died(facts):
    """The reason of a death as it is stored."""
    return {**facts, "actor": facts["actor"] and public(facts["actor"])}


# ---- actors


def create(number, args, kwargs):
    """Makes the instance of an actor; gives (list of its methods in ClassInfo's order, whether calls are handed on)."""
    (cls_ref, facts, how), args = args[0], args[1:]
    s = session.current
    info = _core.get_one(_info_ref(facts), None)
    cls = _core.get_one(cls_ref, None)
    s.exports.setdefault(cls, cls_ref)
    if s.inline:
        instance, handed_on = cls(*args, **kwargs), False
    else:
        from rayshim import concurrency

        instance, handed_on = concurrency.make(number, info, how, lambda: cls(*args, **kwargs))
    if s.driver is None and type(instance).__repr__ is not object.__repr__:
        s.control.tell("label", _core.slot(), repr(instance))
    from rayshim import builtin_methods

    return [builtin_methods.bind(instance, name) for name in info.methods], handed_on


def _info_ref(facts):
    return _core.ref_at(facts["info"])


def deferred(actor, index, function, args, kwargs, completion):
    from rayshim import concurrency

    concurrency.submit(actor, index, function, args, kwargs, completion)


def create_failed(number, error_bytes, reason):
    """The reason of death of an actor whose constructor raised (`error_bytes`) or that left by itself; number 0: a task left."""
    s = session.current
    facts = s.record if not s.inline else number and s.inline_actors[number].facts
    return {"pid": os.getpid(), "status": 0, "exit_reason": reason, "killed": None, "creation_error": error_bytes,
            "actor": public(facts) if facts else None}


def public(facts):
    """What of an actor's facts is told in the reason of its death."""
    return {k: v for k, v in facts.items() if k not in ("preload", "info")}


# ---- tasks


def load_function(ref):
    """The callable of an exported function, with what its options ask for around it."""
    function, flags = _core.get_one(ref, None)
    session.current.exports.setdefault((function, tuple(sorted(flags.items()))), ref)
    if not flags:
        return function
    from rayshim.task_options import wrap

    return wrap(function, flags)


# ---- errors


def failure(error, what, is_argument):
    """The stored form of an exception that a call raised; `what` is the callable, None for a constructor."""
    from rayshim import exceptions
    from rayshim.context import RuntimeContext

    if isinstance(error, KeyboardInterrupt) and _core.cancel_wanted():
        return exceptions.TaskCancelledError(RuntimeContext()._task_id()).to_bytes()
    name, actor_repr, actor_id = _name_of(what)
    made = exceptions.make_task_error(
        name, error, os.getpid(), actor_repr, actor_id=actor_id, skip=_SKIP, dependency=is_argument, ip="127.0.0.1"
    )
    return made.to_bytes()


def _name_of(what):
    instance = getattr(what, "__self__", None)
    method = getattr(what, "__name__", "__init__")
    _, number = _core.running()
    if not number:
        return method, None, None
    s = session.current
    facts = s.record if not s.inline else s.inline_actors[number].facts
    from rayshim.actor import actor_id

    who = object.__repr__(instance) if instance is None or type(instance).__repr__ is object.__repr__ else repr(instance)
    return f"{facts['class_name']}.{method}", who, actor_id(number).hex()


def error(state, value, ref):
    """The exception to raise for a result that is not a value: state 17 error, 18 died, 19 cancelled."""
    from rayshim import exceptions

    if state == 17:
        if not isinstance(value, bytes):
            return exceptions.RaySystemError(str(value))
        made = exceptions.RayError.from_bytes(value)
        return made.as_instanceof_cause() if isinstance(made, exceptions.RayTaskError) else made
    if state == 19:
        return exceptions.TaskCancelledError(ref.task_id() if ref is not None else None)
    from rayshim import deaths

    return deaths.exception(value)


def loads(data, buffers):
    """A value out of the store. What its unpickling raises becomes a RaySystemError, as in Ray."""
    from reactor import codec

    try:
        return codec.loads(data, buffers)
    except Exception as error:
        from traceback import format_exc

        from rayshim.exceptions import RaySystemError

        raise RaySystemError(error, format_exc()) from error


def store_full(wanted, used, limit):
    from rayshim.exceptions import ObjectStoreFullError

    return ObjectStoreFullError(
        f"Failed to put an object of {wanted} bytes: the object store holds {used} of its {limit} bytes. "
        "Let go of refs and of arrays over old values, or give init(object_store_memory=) more"
    )
