"""Checks the arguments of `init` and fills in the defaults from environment variables and the machine."""

import operator
import os
import time

from reactor import _core
from reactor.runtime.driver.driver import PATIENCE
from reactor.runtime.processes import control_groups

from rayshim.calls.options import check_namespace
from rayshim.environments import checking as environments
from rayshim.errors.address import get_node_ip_address
from rayshim.errors.user_code import at, calling
from rayshim.placement import kinds
from rayshim.resources import accelerators, gpus
from rayshim.session.switches import is_on

ORDERINGS = tuple(name.lower() for name in type(_core.Ordering).__match_args__)
_STORE_SHARE = 0.3  # of the machine's memory, as in Ray
_MEMORY_SHARE = 0.7
_SMALLEST_STORE = 1 << 20  # bytes
_RETRY_MS = 1000
_FULL_WAIT = "5"  # seconds
_FULLEST = "0.95"  # share of the disk that may be in use
_SPILL_NOTE = 2 << 30  # bytes on the disk at which the first message about spilling is shown

#: Arguments of Ray's `init` that are accepted and have no meaning on one machine without a dashboard.
ACCEPTED = frozenset(
    [
        "include_dashboard",
        "dashboard_host",
        "dashboard_port",
        "enable_resource_isolation",
        "cgroup_path",
        "system_reserved_cpu",
        "system_reserved_memory",
        "proxy_server_url",
        "allow_multiple",
        "storage",
    ]
)

#: Those that Ray does not document.
_PRIVATE = frozenset(
    [
        "_enable_object_reconstruction",
        "_plasma_directory",
        "_object_spilling_directory",
        "_node_ip_address",
        "_driver_object_store_memory",
        "_memory",
        "_redis_username",
        "_redis_password",
        "_temp_dir",
        "_metrics_export_port",
        "_system_config",
        "_tracing_startup_hook",
        "_node_name",
        "_skip_env_hook",
    ]
)


def check_order(ordering):
    """The ordering of the session. Raises ValueError for an unknown one."""
    ordering = ordering or os.environ.get("RAYSHIM_ORDERING") or "logical"
    if ordering not in ORDERINGS:
        raise ValueError(
            f"init(ordering={ordering!r}): must be one of {', '.join(map(repr, ORDERINGS))} (at {calling()})"
        )
    return ordering


def timing(given, seed, clock):
    """(TimingSetting, durations) for ordering="timed", see rayshim.timing.timing.prepare. `given`: init(timing=), `seed`: init(timing_seed=), `clock`: init(clock=).
    ValueError without a file."""
    from rayshim.timing import timing as timings

    path = given or os.environ.get("RAYSHIM_TIMING")
    if not path:
        raise ValueError(
            'init(ordering="timed") needs a timing file: init(timing=PATH), the option --timing, or RAYSHIM_TIMING. If the file is '
            f"not there, this run is measured and writes it (at {calling()})"
        )
    return timings.prepare(path, _timing_seed(seed), _clock(clock))


CLOCKS = ("physical", "logical")


def _clock(given):
    """init(clock=), or the environment's."""
    clock = given or os.environ.get("RAYSHIM_CLOCK") or CLOCKS[0]
    if clock not in CLOCKS:
        raise ValueError(f"init(clock={clock!r}): must be one of {', '.join(map(repr, CLOCKS))} (at {calling()})")
    return clock


def _timing_seed(given):
    """init(timing_seed=), or the environment's; None: not given. ValueError for no integer, and a negative one."""
    what = "init(timing_seed=) got"
    if given is None and (given := os.environ.get("RAYSHIM_TIMING_SEED") or None) is not None:
        what = "the environment variable RAYSHIM_TIMING_SEED is"
    try:
        if given is None or (number := parsed_timing_seed(given)) == 0:
            return None
    except ValueError:
        raise ValueError(f"{what} {given!r}: it must be an integer, 0 or more (at {calling()})") from None
    return number


def parsed_timing_seed(given):
    """A timing seed, an int. ValueError: it is none."""
    try:
        number = int(given) if isinstance(given, str) else operator.index(given)
    except TypeError:
        raise ValueError from None
    if number < 0:
        raise ValueError
    return number


def check_timed(placement, has_journal):
    """ValueError where there is no timed order: in a placement without other processes, and with a journal."""
    if placement == "inline":
        raise ValueError(
            'init(ordering="timed") has no meaning with placement="inline", where each call runs to its end inside `.remote()`: use placement="isolated" '
            f'or "packed", or another ordering (at {calling()})'
        )
    if has_journal:
        raise ValueError(
            'init(ordering="timed") cannot record or replay a journal: the timing file makes the run repeatable; leave record= and replay= out, or use '
            f"another ordering (at {calling()})"
        )


