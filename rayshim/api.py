"""The functions of Ray's top level."""

import os
import sys
import threading

from reactor import _core

from rayshim import ordering as orders
from rayshim import session
from rayshim.actor import ActorClass, ActorHandle, find
from rayshim.cluster import RayContext
from rayshim.function import RemoteFunction
from rayshim.generators import ObjectRefGenerator
from rayshim.generators import wait as wait_with_generators
from rayshim.refs import ObjectRef
from rayshim.sites import at, calling
from rayshim.timeouts import seconds

_LAST_SECONDS = 0.5


@session.changes
def init(
    address=None,
    *,
    num_cpus=None,
    num_gpus=None,
    resources=None,
    object_store_memory=None,
    object_spilling_directory=None,
    namespace=None,
    log_to_driver=None,
    ignore_reinit_error=False,
    local_mode=False,
    runtime_env=None,
    labels=None,
    job_config=None,
    configure_logging=True,
    logging_level=None,
    logging_format=None,
    logging_config=None,
    placement=None,
    ordering=None,
    patience=None,
    digest=True,
    record=None,
    replay=None,
    seed=None,
    replay_plans=True,
    trace=False,
    **accepted,
):
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
            clock (timeouts, `wait` by arrival). See `rayshim diff` and rayshim.rerun.
        replay: path of a record: the run gets the same seed and answers, and each actor its calls in the same order. What was killed or
            cancelled is so again, at the same place between two calls. The calls of threaded and async actors begin in the
            same order, the event loop of an async actor does the same, with the same timeouts and cancellations, and the threads of a threaded
            one take the same turns (in a recorded run, too, one of them runs at a time; see rayshim.recorded_turns). What the program reads
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
    from rayshim import init_arguments as arguments
    from rayshim import num_threads

    placement = placement or os.environ.get("RAYSHIM_PLACEMENT") or "isolated"
    order, budget = arguments.check_order(ordering), arguments.budget(patience)
    kept = replayed = None
    record, replay = (record, replay) if record or replay else (os.environ.get("RAYSHIM_RECORD"), os.environ.get("RAYSHIM_REPLAY"))
    if record or replay:
        from rayshim import rerun

        kept, replayed, seed, order = rerun.prepare(record, replay, seed, order)
    if digest not in (True, False, "full"):
        raise ValueError(f"init(digest={digest!r}) at {calling()}: must be True, False or 'full'")
    arguments.check(address, num_cpus, num_gpus, object_store_memory, resources, labels, placement, accepted)
    if local_mode:
        placement = "inline"
    inline = placement == "inline"
    packed = None
    if placement == "packed" or not isinstance(placement, str):
        from rayshim import packing

        packed = (packing.packed() if placement == "packed" else placement).plan()
        placement = "packed"
    env = arguments.environment(runtime_env, job_config, accepted.get("_skip_env_hook"))
    logging_config = logging_config or (job_config.py_logging_config if job_config is not None else None)
    if logging_config is not None:
        logging_config.check()
    amounts, store = arguments.amounts(num_cpus, num_gpus, resources, object_store_memory)
    node = os.urandom(28).hex()
    settings = {
        "namespace": namespace or (job_config.ray_namespace if job_config is not None else None) or os.urandom(16).hex(),
        "placement": placement,
        "seed": seed,
        "ordering": order,
        "digest": bool(digest),
        "kept": kept and (kept, replayed),
        "node": node,
        "labels": arguments.node_labels(labels, node),
        "alias": "rayshim.alias" in sys.modules and sys.modules["rayshim.alias"].is_installed(),
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
        plugin="rayshim.serving",
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
    from rayshim import logs, serving, stuck, termination, unhandled, worker_lines

    if configure_logging:
        try:
            logs.configure(logging_level, logging_format)
        except BaseException:
            driver.stop()
            raise
    screen = worker_lines.Screen(plain=logging_config is not None) if arguments.shows_output(log_to_driver) else None
    driver.show = screen and screen.show
    driver.lost = unhandled.report
    serving.install(settings, "inline" if inline else "driver")
    serving.observe(settings)
    made = session.begin(session.Session(driver.control, settings, driver))
    made.screen = screen
    stuck.offer_picture()
    termination.begin()
    if logging_config is not None:
        logging_config.apply()
    if inline:
        from reactor.runtime.gpus import GpuShares

        made.inline_gpus = GpuShares(int(amounts.get("GPU", 0)))
        serving.begin_inline(made)
    logs.logger.info("Started a local Ray instance. (rayshim, %s, %g CPUs)", placement, amounts["CPU"])
    return RayContext(made)


@session.changes
def shutdown(*, wait_for_processes=False, _exiting_interpreter=False):
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
    from rayshim import termination
    from rayshim.stuck import withdraw_picture

    withdraw_picture()
    termination.end()
    orders.say_at_end()
    ended = session.end()
    ended.driver.stop()
    if ended.settings["kept"]:
        from rayshim import rerun

        rerun.end(ended.settings)
    if ended.screen is not None:
        ended.screen.end()


def _let_finish():
    """A program that ends while calls are at work gives them the half second that Ray gives them, for what they print."""
    import time

    deadline = time.monotonic() + _LAST_SECONDS
    while _core.workers_busy() and time.monotonic() < deadline:
        time.sleep(0.002)


def is_initialized():
    """Whether there is a session."""
    return session.current is not None


def remote(*args, **kwargs):
    """Decorator that makes a function or a class remote, plain (`@remote`) or with options (`@remote(num_cpus=2)`).

    Raises TypeError for what is neither a function nor a class, AssertionError and ValueError for wrong options.
    """
    if len(args) == 1 and not kwargs and (callable(args[0]) or isinstance(args[0], type)):
        return _make_remote(args[0], {})
    if args or not kwargs:
        from rayshim.options import REMOTE_USAGE

        raise AssertionError(REMOTE_USAGE)
    return lambda target: _make_remote(target, kwargs)


def _make_remote(target, given):
    from rayshim import options as opts

    if isinstance(target, (RemoteFunction, ActorClass)):
        raise TypeError(f"The @ray.remote decorator was applied twice to {target.__name__}. ({at('remote')}: apply it once)")
    if isinstance(target, type):
        return ActorClass(target, opts.actor_options(given))
    if not hasattr(target, "__code__") and type(target).__name__ != "cython_function_or_method":
        raise TypeError(f"The @ray.remote decorator must be applied to either a function or a class. ({at('remote')}: it was given {target!r:.80})")
    from rayshim.function import _is_generator

    checked = opts.task_options(given, is_generator=_is_generator(target))
    if checked.get("num_gpus"):
        checked.setdefault("max_calls", 1)  # Ray's rule: what the process holds of a GPU is given back after each call
    return RemoteFunction(target, checked)


def get(object_refs, *, timeout=None, _use_object_store=False):
    """The value of a ref, or the list of values of a list of refs.

    Waits until they are there; with `timeout` (seconds) GetTimeoutError when that is not enough. Raises the error of the first
    ref in the list that failed. A generator is given back as it is. Arrays are read-only views of shared memory. TypeError for what is not a ref; ValueError for a
    ref of an earlier session.
    """
    if timeout is not None:
        timeout = seconds(timeout, "get")
        if session.current is not None and session.current.settings["kept"] and not hasattr(_asking, "clock"):
            return _get_kept(object_refs, timeout)
    if type(object_refs) is ObjectRef:
        try:
            value = _core.get_one(object_refs, timeout)
        except ValueError:
            if object_refs.stale:
                raise _unknown([object_refs]) from None
            raise
        if value is _core.TIMED_OUT:
            _time_out(timeout, 1)
        return value
    if isinstance(object_refs, ObjectRefGenerator):
        return object_refs
    if isinstance(object_refs, ObjectRef):  # one made from an id
        raise _unknown([object_refs])
    if not isinstance(object_refs, list):
        if _is_compiled(object_refs):
            return object_refs.get(timeout)
        raise ValueError(
            f"Invalid type of object refs, {type(object_refs)}, is given. 'object_refs' must either be a single object ref "
            f"or a list of object refs. ({at('get')})"
        )
    for ref in object_refs:
        if not isinstance(ref, ObjectRef):
            if any(map(_is_compiled, object_refs)):
                return _get_compiled(object_refs, timeout)
            raise TypeError(
                f"Attempting to call `get` on the value {ref!r}, which is not an ray.ObjectRef. ({at('get')}: it takes what `.remote()` and `put` gave)"
            )
    if not object_refs:
        return []
    try:
        values = _core.get(object_refs, timeout)
    except ValueError:
        unknown = [ref for ref in object_refs if ref.stale]
        if unknown:
            raise _unknown(unknown) from None
        raise
    if values is None:
        _time_out(timeout, len(object_refs))
    return values


_asking = threading.local()  # has `clock` while `get` asks for what goes into the record


def _get_kept(refs, timeout):
    """`get` with a timeout in a run that is recorded, or follows a record."""
    from rayshim import rerun
    from rayshim.exceptions import GetTimeoutError

    got = []

    def ask():
        _asking.clock = True
        try:
            got.append(get(refs, timeout=timeout))
        except GetTimeoutError:
            return "timed out"
        except Exception as error:
            got.append(error)
        finally:
            del _asking.clock
        return "in time"

    def again(answer):
        if answer != "timed out":
            try:
                got.append(get(refs))
            except Exception as error:
                got.append(error)

    if rerun.kept().answered("get", rerun.site(sys._getframe(2)), ask, again) == "timed out":
        _time_out(timeout, len(refs) if isinstance(refs, list) else 1)
    if isinstance(got[0], Exception):
        raise got[0]
    return got[0]


def _is_compiled(ref):
    compiled = sys.modules.get("rayshim.experimental.compiled_dag_ref")
    return compiled is not None and isinstance(ref, compiled.CompiledDAGRef)


def _get_compiled(refs, timeout):
    if not all(map(_is_compiled, refs)):
        raise ValueError(
            "Invalid type of object refs. 'object_refs' must be a list of CompiledDAGRefs if there is any CompiledDAGRef within it. "
            f"({at('get')}: get the others in a call of their own)"
        )
    return [ref.get(timeout) for ref in refs]


def _unknown(refs):
    return ValueError(
        "You are trying to access Ray objects whose owner is unknown: they belong to an earlier init() that has been shut down, or were made "
        f"from an id alone. Owners not found for objects [{', '.join(ref.hex() for ref in refs)}]. ({at('get')}) Make them again after the new init()"
    )


def _time_out(timeout, n):
    _core.count_physical()
    from rayshim.exceptions import GetTimeoutError

    raise GetTimeoutError(f"Get timed out: some object(s) not ready. ({n} asked for, {timeout:g} s waited, {at('get')}) Give it more "
                          "time, or `wait` for those that are done")


def put(value, *, _owner=None, _tensor_transport=None):
    """Stores a copy of `value` and gives its ref. TypeError if it cannot be pickled or is a ref, ObjectStoreFullError if there is
    no room for it."""
    if session.current is None:
        session.ensure()
    if isinstance(value, ObjectRef):
        raise TypeError(
            "Calling 'put' on an ray.ObjectRef is not allowed. If you really want to do this, you can wrap the ray.ObjectRef in "
            f"a list and call 'put' on it. ({at('put')})"
        )
    try:
        return _core.put_recorded(value)
    except TypeError as error:
        if not hasattr(error, "value"):
            raise
        from rayshim.util.check_serialize import told

        raise told(error, f"the put value {value!r} ({at('put')})") from error


def wait(ray_waitables, *, num_returns=1, timeout=None, fetch_local=True):
    """Waits until `num_returns` of the refs are done (of a generator: its next one) or `timeout` seconds have passed.

    Returns (ready, not_ready), both in the order of the list; `ready` has at most `num_returns`. Without a timeout these are the
    first of the list, as in the program's serial run, as long as waiting for them costs no more than `init(patience=)` allows; then, and with
    `init(ordering="arrival")`, those that are done first, as in Ray. Raises TypeError for what is not a list of refs, ValueError for duplicates or a wrong `num_returns`.
    """
    refs = ray_waitables
    if isinstance(refs, (ObjectRef, ObjectRefGenerator)):
        raise TypeError(
            "wait() expected a list of ray.ObjectRef or ray.ObjectRefGenerator, got a single ray.ObjectRef or "
            f"ray.ObjectRefGenerator {refs} ({at('wait')}: put it into a list)"
        )
    if not isinstance(refs, list):
        raise TypeError(f"wait() expected a list of ray.ObjectRef or ray.ObjectRefGenerator, got {type(refs)} ({at('wait')})")
    if timeout is not None:
        timeout = seconds(timeout, "wait", least=0)
    if not refs:
        return [], []
    if num_returns <= 0:
        raise ValueError(f"Invalid number of objects to return {num_returns}. ({at('wait')}: num_returns is 1 or more)")
    if num_returns > len(refs):
        raise ValueError(
            f"num_returns cannot be greater than the number of ray_waitables provided to ray.wait. ({at('wait')}: num_returns={num_returns}, of {len(refs)} refs)"
        )
    if timeout is not None and session.current is not None:
        _core.count_physical()
    if session.current is not None and session.current.settings["kept"] and all(isinstance(ref, ObjectRef) for ref in refs):
        return orders.wait_kept(refs, num_returns, timeout, sys._getframe(1))
    try:
        if timeout is None and _core.logical() and session.current.settings["ordering"] != "arrival":
            return orders.wait(refs, num_returns, sys._getframe(1))
        return _core.wait(refs, num_returns, timeout)[:2]
    except TypeError:
        if not any(isinstance(ref, ObjectRefGenerator) for ref in refs):
            raise
        return wait_with_generators(refs, num_returns, timeout)
    except ValueError:
        known = [ref for ref in refs if isinstance(ref, ObjectRef) and not ref.stale]
        if not known or len(known) == len(refs):
            raise
    # As in Ray: those that nobody knows are never ready, and an error only if there are no others.
    ready = _core.wait(known, min(num_returns, len(known)), timeout)[0]
    done = set(ready)
    return ready, [ref for ref in refs if ref not in done]


def digest(seconds=60.0):
    """A running hash of what has passed the actors and tasks of this session: the arguments and results of every call, in each actor's
    order. Waits until the calls that were made have ended, for `seconds` at most. 16 hexadecimal digits, the same for two runs in which the same passed, in whatever placement.

    Errors count as such, whatever they say; calls of threaded and async actors, and what a generator yields, do not count. Sets of
    strings have another order in each interpreter unless PYTHONHASHSEED is set. RuntimeError without a session or with
    `init(digest=False)`.
    """
    s = session.current
    if s is None or not s.settings["digest"]:
        found = "no session is running. Call it between init() and shutdown()" if s is None else "init(digest=False) turned it off. Leave that out"
        raise RuntimeError(f"{at('digest')}: {found}")
    import time

    until, quiet = time.monotonic() + seconds, 0
    while quiet < 2 and time.monotonic() < until:
        quiet = quiet + 1 if _core.all_sleep() else 0
        time.sleep(0.001)
    return f"{_core.digest():016x}"


def kill(actor, *, no_restart=True):
    """Ends an actor at once, whatever it is doing; its pending and later calls get an ActorDiedError. With `no_restart=False` it is
    made anew if its `max_restarts` allows. ValueError if `actor` is no handle."""
    if not isinstance(actor, ActorHandle):
        raise ValueError(f"ray.kill() only supported for actors. For tasks, try ray.cancel(). Got: {type(actor)}. ({at('kill')})")
    s = session.ensure()
    link = actor._link
    if link.stale:
        from rayshim.serving import stale

        raise stale("actor handle")
    _core.count_physical()
    why = "it was killed by `ray.kill`."

    def end():
        if s.inline:
            from rayshim.inline import kill as kill_inline

            kill_inline(s, actor, why, no_restart)
        else:
            s.control.ask("kill", link.offset, why, no_restart)

    if s.settings["kept"]:
        from rayshim import rerun

        rerun.kill(link, end, sys._getframe(1))
    else:
        end()


def cancel(ray_waitable, *, force=False, recursive=True):
    """Cancels the task whose result the ref is: one that waits never runs, one that runs is interrupted (KeyboardInterrupt in it),
    or with `force` its worker is killed. Its ref then raises TaskCancelledError. A finished one is left alone.

    TypeError if it is no ref, ValueError for `force` on an actor's call. A method that is already running is not interrupted; a
    generator's goes no further than its next yield.
    """
    if isinstance(ray_waitable, ObjectRefGenerator):
        ray_waitable = ray_waitable.completed()
    if not isinstance(ray_waitable, ObjectRef):
        raise TypeError(f"ray.cancel() only supported for object refs. For actors, try ray.kill(). Got: {type(ray_waitable)}. ({at('cancel')})")
    from rayshim.cancelling import cancel_ref

    cancel_ref(ray_waitable, force, recursive)


def get_actor(name, namespace=None):
    """The handle of a named actor. ValueError if there is none of that name in the namespace (default: this session's)."""
    if not name:
        raise ValueError(f"Please supply a non-empty value to get_actor ({at('get_actor')})")
    s = session.ensure()
    found = find(name, namespace or s.namespace)
    if found is None:
        raise ValueError(
            f"Failed to look up actor with name '{name}'. This could because 1. You are trying to look up a named actor you "
            "didn't create. 2. The named actor died. 3. You did not use a namespace matching the namespace of the actor. "
            f"({at('get_actor')} looked in namespace {namespace or s.namespace!r}; list_named_actors(all_namespaces=True) gives the names there are)"
        )
    return found


def list_named_actors(all_namespaces=False):
    """Names of the living named actors of this namespace; with `all_namespaces` a list of {"namespace", "name"}."""
    s = session.ensure()
    if s.inline:
        names = [(n, ns) for (ns, n) in s.inline_names if find(n, ns) is not None]
    else:
        names = s.control.ask("names")
    if all_namespaces:
        return [{"namespace": ns, "name": n} for n, ns in names]
    return [n for n, ns in names if ns == s.namespace]


def get_runtime_context():
    """The RuntimeContext of the caller: who and where it is."""
    from rayshim.context import RuntimeContext

    session.ensure()
    return RuntimeContext()


def get_gpu_ids():
    """Ids of the GPUs that this worker may use; strings where CUDA_VISIBLE_DEVICES names the machine's, else ints."""
    from rayshim.context import gpu_ids

    return gpu_ids()


def report():
    """What was recorded and replayed so far, in all processes: a Report, which prints itself as a table and has `to_dict()`.
    RuntimeError without a session."""
    from rayshim import recorder

    return recorder.report(_session())


def graph():
    """The recorded graph of the program so far, a RecordedGraph: `text()`, `mermaid()`, `dot()`, `html(path)`. RuntimeError
    without a session, or if nothing was recorded (`replay_plans=False`)."""
    from rayshim import recorder

    return recorder.graph(_session())


def timeline(filename=None):
    """Calls and waits since the start as events for Perfetto or chrome://tracing: a list of dicts, or, with `filename`, written
    there as JSON. RuntimeError unless the session was started with `init(trace=True)` or `python -m rayshim --trace`."""
    from rayshim import tracing

    return tracing.timeline(_session(), filename)


def _session():
    if session.current is None:
        raise RuntimeError(f"there is no session: call init() first, and this before shutdown() (at {calling()})")
    return session.current


def register_serializer(cls, serializer, deserializer):
    """From now on values of class `cls` travel as `serializer(value)` and arrive as `deserializer(that)`, in this process's sends."""
    from reactor import codec

    codec.reducers[cls] = lambda value: (deserializer, (serializer(value),))


def deregister_serializer(cls):
    from reactor import codec

    codec.reducers.pop(cls, None)
