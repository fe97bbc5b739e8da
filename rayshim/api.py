"""The functions of Ray's top level."""

import os
import sys

from reactor import _core

from rayshim import session
from rayshim.actor import ActorClass, ActorHandle, find
from rayshim.function import RemoteFunction
from rayshim.refs import ObjectRef

_PLACEMENTS = ("isolated", "inline")
_DEFAULT_STORE_SHARE = 0.3  # of the machine's memory, as in Ray


def init(
    address=None,
    *,
    num_cpus=None,
    num_gpus=None,
    resources=None,
    object_store_memory=None,
    namespace=None,
    log_to_driver=None,
    ignore_reinit_error=False,
    local_mode=False,
    runtime_env=None,
    placement="isolated",
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
        object_store_memory: bytes that large values may take together; default 30% of the memory.
        namespace: where named actors are looked up; default: one of this session's own.
        log_to_driver: whether workers' output is shown here, each line with its origin; default True.
        ignore_reinit_error: a second init does nothing instead of raising RuntimeError.
        local_mode: same as placement="inline".
        runtime_env: {"env_vars": {...}, "working_dir": path, "py_modules": [path]} for the workers.
        placement: "isolated" (a process per actor, tasks in a pool) or "inline" (all in this process, each call run at the
            point of call; `pdb` works).
        seed: int; `random`, `numpy.random` and `torch` of every actor are then seeded from it and the actor's number, the same
            in each placement. Default: from the operating system.
        replay_plans: record the pattern of calls and follow it when it comes again; False turns this off, with the same results.
        trace: keep the times of calls and waits for `timeline`.
        accepted: Ray's other arguments, as include_dashboard, dashboard_host, logging_level, _system_config, _temp_dir. They
            have no meaning here and are ignored; a name that Ray does not have is a TypeError.

    Returns a RayContext. Raises RuntimeError if called twice, ConnectionError for a cluster's address, ValueError for bad
    numbers.
    """
    if session.current is not None:
        if ignore_reinit_error:
            return RayContext(session.current)
        raise RuntimeError(
            "Maybe you called ray.init twice by accident? This error can be suppressed by passing in "
            "'ignore_reinit_error=True' or by calling 'ray.shutdown()' prior to 'ray.init()'."
        )
    _check_init(address, num_cpus, num_gpus, object_store_memory, resources, placement, runtime_env, accepted)
    if local_mode:
        placement = "inline"
    inline = placement == "inline"
    gpus = _gpu_count() if num_gpus is None else num_gpus
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    store = int(object_store_memory or memory * _DEFAULT_STORE_SHARE)
    cpus = len(os.sched_getaffinity(0)) if num_cpus is None else num_cpus
    further = {**({"GPU": gpus} if gpus else {}), **(resources or {})}
    further.setdefault("memory", float(int(memory * 0.7)))
    further.setdefault("object_store_memory", float(store))
    further.setdefault("node:__internal_head__", 1.0)
    further.setdefault("node:127.0.0.1", 1.0)
    settings = {
        "namespace": namespace or os.urandom(16).hex(),
        "placement": placement,
        "seed": seed,
        "node": os.urandom(28).hex(),
        "alias": "rayshim.alias" in sys.modules and sys.modules["rayshim.alias"].is_installed(),
        "runtime_env": runtime_env or {},
        "resources": {"CPU": float(cpus), **further},
        "driver": os.getpid(),
        "recording": bool(replay_plans) and not os.environ.get("RAYSHIM_NO_PLANS"),
        "trace": bool(trace) or bool(os.environ.get("RAYSHIM_TRACE")),
    }
    from reactor.runtime.driver import Driver

    driver = Driver(
        cpus=cpus,
        resources=further,
        store_limit=store,
        plugin="rayshim.serving",
        settings=settings,
        preload=_preload(),
        show=None if log_to_driver is False else _show,
        inline=inline,
    )
    driver.start()
    from rayshim import serving

    serving.install(settings, "inline" if inline else "driver")
    serving.observe(settings)
    made = session.begin(session.Session(driver.control, settings, driver))
    if inline:
        from reactor.runtime.gpus import GpuShares

        made.inline_gpus = GpuShares(gpus)
    return RayContext(made)


def _check_init(address, num_cpus, num_gpus, store, resources, placement, runtime_env, accepted):
    if address not in (None, "local"):
        raise ConnectionError(
            f"ray.init(address={address!r}): rayshim runs on this machine, inside this program; there is no cluster to join. "
            "Leave the address out (and `ray start` away), or run the program with real Ray"
        )
    from rayshim.init_arguments import ACCEPTED

    for name in accepted:
        if name not in ACCEPTED and not name.startswith("_"):
            raise TypeError(f"init() got an unexpected keyword argument '{name}'")
    for name, value in (("num_cpus", num_cpus), ("num_gpus", num_gpus), ("object_store_memory", store)):
        if value is not None and value < 0:
            raise ValueError(f"init({name}={value!r}): must not be negative")
    if store is not None and store < 1 << 20:
        raise ValueError(f"init(object_store_memory={store}): at least 1 MiB (1048576 bytes) is needed")
    for name, amount in (resources or {}).items():
        if name in ("CPU", "GPU"):
            raise ValueError(f"init(resources=): use num_cpus and num_gpus instead of the resource '{name}'")
        if amount < 0:
            raise ValueError(f"init(resources={{{name!r}: {amount!r}}}): must not be negative")
    for kind in ("working_dir", "py_modules"):
        given = (runtime_env or {}).get(kind)
        for path in [given] if isinstance(given, str) else given or []:
            if not (isinstance(path, str) and os.path.isdir(path)):
                raise ValueError(f"init(runtime_env={{{kind!r}: {path!r}}}): must be a directory on this machine")
    if placement not in _PLACEMENTS:
        raise ValueError(f"init(placement={placement!r}): must be one of {', '.join(map(repr, _PLACEMENTS))}")


def _gpu_count():
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([d for d in visible.split(",") if d and d != "NoDevFiles"])
    import glob

    return len(glob.glob("/dev/nvidia[0-9]*"))


def _preload():
    return [name for name in ("numpy", "torch", "gymnasium") if name in sys.modules]


def _show(stream, label, pid, line):
    print(f"({label} pid={pid}) {line}", file=sys.stdout if stream == 1 else sys.stderr, flush=True)


class RayContext:
    """What `init` returns: facts of the session, by attribute or key; as a context manager it shuts down at the end."""

    def __init__(self, s):
        self.dashboard_url = None
        self.python_version = "{}.{}.{}".format(*sys.version_info[:3])
        self.ray_version = sys.modules["rayshim"].__version__
        self.address_info = {
            "node_id": s.settings["node"],
            "node_ip_address": "127.0.0.1",
            "address": "local",
            "gcs_address": "local",
            "session_dir": "",
            "webui_url": None,
        }

    def __getitem__(self, key):
        return self.address_info[key] if key in self.address_info else getattr(self, key)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        shutdown()

    def disconnect(self):
        shutdown()

    def __repr__(self):
        return f"RayContext(placement={session.current.settings['placement']!r})" if session.current else "RayContext(ended)"


def shutdown(*, wait_for_processes=False, _exiting_interpreter=False):
    """Ends the session: every worker, and the memory as far as the program has no arrays over it. Does nothing without one."""
    if session.current is None or session.current.driver is None:
        return
    for tell in session.before_end:
        try:
            tell()
        except Exception as error:  # the program's own end goes on
            print(f"rayshim: {tell.__name__}: {error}", file=sys.stderr)
    session.end().driver.stop()


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
        raise TypeError(f"The @ray.remote decorator was applied twice to {target.__name__}.")
    if isinstance(target, type):
        return ActorClass(target, opts.actor_options(given))
    if not hasattr(target, "__code__") and type(target).__name__ != "cython_function_or_method":
        raise TypeError("The @ray.remote decorator must be applied to either a function or a class.")
    from rayshim.function import _is_generator

    return RemoteFunction(target, opts.task_options(given, is_generator=_is_generator(target)))


def get(object_refs, *, timeout=None, _use_object_store=False):
    """The value of a ref, or the list of values of a list of refs.

    Waits until they are there; with `timeout` (seconds) GetTimeoutError when that is not enough. Raises the error of the first
    ref in the list that failed. Arrays are read-only views of shared memory. TypeError for what is not a ref; ValueError for a
    ref of an earlier session.
    """
    if type(object_refs) is ObjectRef:
        value = _core.get_one(object_refs, timeout)
        if value is _core.TIMED_OUT:
            _time_out(timeout, 1)
        return value
    if not isinstance(object_refs, list):
        raise ValueError(
            f"Invalid type of object refs, {type(object_refs)}, is given. 'object_refs' must either be a single object ref "
            "or a list of object refs."
        )
    for ref in object_refs:
        if not isinstance(ref, ObjectRef):
            raise TypeError(
                f"Attempting to call `get` on the value {ref!r}, which is not an ray.ObjectRef."
            )
    if not object_refs:
        return []
    values = _core.get(object_refs, timeout)
    if values is None:
        _time_out(timeout, len(object_refs))
    return values


def _time_out(timeout, n):
    session.current.physical_answers += 1
    from rayshim.exceptions import GetTimeoutError

    raise GetTimeoutError(f"Get timed out: {n} object{'s' if n > 1 else ''} not ready within {timeout} s.")


def put(value, *, _owner=None, _tensor_transport=None):
    """Stores a copy of `value` and gives its ref. TypeError if it cannot be pickled or is a ref, ObjectStoreFullError if there is
    no room for it."""
    if session.current is None:
        session.ensure()
    if isinstance(value, ObjectRef):
        raise TypeError(
            "Calling 'put' on an ray.ObjectRef is not allowed. If you really want to do this, you can wrap the ray.ObjectRef in "
            "a list and call 'put' on it."
        )
    return _core.put_recorded(value)


def wait(ray_waitables, *, num_returns=1, timeout=None, fetch_local=True):
    """Waits until `num_returns` of the refs are done or `timeout` seconds have passed.

    Returns (ready, not_ready), both in the order of the list; `ready` has at most `num_returns`. Raises TypeError for what is
    not a list of refs, ValueError for duplicates or a wrong `num_returns`.
    """
    refs = ray_waitables
    if isinstance(refs, ObjectRef):
        raise TypeError("wait() expected a list of ray.ObjectRef or ray.ObjectRefGenerator, got a single ray.ObjectRef.")
    if not isinstance(refs, list):
        raise TypeError(f"wait() expected a list of ray.ObjectRef or ray.ObjectRefGenerator, got {type(refs)}")
    if timeout is not None and timeout < 0:
        raise ValueError(f"The 'timeout' argument must be nonnegative. Received {timeout}")
    if not refs:
        return [], []
    if num_returns <= 0:
        raise ValueError(f"Invalid number of objects to return {num_returns}.")
    if num_returns > len(refs):
        raise ValueError("num_returns cannot be greater than the number of ray_waitables provided to ray.wait.")
    if timeout is not None and session.current is not None:
        session.current.physical_answers += 1
    return _core.wait(refs, num_returns, timeout)


def kill(actor, *, no_restart=True):
    """Ends an actor at once, whatever it is doing; its pending and later calls get an ActorDiedError. ValueError if `actor` is no handle."""
    if not isinstance(actor, ActorHandle):
        raise ValueError(f"ray.kill() only supported for actors. For tasks, try ray.cancel(). Got: {type(actor)}.")
    s = session.ensure()
    link = actor._link
    s.physical_answers += 1
    why = "it was killed by `ray.kill`."
    if s.inline:
        from rayshim.inline import kill as kill_inline

        kill_inline(s, actor, why)
    else:
        s.control.ask("kill", link.offset, why)


def cancel(ray_waitable, *, force=False, recursive=True):
    """Cancels the task whose result the ref is: one that waits never runs, one that runs is interrupted (KeyboardInterrupt in it),
    or with `force` its worker is killed. Its ref then raises TaskCancelledError. A finished one is left alone.

    TypeError if it is no ref, ValueError for `force` on an actor's call. A method that is already running is not interrupted.
    """
    if not isinstance(ray_waitable, ObjectRef):
        raise TypeError(f"ray.cancel() only supported for object refs. For actors, try ray.kill(). Got: {type(ray_waitable)}.")
    from rayshim.cancelling import cancel_ref

    cancel_ref(ray_waitable, force, recursive)


def get_actor(name, namespace=None):
    """The handle of a named actor. ValueError if there is none of that name in the namespace (default: this session's)."""
    if not name:
        raise ValueError("Please supply a non-empty value to get_actor")
    s = session.ensure()
    found = find(name, namespace or s.namespace)
    if found is None:
        raise ValueError(
            f"Failed to look up actor with name '{name}'. This could because 1. You are trying to look up a named actor you "
            "didn't create. 2. The named actor died. 3. You did not use a namespace matching the namespace of the actor."
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


def _amounts(which):
    session.ensure()
    amounts = {name: pair[which] / 10000 for name, pair in _core.resources().items()}
    if which == 1:
        amounts["object_store_memory"] -= _core.store_used()
    return amounts


def cluster_resources():
    """{resource: amount} that the machine offers."""
    return {name: amount for name, amount in _amounts(0).items() if amount}


def available_resources():
    """{resource: amount} that is free now; what is used up is left out."""
    return {name: amount for name, amount in _amounts(1).items() if amount > 0}


def nodes():
    """A list with this machine's entry, with the keys that Ray gives."""
    s = session.current
    if s is None:
        from rayshim.exceptions import RaySystemError

        raise RaySystemError("Ray has not been started yet. You can start Ray with 'ray.init()'.")
    return [
        {
            "NodeID": s.settings["node"],
            "Alive": True,
            "NodeManagerAddress": "127.0.0.1",
            "NodeManagerHostname": os.uname().nodename,
            "NodeManagerPort": 0,
            "ObjectManagerPort": 0,
            "ObjectStoreSocketName": "",
            "RayletSocketName": "",
            "MetricsExportPort": 0,
            "NodeName": "127.0.0.1",
            "alive": True,
            "Resources": cluster_resources(),
            "Labels": {"ray.io/node-id": s.settings["node"]},
        }
    ]


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
        raise RuntimeError("there is no session: call init() first, and this before shutdown()")
    return session.current


def register_serializer(cls, serializer, deserializer):
    """From now on values of class `cls` travel as `serializer(value)` and arrive as `deserializer(that)`, in this process's sends."""
    from reactor import codec

    codec.reducers[cls] = lambda value: (deserializer, (serializer(value),))


def deregister_serializer(cls):
    from reactor import codec

    codec.reducers.pop(cls, None)
