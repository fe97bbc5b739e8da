"""rayshim's plugin for the runtime (see reactor.runtime.worker.plugin): sets the core's hooks and starts the session in each process."""

import contextlib
import functools
import os
import sys
from dataclasses import replace

from reactor import _core, codec

from rayshim.calls.generators import ObjectRefGenerator, StreamingGeneratorStats
from rayshim.environments.keys import thawed
from rayshim.errors.user_code import OURS
from rayshim.placement import kinds
from rayshim.resources import accelerators, gpus, num_threads
from rayshim.session import folder, rendezvous, session
from rayshim.session.facts import public
from rayshim.worker import creation, failures
from rayshim.worker.failures import lost_text  # noqa: F401  of the plugin, too

MORE_RESOURCES = "start with more (init(num_cpus=, num_gpus=, resources=))"
_journal_path = None  # in the zygote: path of the journal
_folder = _place = _driver = (
    None  # in the zygote: the session's folder, its socket, and the process that started the session
)


def install(settings, role):
    """Sets the core's hooks in this process: role is driver, zygote, actor, packed or task."""
    from rayshim.calls import refs  # noqa: F401  refs are made as ObjectRef from here on

    codec.libraries["starlette.datastructures", "State"] = _reduce_state
    from rayshim.ordering import deadlock, order
    from rayshim.worker import generators

    if settings.alias:
        from rayshim.as_ray import alias

        alias.install()
        if role not in ("driver", "zygote"):
            alias.libraries.new_imports()  # those of the zygote
    elif role == "zygote":
        from rayshim.as_ray import alias

        alias.install_when_driver_does()
    for name, hook in (
        ("failure", failures.failure),
        ("unstored", failures.unstored),
        ("as_failure", failures.as_failure),
        ("error", failures.error),
        ("create", creation.create),
        ("create_failed", creation.create_failed),
        ("function", creation.load_function),
        ("loads", failures.loads),
        ("store_full", failures.store_full),
        ("wrong_results", failures.wrong_results),
        ("left_over", failures.left_over),
        ("deferred", deferred),
        ("woken", woken),
        ("generator", ObjectRefGenerator),
        ("yielded", lambda nanoseconds: StreamingGeneratorStats(nanoseconds / 1e9)),
        ("gather", generators.gather),
        ("stale", failures.stale),
        ("unpicklable", failures.unpicklable),
        ("cancelled", cancelled),
        ("relaxed", order.relaxed),
        ("lost", failures.lost),
        ("find_deadlock", deadlock.find),
    ):
        _core.set_hook(name, hook)
    _core.let_bytearrays_arrive_as_bytes()  # as on Ray
    if settings.timing and role != "zygote":
        from rayshim.timing import clock, loop

        loop.begin()
        if settings.timing.clock == "logical":
            clock.begin(settings.timing.began)
    if role == "zygote":
        _prepare_zygote()
        global _journal_path, _folder, _place, _driver
        _folder, _place, _driver = settings.folder, settings.place, settings.driver
        journal = settings.journal
        _journal_path = journal.path if journal and not journal.replayed else None
        kinds.kind(settings.placement)
        if journal or settings.timing:
            from rayshim.journal.threads import know_locks
            from rayshim.worker import journaled_threads, timed_threads  # noqa: F401  create the runtime's own locks before `know_locks`

            know_locks()


def changed(settings, changes):
    """In the zygote: settings with these values (dict) in place of others, for a driver that joins the session and its workers."""
    return replace(settings, **changes)


def prepare():
    """In a zygote that is started before its run, by a program in which `import ray` means rayshim: what of `install` needs no settings."""
    from rayshim.as_ray import alias

    alias.install()
    _prepare_zygote()


@functools.cache
def _prepare_zygote():
    """Sets the state with which workers are forked."""
    sys.argv[0] = sys.modules["__main__"].__file__ = os.path.join(os.path.dirname(__file__), "default_worker.py")
    import socket  # noqa: F401  imported here once, not in each worker

    from rayshim.calls import actor_class, function, refs  # noqa: F401
    from rayshim.environments import applying  # noqa: F401
    from rayshim.errors import exceptions, logs  # noqa: F401
    from rayshim.ordering import deadlock, order  # noqa: F401
    from rayshim.worker import builtin_methods, concurrency, generators, interrupts  # noqa: F401

    logs.begin_worker()


def _reduce_state(state):
    return type(state), (state._state,)  # its __getattr__ would recurse without end during unpickling


def ended():
    """In the zygote: the session's other processes have ended."""
    if _place:
        rendezvous.withdraw(_place)
    if not folder.is_used(_folder, _driver):  # else that process removes it
        folder.remove(_folder)


def observe(placement):
    """Turns recording and tracing on or off in this process."""
    settings = placement.settings
    _core.set_own_directory(OURS[0])
    _core.set_recording(settings.recording)
    _core.set_tracing(settings.trace)
    if settings.seed is not None:
        _core.set_hook("task_random", task_random)
    if settings.journal:
        from rayshim.journal import journal

        journal.begin(settings, placement.runs_in_parallel)


