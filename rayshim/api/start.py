"""`init` and `shutdown`: a session from its start to its end."""

from __future__ import annotations

import contextlib
import os
import selectors  # noqa: F401  imported early, like all that `init` needs: later, a module "select" of the program would be found instead
import sys
from typing import TYPE_CHECKING, Any

from reactor import _core

from rayshim.api.init_arguments import InitArguments
from rayshim.calls.actor_class import slow_imports
from rayshim.errors.address import get_node_ip_address
from rayshim.errors.user_code import at, calling
from rayshim.ordering import order as orders
from rayshim.placement import kinds
from rayshim.resources import num_threads
from rayshim.session import folder, rendezvous, session
from rayshim.session.settings import OfZygote, Settings

if TYPE_CHECKING:
    from rayshim.api.job_config import JobConfig, LoggingConfig
    from rayshim.api.ray_context import RayContext
    from rayshim.environments.runtime_env import RuntimeEnv
    from rayshim.placement.packed import packed

_LAST_SECONDS = 0.5
_LONGEST_START = 5.0  # seconds that the processes of the session may need on a busy machine until they are there


@session.changes
def init(
    address: str | None = None,
    *,
    num_cpus: float | None = None,
    num_gpus: float | None = None,
    resources: dict[str, float] | None = None,
    object_store_memory: int | None = None,
    object_spilling_directory: str | os.PathLike[str] | None = None,
    namespace: str | None = None,
    log_to_driver: bool | None = None,
    ignore_reinit_error: bool = False,
    local_mode: bool = False,
    runtime_env: dict[str, Any] | RuntimeEnv | None = None,
    labels: dict[str, str] | None = None,
    job_config: JobConfig | None = None,
    configure_logging: bool = True,
    logging_level: int | str | None = None,
    logging_format: str | None = None,
    logging_config: LoggingConfig | None = None,
    placement: str | os.PathLike[str] | packed | None = None,
    ordering: str | None = None,
    timing: str | os.PathLike[str] | None = None,
    timing_seed: int | None = None,
    clock: str | None = None,
    patience: float | str | None = None,
    digest: bool | str = True,
    record: str | os.PathLike[str] | None = None,
    replay: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    learn_patterns: bool = True,
    replay_plans: bool = True,
    trace: bool = False,
    **accepted: Any,
) -> RayContext:
    """Starts a session: the runtime that executes the actors and tasks of this program, on this machine.

    If the program does not call `init`, its first `.remote()` or `put` starts a session with the defaults. Arguments that Ray has mean the
    same as on Ray.

    Arguments:
        address: which session the program uses.

            - "local": a new session of this program.
            - "auto": the session that `rayshim start --head` has started, or else the session of another program, if only one runs.
            - The address that `rayshim start --head` has printed, or that `init` of another program has returned: that session. With this and
              "auto", arguments that belong to the session (num_cpus, resources, ordering, ...) raise an error.
            - The address of a real Ray cluster: the program runs on that cluster, on real Ray, if Ray is installed.
            - None: the session that the environment variable RAY_ADDRESS names, or the one that `rayshim start --head` has started, or a new one.

        num_cpus: whole number; how many CPUs tasks and actors may use at the same time. Default: all CPUs of this machine.
        num_gpus: the same for GPUs.
        resources: {name: amount} of custom resources.
        object_store_memory: size of the object store in bytes, for all large values together. Default: 30% of the memory. When the store is
            full, values that nobody is reading are moved to the disk (least recently read first), and are read from there.
        object_spilling_directory: directory for the values on the disk. Default: `_temp_dir`, RAY_TMPDIR, or the system's temporary
            directory. They go into one file that has no name and disappears when the program ends.
            `_system_config={"automatic_object_spilling_enabled": False}` turns spilling off; a full store then raises ObjectStoreFullError.
        namespace: namespace in which named actors are created and looked up. Default: a new one for this session.
        log_to_driver: whether the driver shows what workers print; each line begins with the name and process id of its worker. Default:
            the environment variable RAY_LOG_TO_DRIVER, or True.
        ignore_reinit_error: if True, calling `init` during a session does nothing; otherwise it raises RuntimeError.
        local_mode: True is the same as placement="inline".
        runtime_env: dict for the environment of the workers, with any of "env_vars" ({name: value}), "working_dir" (path), "py_modules"
            ([path or module]) and "worker_process_setup_hook" (function or its name). See rayshim.runtime_env.
        labels: {name: value} of strings; labels of this machine, for label selectors and `nodes`.
        job_config: a JobConfig. Its runtime_env and namespace apply if those arguments are not given.
        configure_logging: whether the logger "ray" gets a handler for stderr.
        logging_level: level of that logger; default INFO.
        logging_format: format of that handler.
        logging_config: a LoggingConfig for the root logger of the driver and the workers.
        placement: which process runs which actor. Default: the environment variable RAYSHIM_PLACEMENT, or "isolated".

            - "isolated": one process per actor, and a pool of processes for tasks.
            - "packed" or `packed(n)`: n processes, each with many actors; see rayshim.packed.
            - "auto": "isolated" or "packed", by measurements of earlier runs of this program; see `rayshim profile`. It writes a file of roles.
            - The path of a file of roles, a str that ends with ".toml" or a PathLike: which actors and tasks share processes, and the cores, threads and
              GPUs of these. docs/placement.md has the format. A mistake in the file is a ValueError that names file, line and role.
            - "inline": everything in this process. Each call runs to its end inside `.remote()`, so `pdb` works.

        ordering: the order in which an actor runs the calls of several callers, and in which `wait` returns refs. Default: the environment
            variable RAYSHIM_ORDERING, or "logical".

            - "logical": the order of the serial run, in which each call runs to its end inside `.remote()`. Results are the same in every
              run, as long as this order blocks callers for no longer than `patience` allows. Calls that it would block longer (for example
              behind a call that never ends) run in arrival order from then on, and one line on stderr names them.
            - "strict": always the order of the serial run. A call that cannot be ordered gets an OrderingError.
            - "arrival": first come, first served, as on Ray.
            - "timed": the order that follows from the times in the file `timing`, the same in every run. Callers wait only as long as an earlier
              call may still come, so asynchronous programs keep their pace.

        timing: path of the timing file of ordering="timed". Default: the environment variable RAYSHIM_TIMING.

            - If there is no such file, this run is measured: it goes by arrival, and at its end it writes the file, with how long each stretch
              of each call took. If there is one, the run follows it: each call has the time that its recorded durations give it, and actors run their calls, and
              `wait` returns refs, by these times. Such runs have the same results, in isolated and packed placement, on a busy machine and on another one.
            - Calls that are not in the file, because the program has changed or runs longer, take durations of other calls of the same caller
              and method, or of that method. The order may then be another one, but it is again the same in each run.
            - Not repeatable: threads of the program that make calls, async actors whose methods await sockets or threads, threaded actors, sockets, clocks (but see
              `clock`), kernels of a GPU, and deaths of processes. `report().repeatable` says what this run has met.

        timing_seed: int, 0 or more. Each duration of the timing file is multiplied by a factor drawn from this seed (lognormal, median 1,
            sigma 0.3): another possible order of the program, again the same in each run with this seed. 0: as recorded. Default: the
            environment variable RAYSHIM_TIMING_SEED, or 0. `rayshim timing spread` runs a program with several seeds.
        clock: in timed order, what `time.time`, `time.monotonic`, `time.perf_counter`, and these with "_ns", show the program. Default: the environment
            variable RAYSHIM_CLOCK, or "physical".

            - "physical": the machine's clocks. A program whose results depend on them, such as one that trains for 60 s, has other results on each run.
            - "logical": the time of the order: in the measured run the time at which it is read, in later runs again the same, as if the run had begun when the measured
              one did. The machine's clocks are those of the standard library, of code in C, such as `datetime.now()`, and of `time.sleep`.

        patience: the budget of time for which logical order may block callers. rayshim keeps one budget for each pair of a caller and a call
            that delays it, and one for each place in the program that calls `wait`. A pair spends its budget while the caller's call waits for
            the other call although the actor is free. A place spends its budget while enough refs are done, but not the first ones of the list.
            After that, the pair or place uses arrival order for the rest of the run. Default: the environment variable RAYSHIM_PATIENCE, or "10%".

            - A number: the budget in seconds.
            - A string such as "25%": the budget is 0.1 s plus this share of the time since the pair or place first occurred.
            - math.inf: no limit. Arrival order is then used only if otherwise nothing in the program could continue.

        digest: what `rayshim.digest()` reads of each value. True: one cache line in 64 of arrays over 64 KiB, which costs almost nothing.
            "full": every byte, which costs about as much as copying the value. False: there is no digest.
        record: path of a new directory, into which the run writes its journal: each call with its place in the code and its values
            (shortened), and each event that depends on timing (timeouts, deaths, calls in arrival order). Default: the environment variable
            RAYSHIM_RECORD, or no journal.
        replay: path of a journal. The run repeats the recorded run. Default: the environment variable RAYSHIM_REPLAY, or no replay.

            - The seed is the same. Each actor runs its calls in the same order.
            - `get` and `wait` have the same timeouts and results. Kills and cancellations happen at the same place between two calls.
            - Coroutines of an async actor and threads of a threaded actor continue in the same order. For this, only one thread of an actor runs
              at a time, also while a journal is written.
            - Data that the program reads from sockets, pipes, clocks or other programs is not in the journal.
            - If the program no longer matches its journal, a ReplayError names the place. If only values differ, a message at the end names the first
              call whose arguments or result differ, and `rayshim --replay` ends with status 3.

        seed: int. Each actor and task draws the same random numbers (`random`, `numpy.random`, `torch`) in every run and placement. Its own
            seed is made from this number and from its place in the program. So do generators that it makes without a seed, such as
            `numpy.random.default_rng()` or gymnasium's at `reset()`. The hashes of strings in workers come from it, too, unless PYTHONHASHSEED is set.
            Default: a random seed.
        learn_patterns: False: rayshim does not learn the call patterns of the program. Results and speed stay the same; `graph` and
            placement="auto" do not work.
        replay_plans: another name of `learn_patterns`.
        trace: True: keep the times of calls and waits for `timeline`.
        **accepted: other arguments that Ray has, such as include_dashboard. They have no meaning on one machine and are ignored. An
            argument that Ray does not have raises RuntimeError.

    These environment variables of Ray apply, too: RAY_OVERRIDE_RESOURCES, RAY_OVERRIDE_LABELS, RAY_RUNTIME_ENV_HOOK,
    RAY_LOG_TO_DRIVER, RAY_DEDUP_LOGS and related ones.

    Returns a RayContext. Raises RuntimeError if a session is already running, ConnectionError if nothing answers at `address`, ValueError
    for an invalid number.
    """
    given = InitArguments(**locals())
    from rayshim.api.ray_context import RayContext

    if "rayshim.as_ray.on_ray" in sys.modules and sys.modules["rayshim.as_ray.on_ray"].active:
        return sys.modules["ray"].init(address, ignore_reinit_error=ignore_reinit_error)
    from rayshim.api import arguments

    arguments.check_names(accepted)
    if session.current is not None:
        from rayshim.errors import logs

        logs.configure_or_silence(configure_logging, logging_level, logging_format)
        if ignore_reinit_error:
            logs.logger.info("Calling ray.init() again after it has already been called.")
            return RayContext(session.current)
        raise RuntimeError(
            "Maybe you called ray.init twice by accident? This error can be suppressed by passing in "
            "'ignore_reinit_error=True' or by calling 'ray.shutdown()' prior to 'ray.init()'. "
            f"({at('init')}: a session is running)"
        )
    from rayshim.session import heads

    arguments.check_address(address)
    if address or os.environ.get("RAY_ADDRESS") or heads.any_runs(accepted.get("_temp_dir")):
        attached = _attach(given)
        if attached is not None:
            return attached
    return _start(given)