def check_no_timing(order, path, seed, clock):
    """ValueError for arguments of timed order in another one."""
    for name, value in (("timing", path), ("timing_seed", seed), ("clock", None if clock == CLOCKS[0] else clock)):
        if value is not None:
            raise ValueError(
                f'init({name}={value!r}) has no effect with ordering="{order}": use it with ordering="timed", or leave it out (at {calling()})'
            )


def seed(given):
    """The seed of the session, an int or None."""
    if given is None and (text := os.environ.get("RAYSHIM_SEED")):
        try:
            return int(text)
        except ValueError:
            raise ValueError(
                f"the environment variable RAYSHIM_SEED is {text!r}: it must be an integer (at {calling()})"
            ) from None
    return given


def hash_seed(seed):
    """{name: value} of the environment variable by which the hashes of str are the same in each run with this seed."""
    return {} if seed is None else {"PYTHONHASHSEED": str(int(seed) % 2**32)}


def budget(patience):
    """The budget for which logical order may block a caller: (seconds, share of the time).

    `patience`: None, a number of seconds, or a share of the time such as "25%", to which the default's seconds are added. Raises ValueError for
    anything else."""
    given = os.environ.get("RAYSHIM_PATIENCE") if patience is None else patience
    if given is None:
        return PATIENCE
    try:
        return parsed_budget(given)
    except ValueError:
        source = "the environment variable RAYSHIM_PATIENCE is" if patience is None else "init(patience=) got"
        raise ValueError(
            f"{source} {given!r}: it must be a number of seconds, 0 or more (math.inf: no limit), or a share of the time such as '25%' (at {calling()})"
        ) from None


def parsed_budget(given):
    """(seconds, share of the time) of a budget: see `budget`. ValueError: it is none."""
    try:
        if isinstance(given, str) and given.strip().endswith("%"):
            seconds, share = PATIENCE[0], float(given.strip()[:-1]) / 100
        elif isinstance(given, bool):
            raise ValueError
        else:
            seconds, share = float(given), 0.0
    except TypeError:
        raise ValueError from None
    if not (seconds >= 0 and 0 <= share <= 100):
        raise ValueError
    return seconds, share


#: Arguments of `init` for a session that the program starts: those that Ray has, too, and rayshim's own.
_LARGEST_AMOUNT = 1e14  # of a resource: the core counts in 1/10000, in 64 bits
RAYS_OF_SESSION = ("num_cpus", "num_gpus", "resources", "labels", "object_store_memory")
OWN_OF_SESSION = ("record", "replay", "seed", "ordering", "timing", "timing_seed", "clock", "patience", "placement")

_DEFAULT_RESOURCES = {  # resource -> the argument of `init` for its amount
    "CPU": "num_cpus",
    "GPU": "num_gpus",
    "memory": "_memory",
    "object_store_memory": "object_store_memory",
}


