"""`init` and `shutdown`: a session from its start to its end."""

from __future__ import annotations

import os
import selectors  # noqa: F401  now, as all that `init` needs: later a module of the program that is called "select" would be found
import sys
from typing import TYPE_CHECKING, Any

from reactor import _core

from rayshim.errors.sites import at, calling
from rayshim.ordering import order as orders
from rayshim.placement import num_threads
from rayshim.session import session
from rayshim.session.version import RAY_VERSION

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator, KeysView, ValuesView

    from typing_extensions import Self

    from rayshim.api.job_config import JobConfig, LoggingConfig
    from rayshim.calls.runtime_env import RuntimeEnv
    from rayshim.placement.packing import packed

_LAST_SECONDS = 0.5


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
    placement: str | packed | None = None,
    ordering: str | None = None,
    patience: float | str | None = None,
    digest: bool | str = True,
    record: str | os.PathLike[str] | None = None,
    replay: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    replay_plans: bool = True,
    trace: bool = False,
    **accepted: Any,
) -> RayContext:
    """Starts the runtime in this process.

    Arguments:
        address: None or "local". Another machine's cluster, or "auto", is refused: rayshim runs on this machine, in this program.
        num_cpus, num_gpus: int or float; what tasks and actors may use at once. Default: what the machine has.
        resources: {name: amount} of further resources.
        object_store_memory: bytes that large values may take together; default 30% of the memory. Beyond that, values that
            nobody is reading go to the disk, those read longest ago first, and are read from there.
        object_spilling_directory: where on the disk; default: `_temp_dir`, RAY_TMPDIR, or the system's temporary directory. The
            file has no name and ends with the run. `_system_config={"automatic_object_spilling_enabled": False}`: a full store
            is an ObjectStoreFullError instead.
        namespace: where named actors are looked up; default: one of this session's own.
        log_to_driver: whether workers' output is shown here, each line with its origin; default: RAY_LOG_TO_DRIVER, else True.
        ignore_reinit_error: a second init does nothing instead of raising RuntimeError.
        local_mode: same as placement="inline".
        runtime_env: {"env_vars": {...}, "working_dir": path, "py_modules": [path], "worker_process_setup_hook": function or its
            name} for the workers; see rayshim.runtime_env.
        labels: {name: value}, strings, shown by `nodes`.
        job_config: a JobConfig: its runtime environment and namespace hold where the arguments say nothing.
        configure_logging, logging_level, logging_format: the logger "ray" gets a handler for stderr, with this level (default
            INFO) and format.
        logging_config: a LoggingConfig for the root logger here and in the workers.
        placement: "isolated" (a process per actor, tasks in a pool), "packed" or `packed(n)` (n processes host the actors; see
            rayshim.packed) or "inline" (all in this process, each call run at the point of call; `pdb` works). Default: the environment variable RAYSHIM_PLACEMENT, or
            "isolated".
        ordering: in which order an actor takes the messages of several callers, and `wait` its refs.
            "logical" (default; environment variable RAYSHIM_ORDERING): as in the program's serial run, in which each call runs to its
            end where it is made, so every run gives the same. Where that keeps callers waiting for longer than `patience` allows (behind a call
            that never ends, say), or cannot be done at all, calls are served in the order of arrival from then on, with one line that names them.
            "strict": the same, and what cannot be ordered is an OrderingError. "arrival": first come, first served, as in Ray.
        patience: what logical order may cost. The time that a caller is blocked by order alone (its call is held though the actor is free) is
            added up for each pair of a caller and the unfinished call that it waits for; and for each place of `wait`, the time in which enough refs
            were done but not the first ones. Where the sum exceeds the budget, that pair or place is served in the order of arrival, as on Ray, for
            the rest of the run, with one line on stderr. Default (also: environment variable RAYSHIM_PATIENCE): 0.1 seconds plus 10% of the time since the pair or place was first met. A number: so many
            seconds. A string such as "25%": 0.1 seconds plus this share. math.inf: no limit; then order ends only where nothing else can move.
        digest: keep the running hash that `rayshim.digest()` gives. True: of an array over 64 KiB one cache line in 64, which costs next
            to nothing; "full": all of it, which costs as much again as copying it; False: none.
        record: path of a new directory that keeps what the run does: each call with its place and values (shortened), each answer of the
            clock (timeouts, `wait` by arrival). See `rayshim diff` and rayshim.journal.rerun.
        replay: path of a record: the run gets the same seed and answers, and each actor its calls in the same order. What was killed or
            cancelled is so again, at the same place between two calls. The calls of threaded and async actors begin in the
            same order, the event loop of an async actor does the same, with the same timeouts and cancellations, and the threads of a threaded
            one take the same turns (in a recorded run, too, one of them runs at a time; see rayshim.journal.turns). What the program reads
            from sockets, pipes, clocks and other programs is not kept. A program that no longer matches its record gets a ReplayError that says where.
        seed: int; `random`, `numpy.random` and `torch` of every actor and task are then seeded from it and the place of the actor's
            creation, or of the task, in the program: the same in each run and placement. Default: from the operating system.
        replay_plans: record the pattern of calls and follow it when it comes again; False turns this off, with the same results.
        trace: keep the times of calls and waits for `timeline`.
        accepted: Ray's other arguments, as include_dashboard, dashboard_host. They have no meaning here and are ignored, as the
            rest of _system_config is; a name that Ray does not have is a RuntimeError.

    Environment variables of Ray's that hold here: RAY_OVERRIDE_RESOURCES, RAY_OVERRIDE_LABELS, RAY_RUNTIME_ENV_HOOK,
    RAY_LOG_TO_DRIVER, RAY_DEDUP_LOGS and the like.

    Returns a RayContext. Raises RuntimeError if called twice, ConnectionError for a cluster's address, ValueError for bad
    numbers.
    """
    if session.current is not None:
        if ignore_reinit_error:
            return RayContext(session.current)
        raise RuntimeError(
            "Maybe you called ray.init twice by accident? This error can be suppressed by passing in "
            "'ignore_reinit_error=True' or by calling 'ray.shutdown()' prior to 'ray.init()'. "
            f"({at('init')}: a session is running)"
        )
    from rayshim.api import arguments as arguments  # noqa: PLC0414

    placement = placement or os.environ.get("RAYSHIM_PLACEMENT") or "isolated"
    order, budget = arguments.check_order(ordering), arguments.budget(patience)
    kept = replayed = None
    record, replay = (
        (record, replay) if record or replay else (os.environ.get("RAYSHIM_RECORD"), os.environ.get("RAYSHIM_REPLAY"))
    )
    if record or replay:
        from rayshim.journal import rerun

        kept, replayed, seed, order = rerun.prepare(record, replay, seed, order)
    if digest not in (True, False, "full"):
        raise ValueError(f"init(digest={digest!r}) at {calling()}: must be True, False or 'full'")
    arguments.check(address, num_cpus, num_gpus, object_store_memory, resources, labels, placement, accepted)
    if local_mode:
        placement = "inline"
    inline = placement == "inline"
    packed = None
    if placement == "packed" or not isinstance(placement, str):
        from rayshim.placement import packing

        packed = (packing.packed() if placement == "packed" else placement).plan()
        placement = "packed"
    env = arguments.environment(runtime_env, job_config, accepted.get("_skip_env_hook"))
    logging_config = logging_config or (job_config.py_logging_config if job_config is not None else None)
    if logging_config is not None:
        logging_config.check()
    amounts, store = arguments.amounts(num_cpus, num_gpus, resources, object_store_memory)
    node = os.urandom(28).hex()
    settings = {
        "namespace": namespace
        or (job_config.ray_namespace if job_config is not None else None)
        or os.urandom(16).hex(),
        "placement": placement,
        "seed": seed,
        "ordering": order,
        "digest": bool(digest),
        "kept": kept and (kept, replayed),
        "node": node,
        "labels": arguments.node_labels(labels, node),
        "alias": "rayshim.session.alias" in sys.modules and sys.modules["rayshim.session.alias"].is_installed(),
        "runtime_env": env,
        "threads_said": num_threads.said_by_program(),
        "logging": logging_config,
        "resources": amounts,
        "driver": os.getpid(),
        "recording": bool(replay_plans) and not os.environ.get("RAYSHIM_NO_PLANS"),
        "trace": bool(trace) or bool(os.environ.get("RAYSHIM_TRACE")),
    }
    from reactor.runtime.driver import Driver

    driver = Driver(
        variables=num_threads.VARIABLES,
        cpus=amounts["CPU"],
        resources={name: amount for name, amount in amounts.items() if name != "CPU"},
        store_limit=store,
        plugin="rayshim.worker.hooks",
        settings=settings,
        preload=arguments.preload(),
        inline=inline,
        ordering=order,
        patience=budget,
        digesting=2 if kept is not None or digest == "full" else int(bool(digest)),
        keeping=kept is not None,
        spilling=arguments.spilling(object_spilling_directory, accepted),
        packed=packed,
    )
    driver.start()
    # What does not need to be there before is imported beside the zygote's start.
    from rayshim.api import termination, worker_lines
    from rayshim.errors import logs
    from rayshim.ordering import deadlock
    from rayshim.worker import hooks, unhandled

    if configure_logging:
        try:
            logs.configure(logging_level, logging_format)
        except BaseException:
            driver.stop()
            raise
    screen = worker_lines.Screen(plain=logging_config is not None) if arguments.shows_output(log_to_driver) else None
    driver.show = screen and screen.show
    driver.lost = unhandled.report  # pyright: ignore[reportAttributeAccessIssue]
    hooks.install(settings, "inline" if inline else "driver")
    hooks.observe(settings)
    made = session.begin(session.Session(driver.control, settings, driver))
    made.screen = screen
    deadlock.offer_picture()
    termination.begin()
    if logging_config is not None:
        logging_config.apply()
    if inline:
        from reactor.runtime.gpus import GpuShares

        made.inline_gpus = GpuShares(int(amounts.get("GPU", 0)))
        hooks.begin_inline(made)
    logs.logger.info("Started a local Ray instance. (rayshim, %s, %g CPUs)", placement, amounts["CPU"])
    return RayContext(made)