def _attach(given):
    """The RayContext of the session that the address or the environment names, with this program as its driver, or what real Ray gives; None if there is
    none."""
    from rayshim.api import arguments, attaching

    return attaching.AttachRequest(
        address=given.address,
        of_session=given.named((*arguments.RAYS_OF_SESSION, *arguments.OWN_OF_SESSION)),
        of_driver=given.named(("namespace", "runtime_env", "job_config", "logging_config")),
        how=given.how,
        accepted=given.accepted,
        serial=given.local_mode or kinds.is_serial(given.placement or os.environ.get("RAYSHIM_PLACEMENT")),
    ).begin(given.recording, given.tracing)


def _start(given):
    """The RayContext of a new session of this program. If a step fails, or Ctrl-C comes, what was done before is undone: `undo` has it."""
    from rayshim.api.ray_context import RayContext

    with contextlib.ExitStack() as undo:
        context = RayContext(_start_by_steps(given, undo))
        undo.pop_all()
    return context


def _start_by_steps(given, undo):
    from rayshim.api import arguments

    placement = given.placement or os.environ.get("RAYSHIM_PLACEMENT") or "isolated"
    budget = arguments.budget(given.patience)
    journal, seed, order = _journal(given, undo)
    if given.digest not in (True, False, "full"):
        raise ValueError(f"init(digest={given.digest!r}) at {calling()}: must be True, False or 'full'")
    arguments.check(
        given.num_cpus,
        given.num_gpus,
        given.object_store_memory,
        given.resources,
        given.labels,
        given.namespace,
        placement,
        given.accepted,
    )
    if given.local_mode:
        placement = "inline"
    auto = None
    if placement == "auto":
        from rayshim.placement import automatic

        placement, auto = automatic.begin()
    roles = None
    if kinds.is_file(placement):
        roles = placement = arguments.roles(placement)
    kind = kinds.kind(placement)
    of_kind = kind.for_runtime(placement)
    env = arguments.environment(given.runtime_env, given.job_config, given.accepted.get("_skip_env_hook"))
    variables = {}
    if env.get("env_vars") and kind.name != "inline":
        from rayshim.environments import applying

        variables = applying.variables(env, {})
    logging_config = arguments.logging(given.logging_config, given.job_config)
    amounts, store = arguments.amounts(
        given.num_cpus, given.num_gpus, given.resources, given.object_store_memory, given.accepted.get("_memory")
    )
    if roles is not None:
        arguments.check_roles(roles, amounts, journal is not None)
    from reactor.runtime.driver.driver import Driver

    timing = durations = None
    if order == "timed":
        arguments.check_timed(kind.name, journal is not None)
        timing, durations = arguments.timing(given.timing, given.timing_seed, given.clock)
    else:
        arguments.check_no_timing(order, given.timing, given.timing_seed, given.clock)
    offer = {}
    if kind.takes_other_drivers and not journal:  # a journal holds the events of one driver
        offer = _offer(order, amounts, given.accepted.get("_temp_dir"), undo)
    settings = Settings(
        **_identity(given, amounts),
        place=offer.get("place"),
        address=offer.get("address"),
        placement=kind.name,
        auto=auto,
        roles=roles,
        seed=seed,
        ordering=order,
        timing=timing,
        journal=journal,
        runtime_env=env,
        of_zygote=OfZygote(env.get("env_vars") or {}, {name: os.environ.get(name) for name in variables}),
        logging=logging_config,
        resources=amounts,
        retry_delay=arguments.retry_delay(given.accepted),
    )
    undo.callback(folder.end, settings.folder, False)
    driver = Driver(
        variables={**num_threads.VARIABLES, **arguments.hash_seed(seed)},
        environment=variables,
        listening=offer.get("listener"),
        about=offer.get("about"),
        cpus=amounts["CPU"],
        resources={name: amount for name, amount in amounts.items() if name != "CPU"},
        store_limit=store,
        plugin="rayshim.worker.hooks",
        settings=settings,
        seed=seed,
        preload=slow_imports(settings.alias, for_new_zygote=True),
        ordering=order,
        timing=durations,
        patience=budget,
        digesting=_digesting(journal is not None, given.digest),
        journaling=journal is not None,
        spilling=arguments.spilling(given.object_spilling_directory, given.accepted),
        full_wait=arguments.full_wait(given.accepted),
        memory=arguments.memory(given.accepted),
        retry_delay=settings.retry_delay,
        **of_kind,
    )
    undo.callback(driver.stop)
    driver.start()
    if offer:
        offer["listener"].close()
    # These imports run while the zygote starts.
    from rayshim.api import beginning
    from rayshim.errors import logs

    started = beginning.begin(driver, settings, kind, undo, logging_config=logging_config, **given.how)
    logs.logger.info("Started a local Ray instance. (rayshim, %s, %g CPUs)", kind.name, amounts["CPU"])
    return started