def check(num_cpus, num_gpus, store, resources, labels, namespace, placement, accepted):
    """Raises the exceptions of `init` for wrong arguments."""
    check_names(accepted)
    check_namespace(namespace, "init")
    if accepted.get("_temp_dir") and not os.path.isabs(accepted["_temp_dir"]):
        raise ValueError(f"temp_dir must be absolute path or None. ({at('init')}: it is {accepted['_temp_dir']!r})")
    for name, argument in _DEFAULT_RESOURCES.items():
        if name in (resources or {}):
            raise AssertionError(
                f"`{name}` cannot be a custom resource because it is one of the default resources. Use `{argument}` instead. ({at('init')})"
            )
    memory = accepted.get("_memory")
    given = {"CPU": num_cpus, "GPU": num_gpus, "memory": None if memory is None else int(memory)}
    _check_quantities({name: amount for name, amount in given.items() if amount is not None} | (resources or {}))
    if not isinstance(accepted.get("_system_config") or {}, dict):
        raise TypeError(f"The _system_config must be a dict. ({at('init')}: it is {accepted['_system_config']!r})")
    if not isinstance(accepted.get("_node_ip_address"), (str, type(None))):
        raise TypeError(
            f"_node_ip_address must be None or a string. ({at('init')}: it is {accepted['_node_ip_address']!r})"
        )
    for name in ("cgroup_path", "system_reserved_cpu", "system_reserved_memory"):
        if accepted.get(name) is not None and not accepted.get("enable_resource_isolation"):
            raise ValueError(
                f"{name} cannot be set when resource isolation is not enabled. Set enable_resource_isolation to True. ({at('init')})"
            )
    visible_ids = gpus.visible()
    if num_gpus is not None and visible_ids is not None and num_gpus > len(visible_ids):
        raise ValueError(
            f"Attempting to start raylet with {num_gpus} GPU, but CUDA_VISIBLE_DEVICES contains {visible_ids}. Give init(num_gpus=) at most {len(visible_ids)}, or list more GPUs in that variable (at {calling()})"
        )
    if store is not None and not isinstance(store, (int, float)):
        raise TypeError(f"object_store_memory must be a number of bytes. ({at('init')}: it is {store!r})")
    if store is not None and store < _SMALLEST_STORE:
        raise ValueError(
            f"Attempting to cap object store memory usage at {store} bytes, but the minimum allowed is {_SMALLEST_STORE} bytes. ({at('init')})"
        )
    for name, value in (labels or {}).items():
        if not (isinstance(name, str) and isinstance(value, str)):
            raise ValueError(f"init(labels={{{name!r}: {value!r}}}): names and values must be strings (at {calling()})")
    if placement not in (*kinds.NAMES, kinds.AUTO) and not kinds.is_file(placement):
        from rayshim.placement.packed import packed

        if not isinstance(placement, packed):
            raise ValueError(
                f"init(placement={placement!r}): must be one of {', '.join(map(repr, (*kinds.NAMES, kinds.AUTO)))}, packed(n), or the path of a file of roles, "
                f"which ends with .toml (at {calling()})"
            )


def roles(path):
    """The Roles of the file that `init(placement=)` names."""
    from rayshim.placement import roles_file

    try:
        return roles_file.read(path)
    except ValueError as error:
        raise ValueError(f"{error} (init(placement=) at {calling()})") from None


def check_roles(roles, amounts, has_journal):
    """ValueError if one of the Roles asks for more GPUs than there are in a session with these resources, {name: amount}, or cannot have a journal."""
    found = amounts.get("GPU", 0)
    for role in roles.roles:
        if (role.gpu or 0) > found:
            raise ValueError(
                f"{role.where}: role {role.name}: gpu = {role.gpu:g}, but the session has {found:g} GPUs. Lower it, or give init(num_gpus=) (at {calling()})"
            )
        if role.time_share and has_journal:
            raise ValueError(
                f"{role.where}: role {role.name}: time_share: off-loading depends on physical time, and a journal cannot repeat it. Remove time_share, or "
                f"leave record= and replay= out (at {calling()})"
            )


def _check_quantities(amounts):
    for name, amount in amounts.items():
        if not isinstance(amount, (int, float)):
            raise AssertionError(f"{name} ({type(amount)}): {amount} ({at('init')}: it must be a number)")
        if amount < 0:
            raise ValueError(
                f"Resource quantities must be nonnegative. Violated by resource '{name}' in {amounts}. ({at('init')})"
            )
        if not float(amount).is_integer():
            raise ValueError(
                f"Resource quantities must all be whole numbers. Violated by resource '{name}' in {amounts}. ({at('init')}: a task may ask for a "
                "fraction of one)"
            )
        if amount > _LARGEST_AMOUNT:
            raise ValueError(
                f"Resource quantities must be at most {_LARGEST_AMOUNT}. Violated by resource '{name}' in {amounts}. ({at('init')})"
            )


def check_names(accepted):
    """RuntimeError for arguments of `init` that Ray does not have."""
    unknown = [name for name in accepted if name not in ACCEPTED and name not in _PRIVATE]
    if unknown:
        raise RuntimeError(
            f"Unknown keyword argument(s): {', '.join(unknown)} ({at('init')}: help(rayshim.init) lists the arguments)"
        )


def check_address(address):
    """TypeError for an address that is no string, ValueError for an empty one."""
    if not isinstance(address, (str, type(None))):
        raise TypeError(f"address must be None or a string. ({at('init')}: it is {address!r})")
    if address == "":
        raise ValueError(
            f"Invalid address format: {address} ({at('init')}: host:port, ray://host:port, 'auto', 'local' or None)"
        )


