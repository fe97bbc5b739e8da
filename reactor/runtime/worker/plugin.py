"""The functions that a higher layer provides for a run, in a module. This module is the simplest one: it passes values unchanged.

    install(settings, role)       set the core's hooks (hooks.h) in this process; role: driver, zygote, actor, packed, task
    prepare()                     in a zygote that is started before its run: what of `install` needs no settings
    variables(settings, facts, setting)  in a worker, after the fork: {name: value, None for none} of the environment that it is to have, beside the zygote's
    directories(settings, facts, setting)  likewise: those with modules that come before all others in the worker
    begin(settings, facts, gpus, setting, variables)  in a worker, after that; variables: what `variables` gave, to be set here; facts: the actor's facts from its creator, None: task
                                  worker; setting: given when the demand of its tasks was registered, None: nothing
    changed(settings, changes)    in the zygote: settings with these values in place of others, for a driver that has joined the session and its workers: those that it
                                  has sent, `job`, its number, and `scope`, that of what it starts. TypeError: there are no such settings
    ended()                       in the zygote: the session's other processes have ended
    lost_text(state, value)       in the zygote: the report of a failed call whose result nobody asked for, None: no report
    MORE_RESOURCES                what a user can do to get more resources, as the end of a message
    died(facts)                   in the zygote: the value stored as the reason of a death (see reactor.runtime.supervisor)
    orphaned(facts)               the same, for the tasks of a submitter that has died of these facts

An actor is created by `link.create((cls, *args), kwargs)`; its methods are the public ones in alphabetical order.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from reactor import _core, codec
from reactor.runtime.worker import worker

MORE_RESOURCES = "use a larger machine"


class Instance(NamedTuple):
    """The result of the hook `create`: an actor's instance, as the core knows it."""

    methods: list[Callable]  # bound
    handed_on: bool = False  # its calls are given to the hook `deferred`
    lanes: Sequence[
        int
    ] = ()  # of each method, see next_message in native/worker/serve.cpp; none: its calls keep their callers' order
    digest: int = 0  # with which that of its calls begins
    several: bool = False  # it may run several calls at once
    script: list[tuple[int, ...]] | None = None  # tags of its calls, in the order in which they are to run


class Died(RuntimeError):
    """The process that computed a result has died; the argument is the dict of facts."""


def install(settings, role):
    codec.reducers[_core.Ref] = _reduce_ref
    for name, hook in (
        ("failure", failure),
        ("error", error),
        ("create", create),
        ("create_failed", create_failed),
        ("function", lambda ref: _core.get([ref], None)[0]),
        ("store_full", store_full),
        ("wrong_results", wrong_results),
        ("exit_kind", worker.exit_kind),
    ):
        _core.set_hook(name, hook)


def changed(settings, changes):
    return {**settings, **changes}


def prepare():
    pass


def _reduce_ref(ref):
    return codec.import_ref, (_core.export_ref(ref),)


def variables(settings, facts, setting):
    return {}


def directories(settings, facts, setting):
    return []


def begin(settings, facts, gpus, setting, variables):
    pass


def died(facts):
    return facts


def orphaned(facts):
    """The submitter of a task has died; the argument is the dict of facts about that."""
    return facts


def retried(facts, left):
    """The message to the user when calls are run again after the process of a worker has died. `left`: how many retries each of them had."""
    return f"worker {facts['pid']} has died (status {facts['status']}), and {len(left)} of its calls are run again"


def crashed(facts):
    """The message to the user when the process of a worker has died in the middle of its work, and no call is run again."""
    return f"worker {facts['pid']} has died (status {facts['status']})"


def ended():
    pass


def lost_text(state, value):
    return None


def failure(error, what, is_argument):
    return error


def error(state, value, ref):
    return value if isinstance(value, BaseException) else Died(value)


def create(number, args, kwargs):
    cls, *args = args
    instance = cls(*args, **kwargs)
    return Instance([getattr(instance, name) for name in sorted(vars(cls)) if not name.startswith("_")])


def create_failed(number, error, reason):
    return {"actor": number, "exit_reason": reason, "creation_error": error}


def wrong_results(found, wanted, value):
    if wanted < 0:
        return ValueError(f"the call returned {type(value).__name__} and not a generator")
    return ValueError(f"the call returned {found} values, and {wanted} are expected")


def store_full(wanted, used, limit, disk):
    return MemoryError(f"the store holds {used} of {limit} bytes; {wanted} more do not fit")