@session.changes
def shutdown(*, wait_for_processes: bool = False, _exiting_interpreter: bool = False) -> None:
    """Ends the session: every worker, and the memory as far as the program has no arrays over it. Does nothing without one, or in a call."""
    if session.current is None or session.current.driver is None or _core.in_inline_call():
        return
    if _exiting_interpreter:
        _let_finish()
    for tell in session.before_end:
        try:
            tell()
        except Exception as error:  # the program's own end goes on
            print(f"rayshim: {tell.__name__}: {error}", file=sys.stderr)
    from rayshim.api import termination
    from rayshim.ordering.deadlock import withdraw_picture

    withdraw_picture()
    termination.end()
    orders.say_at_end()
    ended = session.end()
    ended.driver.stop()
    if ended.settings["kept"]:
        from rayshim.journal import rerun

        rerun.end(ended.settings)
    if ended.screen is not None:
        ended.screen.end()


def _let_finish() -> None:
    """A program that ends while calls are at work gives them the half second that Ray gives them, for what they print."""
    import time

    deadline = time.monotonic() + _LAST_SECONDS
    while _core.workers_busy() and time.monotonic() < deadline:
        time.sleep(0.002)


def is_initialized() -> bool:
    """Whether there is a session."""
    return session.current is not None


class RayContext:
    """What `init` returns: facts of the session, by attribute or key; as a context manager it shuts down at the end."""

    def __init__(self, s: session.Session) -> None:
        import sys

        self.dashboard_url = ""
        self.python_version = "{}.{}.{}".format(*sys.version_info[:3])
        self.ray_version = RAY_VERSION
        self.ray_commit = ""
        self.address_info = {
            "node_ip_address": "127.0.0.1",
            "redis_address": None,
            "object_store_address": "",
            "raylet_socket_name": "",
            "webui_url": "",
            "session_dir": "",
            "metrics_export_port": 0,
            "gcs_address": "local",
            "address": "local",
            "dashboard_agent_listen_port": 0,
            "node_id": s.settings["node"],
        }

    def __getitem__(self, key: str) -> Any:
        return self.address_info[key] if key in self.address_info else getattr(self, key)

    def __contains__(self, key: object) -> bool:
        return key in self.address_info

    def __iter__(self) -> Iterator[str]:
        return iter(self.address_info)

    def __len__(self) -> int:
        return len(self.address_info)

    def keys(self) -> KeysView[str]:
        return self.address_info.keys()

    def items(self) -> ItemsView[str, Any]:
        return self.address_info.items()

    def values(self) -> ValuesView[Any]:
        return self.address_info.values()

    def get(self, key: str, default: Any = None) -> Any:
        return self.address_info.get(key, default)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.disconnect()

    def disconnect(self) -> None:
        shutdown()

    def __repr__(self) -> str:
        return (
            f"RayContext(placement={session.current.settings['placement']!r})"
            if session.current
            else "RayContext(ended)"
        )


session.start, session.stop = init, shutdown