def logging(given, job_config):
    """The LoggingConfig that holds, checked, or None."""
    if given and not hasattr(given, "check"):
        raise AttributeError(
            f"'{type(given).__name__}' object has no attribute '_apply' ({at('init')}: logging_config must be a LoggingConfig)"
        )
    config = given or (job_config.py_logging_config if job_config is not None else None)
    if config is not None:
        config.check()
    return config


def amounts(num_cpus, num_gpus, resources, store, memory=None):
    """({resource: amount} of the session, bytes of the store). RAY_OVERRIDE_RESOURCES, a JSON object, overrides the arguments."""
    override = _json_variable("RAY_OVERRIDE_RESOURCES")
    machine = control_groups.memory()
    store = int(store or machine * _STORE_SHARE)
    count = _gpu_count() if num_gpus is None else num_gpus
    totals = {
        "CPU": float(_cpus() if num_cpus is None else num_cpus),
        **({"GPU": count} if count else {}),
        **{str(name): amount for name, amount in (resources or {}).items()},
        **override,
    }
    if (message := accelerators.too_many(totals)) is not None:
        raise ValueError(f"{message} Ask for fewer, or list more in that variable ({at('init')})")
    if (kind := accelerators.type_of_machine(totals)) is not None:
        totals[f"accelerator_type:{kind}"] = 1.0
    totals.setdefault("memory", float(int(machine * _MEMORY_SHARE if memory is None else memory)))
    totals.setdefault("object_store_memory", float(store))
    totals.setdefault("node:__internal_head__", 1.0)
    totals.setdefault(f"node:{get_node_ip_address()}", 1.0)
    return totals, store


def _cpus():
    """CPUs of a session that names no number. As in Ray, the control group's limit counts unless RAY_USE_MULTIPROCESSING_CPU_COUNT is set."""
    if os.environ.get("RAY_USE_MULTIPROCESSING_CPU_COUNT"):
        return os.cpu_count() or 1
    return control_groups.whole_cpus()


def spilling(directory, accepted):
    """The argument `spilling` of reactor's Driver: where values go if the store is full; None: spilling is off, or no directory can be written. As in
    Ray, taken from the argument of `init`, `_system_config`, or environment variables."""
    import tempfile

    if str(_configured(accepted, "automatic_object_spilling_enabled", "true")).lower() in ("0", "false"):
        return None
    config = _configured(accepted, "object_spilling_config", None)
    if config and not directory:
        import json

        directory = (json.loads(config).get("params") or {}).get("directory_path")
        directory = directory[0] if isinstance(directory, list) else directory
    directory = directory or accepted.get("_temp_dir") or os.environ.get("RAY_TMPDIR")
    if not directory:
        try:
            directory = tempfile.gettempdir()
        except FileNotFoundError:  # all that may be used is read-only, as in some containers
            return None
    return {
        "directory": os.fspath(directory),
        "left": 1 - float(_configured(accepted, "local_fs_capacity_threshold", _FULLEST)),
        "remedy": "Set init(object_spilling_directory=) or RAY_TMPDIR to a writable directory",
        "note": int(_configured(accepted, "verbose_spill_logs", _SPILL_NOTE)),
        "note_text": "Set RAY_verbose_spill_logs=0 to disable this message.",
    }


def full_wait(accepted):
    """The argument `full_wait` of reactor's Driver: seconds for which a value waits for room in a full store. As in Ray, taken from `_system_config` or an
    environment variable."""
    return float(_configured(accepted, "oom_grace_period_s", _FULL_WAIT))


def retry_delay(accepted):
    """Seconds before a call that has failed is run again. As in Ray, taken from `_system_config` or an environment variable; without them, one second."""
    return _number(accepted, "task_retry_delay_ms", _RETRY_MS, 0) / 1000


def memory(accepted):
    """The argument `memory` of reactor's Driver: what is done when the machine's memory runs out. As in Ray, taken from `_system_config` or
    environment variables (https://docs.ray.io/en/latest/ray-core/scheduling/ray-oom-prevention.html)."""
    interval = _number(accepted, "memory_monitor_refresh_ms", 250, 0) / 1000
    share = _number(accepted, "memory_usage_threshold", 0.95, 0, 1)
    free = _number(accepted, "min_memory_free_bytes", -1, -1)
    return interval and {
        "interval": interval,
        "share": share,
        "free": None if free < 0 else int(free),
        "idle": int(_number(accepted, "idle_worker_killing_memory_threshold_bytes", 1 << 30, 0)),
        "retries": int(_number(accepted, "task_oom_retries", -1, -1)),
        "delay": _number(accepted, "task_oom_retry_delay_base_ms", 1000, 0) / 1000,
    }


