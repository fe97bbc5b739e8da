"""`init` with an address: this program becomes one of the drivers of a session that runs already."""

import os
import sys
import time

from rayshim.errors.sites import at, calling
from rayshim.session import heads


def wanted(address, placement, local_mode, accepted):
    """The facts of the head that `init` is to attach to (see rayshim.session.heads), or None for a session of its own, or an address (str) of
    a real Ray cluster.

    Raises ValueError for what is no address, ConnectionError where nothing runs.
    """
    if address in (None, "", "auto"):
        address = os.environ.get("RAY_ADDRESS") or address or None
    directory = accepted.get("_temp_dir")
    serial = local_mode or placement == "inline"
    if address is None:
        return None if serial else heads.find("auto", directory)
    if address == "local":
        return None
    if not isinstance(address, str) or not (address == "auto" or ":" in address):
        raise ValueError(
            f"Invalid address format: {address} ({at('init')}: host:port, ray://host:port, 'auto' or 'local')"
        )
    found = heads.find(address, directory)
    if found is None:
        from rayshim.api import on_ray

        if on_ray.leads_to_ray(address):
            return address
        _refuse(address)
    if serial:
        raise ValueError(
            f"init(address={address!r}) at {calling()}: inline placement is this one process, which cannot be part of another session. "
            "Leave the address out, or the placement"
        )
    return found


def _refuse(address):
    if address == "auto":
        raise ConnectionError(
            f"{heads.NOT_FOUND} ({at('init')}: `rayshim start --head` starts one; without an address init starts a session of its own)"
        )
    raise ConnectionError(
        f"Failed to connect to Ray cluster at {address} ({at('init')}: no session of this user on this machine has that address. "
        "`rayshim status` shows those that run, `rayshim start --head` starts one)"
    )


def check(facts, given, accepted):
    """ValueError for arguments of `init` that are the session's, which is there already. `given`: {name: value} of those that are not None."""
    their = "When connecting to an existing cluster, "
    if "num_cpus" in given or "num_gpus" in given:
        raise ValueError(f"{their}num_cpus and num_gpus must not be provided. ({_where(facts)})")
    for name in ("resources", "labels", "object_store_memory"):
        if name in given:
            raise ValueError(f"{their}{name} must not be provided. ({_where(facts)})")
    if accepted.get("_system_config"):
        raise ValueError(f"{their}_system_config must not be provided. ({_where(facts)})")
    if accepted.get("_enable_object_reconstruction"):
        raise ValueError(f"{their}_enable_object_reconstruction must not be provided. ({_where(facts)})")
    if accepted.get("_node_name") is not None:
        raise ValueError(f"_node_name cannot be configured when connecting to an existing cluster. ({_where(facts)})")
    for name in ("ordering", "placement"):
        if name in given and given[name] != facts[name]:
            raise ValueError(
                f"init({name}={given[name]!r}): the session that runs at {facts['address']} has {name} {facts[name]!r}. ({_where(facts)})"
            )
    for name in ("patience", "seed", "record", "replay"):
        if name in given:
            raise ValueError(f"init({name}=): that is for a session of the program's own. ({_where(facts)})")


def _where(facts):
    return (
        f"{at('init')}: it attaches to the session at {facts['address']}; init(address='local') starts one of its own"
    )


def attach(facts, *, namespace, env, logging_config, job_config, recording, trace, accepted):
    """A started reactor.runtime.attached.Attached, and the settings of the session as this driver has it."""
    from reactor.runtime.attached import Attached

    from rayshim.api import arguments
    from rayshim.errors.logs import logger

    logger.info("Connecting to existing Ray cluster at address: %s...", facts["address"])
    connection = heads.connect(facts, accepted.get("_temp_dir"))
    if connection is None:
        _refuse(facts["address"])
    own = {
        "namespace": namespace
        or (job_config.ray_namespace if job_config is not None else None)
        or os.urandom(16).hex(),
        "alias": "rayshim.session.alias" in sys.modules and sys.modules["rayshim.session.alias"].is_installed(),
        "runtime_env": env,
        "logging": logging_config,
        "driver": os.getpid(),
        "recording": recording,
        "trace": trace,
    }
    submission = arguments.injected().get("metadata", {}).get("job_submission_id")
    about = {
        "submission_id": submission,
        "remember": submission,  # of jobs it can be asked who their driver was
        "entrypoint": " ".join(sys.orig_argv),
        "started": time.time(),
    }
    driver = Attached(connection, own, arguments.preload(), about)
    driver.start()
    logger.info("Connected to Ray cluster.")
    return driver, {**driver.settings, "address": facts["address"], "dashboard": driver.facts.get("dashboard", "")}