def _environment(settings, record, setting):
    """The runtime environment of a new worker."""
    own = (record or {}).get("env") if record else setting and setting[0]
    return settings.runtime_env if own is None else thawed(own)


def variables(settings, record, setting):
    """The environment variables that a new worker gets, {name: value, None for none}."""
    from rayshim.environments import applying

    return applying.variables(_environment(settings, record, setting), settings.of_zygote.before)


def directories(settings, record, setting):
    """The directories with modules of a new worker's runtime environment."""
    from rayshim.environments import applying

    return applying.paths(_environment(settings, record, setting))


def begin(settings, record, own_gpus, setting, variables):
    """In a new worker: starts the session, applies the environment, and sets the handler of interrupts."""
    from reactor.runtime.messages.control import Sender

    from rayshim.environments import applying

    env = _environment(settings, record, setting)
    cores, threads = (record.get("process") if record else setting and setting[2]) or ((), None)
    if cores:
        os.sched_setaffinity(0, cores)
    placement = kinds.in_worker(Sender(settings.scope), settings, record)
    placement.begin()
    s = session.Session(placement, None, own_gpus or (), env)
    accelerators.note_visible(s)
    session.begin(s)
    _core.set_titles(
        *(
            (f"ray::{record['class_name']}", f"ray::{record['class_name']}.")
            if record
            else (placement.idle_title, "ray::")
        )
    )
    from rayshim.worker import interrupts

    interrupts.listen()
    _take_place_among_processes(env.get("env_vars") or {})
    observe(placement)
    if settings.logging is not None:
        settings.logging.apply()
    try:
        enter = functools.partial(applying.enter, env, variables, settings)
        num_threads.begin_worker(settings, creation.cpus(record), enter, threads)
    except Exception as error:
        s.broken = error
    limit_generators()
    os.environ["PYTHONBREAKPOINT"] = (
        "rayshim.util.rpdb.set_trace"  # breakpoint() waits for a connection; a worker has no terminal
    )
    if record and record.get("taken"):
        s.visible_accelerators = accelerators.visible()
        accelerators.show(record["taken"], s.visible_accelerators)
    s.visible_gpus = gpus.visible()
    if s.gpus or "GPU" in settings.resources:
        gpus.show(gpus.names(s.gpus, s.visible_gpus))


def limit_generators():
    """Applies Ray's limit on the values of one generator to this process."""
    variable, most = "RAY_max_num_generator_returns", 100_000_000
    with contextlib.suppress(ValueError):
        most = int(os.environ.get(variable) or most)
    _core.limit_streams(max(most, 0), variable)


def _take_place_among_processes(variables):
    """As in Ray, gives workers a high OOM score and niceness 15: when memory runs out, the system kills workers first; when there are fewer cores
    than running processes, the driver goes first. Without it a learner in the driver beside four computing actors on 2 cores is 2.5 times slower."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/oom_score_adj", "w") as score:
        score.write(str(min(max(int(os.environ.get("RAY_worker_oom_score_adjustment") or 1000), 0), 1000)))
    with contextlib.suppress(OSError, ValueError):
        os.nice(int(variables.get("RAY_worker_niceness") or os.environ.get("RAY_worker_niceness") or 15))


def task_random(tag):
    """With a seed: a task draws what its place in the serial run says, in whatever process it runs."""
    session.current.placement.task_random(tag)


def begin_driver(s):
    """In the driver, when its session has begun."""

    def enter():
        from rayshim.environments import applying

        applying.add_paths(s.runtime_env)
        applying.run_hook(s.runtime_env)

    s.placement.enter_driver(enter)
    limit_generators()  # inline, they run here


def died(facts):
    """The stored form of the reason of a death."""
    if _journal_path:
        from rayshim.journal import journal

        journal.died(_journal_path, facts)
    return {**facts, "actor": facts["actor"] and public(facts["actor"])}


def orphaned(facts):
    """The stored form of the reason why the tasks of a process that died have ended."""
    return {**facts, "actor": facts["actor"] and public(facts["actor"]), "of_owner": True}


def retried(facts, left):
    """In the supervisor: the text for the driver's user about calls that are run again because their process died. `left`: their retries."""
    from rayshim.errors import death_texts
    from rayshim.worker.retries import will_be_retried

    actor = facts["actor"]
    name = facts["running"].removeprefix("ray::") or (actor["class_name"] if actor else "(unknown)")
    others = f" So will {len(left) - 1} other calls of it." if len(left) > 1 else ""
    oom = "oom" if facts.get("memory") and actor is None else ""
    return f"{will_be_retried(name, left[0], oom)} Error: {death_texts.of_retried(facts)}{others}"


def crashed(facts):
    """In the supervisor: the text for the driver's user about a process that died in the middle of its work, when no call is run again."""
    from rayshim.errors import death_texts

    return death_texts.of_crashed(facts)


def deferred(actor, index, function, args, kwargs, completion):
    from rayshim.worker import concurrency

    concurrency.submit(actor, index, function, args, kwargs, completion)


def woken(number):
    from rayshim.worker import concurrency

    concurrency.wake(number)


def cancelled(uid, children):
    from rayshim.worker import concurrency

    concurrency.cancel(uid, children)