def _configured(accepted, name, default):
    """A value of Ray's configuration: `_system_config`'s or, without it, the text of the environment variable RAY_name."""
    return (accepted.get("_system_config") or {}).get(name, os.environ.get(f"RAY_{name}") or default)


def _number(accepted, name, default, least, most=float("inf")):
    """A number of Ray's configuration. ValueError: it is none."""
    given = _configured(accepted, name, default)
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = None
    if number is None or not least <= number <= most:
        raise ValueError(f"RAY_{name} must be a number from {least} to {most}. ({at('init')}: it is {given!r})")
    return number


def node_labels(labels, node, amounts):
    """The labels of this machine: the default ones and those given. RAY_OVERRIDE_LABELS (a JSON object) overrides both. `amounts`: the session's resources."""
    from rayshim.api.node_labels import of_machine

    return {
        **of_machine(node, accelerators.type_of_machine(amounts)),
        **(labels or {}),
        **_json_variable("RAY_OVERRIDE_LABELS"),
        "ray.io/node-id": node,
    }


def environment(runtime_env, job_config, skip_hook):
    """The checked runtime environment of the session. If RAY_RUNTIME_ENV_HOOK names a function, that function is applied first."""
    given = runtime_env or (job_config.runtime_env if job_config is not None else None)
    if "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ:
        given = _joined(injected().get("runtime_env") or {}, given or {})
    hook = os.environ.get("RAY_RUNTIME_ENV_HOOK")
    if hook and not skip_hook:
        given = environments.imported(hook)(given)
    return environments.checked(given, "ray.init")


def injected():
    """The facts of a submitted job that its program gets: {"runtime_env": ..., "metadata": ...}, or {}."""
    return _json_variable("RAY_JOB_CONFIG_JSON_ENV_VAR")


def _joined(job, own):
    """The runtime environment of a submitted job and that of its program's `init`. ValueError where both say the same thing."""
    override = os.environ.get("RAY_OVERRIDE_JOB_RUNTIME_ENV") == "1"
    names, variables = (
        set(job) & set(own) - {"env_vars"},
        set(job.get("env_vars") or {}) & set(own.get("env_vars") or {}),
    )
    if (names or variables) and not override:
        raise ValueError(
            f"Failed to merge the Job's runtime env {job} with a ray.init's runtime env {own} because of a conflict. Specifying the same "
            "runtime_env fields or the same environment variable keys is not allowed. Use RAY_OVERRIDE_JOB_RUNTIME_ENV=1 to instruct Ray to "
            f"combine Job and Driver's runtime environment in the event of a conflict. (init() at {calling()})"
        )
    return environments.merged(job, own)


def shows_output(log_to_driver):
    """Whether the output of workers is shown: the argument if given, else RAY_LOG_TO_DRIVER, else True."""
    if log_to_driver is None:
        return is_on("RAY_LOG_TO_DRIVER", "1")
    return bool(log_to_driver)


def random_namespace():
    """A name that no other session has, as text of a UUID."""
    text = os.urandom(16).hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def session_name():
    """The session's name, with the time at which it began."""
    now = time.time()
    return f"session_{time.strftime('%Y-%m-%d_%H-%M-%S', time.localtime(now))}_{int(now % 1 * 1e6):06d}_{os.getpid()}"


def temp_dir(accepted):
    """Where Ray would keep the files of its sessions; here only a name for programs that ask."""
    import tempfile

    if given := accepted.get("_temp_dir") or os.environ.get("RAY_TMPDIR"):
        return os.fspath(given)
    try:
        return os.path.join(tempfile.gettempdir(), "ray")
    except FileNotFoundError:  # nothing can be written
        return "/tmp/ray"


def lifetime(job_config):
    """The lifetime of this driver's actors that are created without `lifetime=`."""
    return job_config.default_actor_lifetime if job_config is not None else "non_detached"


def _json_variable(name):
    import json

    text = os.environ.get(name)
    if not text:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(
            f"the environment variable {name} must be a JSON object, not {text!r}: {error} (init() at {calling()}: correct or unset it)"
        ) from None
    if not isinstance(value, dict):
        raise ValueError(
            f"the environment variable {name} must be a JSON object, not {text!r} (init() at {calling()}: correct or unset it)"
        )
    return value


def _gpu_count():
    import glob

    there, visible_ids = len(glob.glob("/dev/nvidia[0-9]*")), gpus.visible()
    return there if visible_ids is None else min(there, len(visible_ids))