def _journal(given, undo):
    """(the JournalSetting or None, seed, order)"""
    from rayshim.api import arguments

    seed, order = arguments.seed(given.seed), arguments.check_order(given.ordering)
    record, replay = given.record, given.replay
    if not (record or replay):
        record, replay = os.environ.get("RAYSHIM_RECORD"), os.environ.get("RAYSHIM_REPLAY")
    if not (record or replay):
        return None, seed, order
    from rayshim.journal import journal

    prepared = journal.prepare(record, replay, seed, order)
    undo.callback(journal.withdraw, prepared[0])
    return prepared


def _offer(order, amounts, directory, undo):
    """How other drivers come to a new session, a dict: `listener`, the socket; `place` and `address`, where it is; `about`, the facts that they get of the
    session. Empty if there can be no socket."""
    from rayshim.session import heads

    try:
        listener, place = heads.listen_for_own(directory)
    except OSError as error:  # the program itself needs no socket
        print(f"rayshim: {heads.not_found(error)}", file=sys.stderr)
        return {}
    undo.callback(listener.close)
    undo.callback(rendezvous.withdraw, place)
    address = f"{get_node_ip_address()}:{place.port}"
    about = {**heads.about(address, place.port, order, amounts), "directory": heads.directory_of(directory)}
    return {"listener": listener, "place": place, "address": address, "about": about}


def _identity(given, amounts):
    """{name: value} of the Settings of a new session that are not checked or derived from others: its names, what it records."""
    from rayshim.api import arguments

    job_config = given.job_config
    node = os.urandom(28).hex()
    alias = "rayshim.as_ray.alias" in sys.modules and sys.modules["rayshim.as_ray.alias"].is_installed()
    return {
        "namespace": given.namespace
        or (job_config.ray_namespace if job_config is not None else None)
        or arguments.random_namespace(),
        "session_name": arguments.session_name(),
        "folder": folder.name(os.getpid()),
        "temp_dir": arguments.temp_dir(given.accepted),
        "lifetime": arguments.lifetime(job_config),
        "digest": bool(given.digest),
        "node": node,
        "labels": arguments.node_labels(given.labels, node, amounts),
        "alias": alias,
        "zygote_alias": alias,
        "threads_set_by_user": num_threads.is_set_by_user(),
        "driver": os.getpid(),
        "recording": given.recording,
        "trace": given.tracing,
    }


def _digesting(has_journal, digest):
    """How much of each value the digest reads, as a `_core.Digest`."""
    return (
        _core.Digest.FULL if has_journal or digest == "full" else _core.Digest.SAMPLED if digest else _core.Digest.NONE
    )


@session.changes
def shutdown(*, wait_for_processes: bool = False, _exiting_interpreter: bool = False) -> None:
    """Ends the session: ends all workers and frees its shared memory, except for arrays that the program still has.

    Does nothing if no session is running, or when called inside an actor or task in inline placement."""
    if "rayshim.as_ray.on_ray" in sys.modules and sys.modules["rayshim.as_ray.on_ray"].active:
        return sys.modules["rayshim.as_ray.on_ray"].end(_exiting_interpreter=_exiting_interpreter)
    if session.current is None or session.current.driver is None or _core.in_inline_call():
        return
    if _exiting_interpreter:
        _let_finish()
    for tell in session.before_end:
        try:
            tell()
        except Exception as error:  # the program's own end goes on
            print(f"rayshim: {tell.__name__} failed at the end of the session: {error}", file=sys.stderr)
    session.current.placement.before_end()
    if session.current.settings.auto:
        from rayshim.placement import automatic

        automatic.learn()
    if session.current.settings.journal:
        from rayshim.journal import journal

        journal.before_end()
    from rayshim.api import termination
    from rayshim.ordering.deadlock import remove_wait_report

    remove_wait_report()
    termination.end()
    orders.print_arrivals()
    if session.current.settings.timing:
        from rayshim.timing import clock, loop, timing

        timing.end(session.current.settings.timing)
        clock.end()
        loop.end()
    ended = session.end()
    ended.driver.stop()
    ended.placement.end()
    if not ended.settings.scope:  # it is not another program's
        if ended.settings.place:
            rendezvous.withdraw(ended.settings.place)
        folder.end(ended.settings.folder, _exiting_interpreter)
    if ended.settings.journal:
        from rayshim.journal import journal

        journal.end(ended.settings)
    if ended.screen is not None:
        ended.screen.end()


def _let_finish() -> None:
    """When the program ends, waits up to half a second for running calls, as Ray does, so that their output is shown. The time begins when the
    workers have started: Ray starts some in `init`, before there are calls for them."""
    import time

    placement = session.current.placement
    deadline = time.monotonic() + _LONGEST_START
    if placement.created or _core.workers_busy():
        placement.catch_up(_LONGEST_START)
    while _core.workers_start() and time.monotonic() < deadline:
        time.sleep(0.002)
    deadline = time.monotonic() + _LAST_SECONDS
    while _core.workers_busy() and time.monotonic() < deadline:
        time.sleep(0.002)


def is_initialized() -> bool:
    """Whether a session is running."""
    return session.current is not None


session.start, session.stop = init, shutdown
