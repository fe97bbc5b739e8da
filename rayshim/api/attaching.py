"""`init` with an address: this program becomes one of the drivers of a session that runs already."""

import contextlib
import os
import sys
import time
from dataclasses import dataclass, replace
from typing import NoReturn

from reactor.runtime.zygote import early_zygote

from rayshim.calls.options import check_namespace
from rayshim.errors import logs
from rayshim.errors.user_code import at, calling
from rayshim.placement import kinds
from rayshim.session import heads
from rayshim.session.version import VERSION


@dataclass
class AttachRequest:
    """The arguments of `init` that decide which session the program joins.

    Attributes:
        address: as it was given.
        of_session: {name: value} of the arguments that belong to a session, None where nothing was said; `of_driver`: those of one driver.
        how: what the program's logger and its workers' lines are to be like, as rayshim.api.beginning takes it.
        accepted: Ray's other arguments.
        serial: everything is to run in this process.
    """

    address: object
    of_session: dict
    of_driver: dict
    how: dict
    accepted: dict
    serial: bool

    def begin(self, recording, tracing):
        """Attaches this program to what it asks for. Gives the RayContext, or what real Ray's `init` gives; None: a session of its own is wanted.

        Raises ValueError for what is no address or cannot be had there, ConnectionError where nothing runs.
        """
        head = self._head()
        if head is None:
            return None
        early_zygote.end()
        given = {name: value for name, value in self.of_session.items() if value is not None}
        if isinstance(head, str):
            from rayshim.as_ray import on_ray

            on_ray.refuse_own(given)
            rest = {**self.of_driver, **self.how, **self.accepted}
            return on_ray.begin(head, {**given, **{name: value for name, value in rest.items() if value is not None}})
        from rayshim.api import arguments, beginning
        from rayshim.api.ray_context import RayContext

        check(head, given, self.accepted)
        arguments.check_names(self.accepted)
        check_namespace(self.of_driver["namespace"], "init")
        config = arguments.logging(self.of_driver["logging_config"], self.of_driver["job_config"])
        logs.configure_or_silence(self.how["configure_logging"], self.how["logging_level"], self.how["logging_format"])
        with contextlib.ExitStack() as undo:
            driver, settings = self._attach(head, config, recording, tracing, undo)
            kind = kinds.kind(settings.placement)
            context = RayContext(beginning.begin(driver, settings, kind, undo, logging_config=config, **self.how))
            undo.pop_all()
        return context

    def _head(self):
        """The facts of the head that is meant (see rayshim.session.heads), the address (str) of a real Ray cluster, or None."""
        address, directory = self.address, self.accepted.get("_temp_dir")
        if address in (None, "", "auto"):
            address = os.environ.get("RAY_ADDRESS") or address or None
        if address is None:
            return None if self.serial else _last(directory)
        if address == "local":
            return None
        if not isinstance(address, str) or not (address == "auto" or ":" in address):
            raise ValueError(
                f"Invalid address format: {address} ({at('init')}: host:port, ray://host:port, 'auto' or 'local')"
            )
        found = heads.find(address, directory)
        if found is None:
            from rayshim.as_ray import on_ray

            found = on_ray.cluster_at(address, directory)
            if found is None:
                _refuse(address)
        if self.serial:
            raise ValueError(
                f"init(address={address!r}) at {calling()}: inline placement is this one process, which cannot be part of another session. "
                "Leave the address out, or the placement"
            )
        return found

    def _attach(self, facts, logging_config, recording, tracing, undo):
        """A started reactor.runtime.driver.attached.Attached, and the settings of the session as this driver has it."""
        from reactor.runtime.driver.attached import Attached

        from rayshim.api import arguments
        from rayshim.calls.actor_class import slow_imports

        _check_version(facts)
        logs.logger.info("Connecting to existing Ray cluster at address: %s...", facts["address"])
        job_config, namespace = self.of_driver["job_config"], self.of_driver["namespace"]
        env = arguments.environment(self.of_driver["runtime_env"], job_config, self.accepted.get("_skip_env_hook"))
        connection = heads.connect(facts)
        if connection is None:
            _refuse(facts["address"])
        undo.callback(connection.close)
        own = {
            "placement": facts["placement"],
            "namespace": namespace
            or (job_config.ray_namespace if job_config is not None else None)
            or arguments.random_namespace(),
            "lifetime": arguments.lifetime(job_config),
            "alias": "rayshim.as_ray.alias" in sys.modules and sys.modules["rayshim.as_ray.alias"].is_installed(),
            "runtime_env": env,
            "logging": logging_config,
            "driver": os.getpid(),
            "recording": recording,
            "trace": tracing,
        }
        submission = arguments.injected().get("metadata", {}).get("job_submission_id")
        about = {
            "submission_id": submission,
            "remember": submission,  # of jobs it can be asked who their driver was
            "entrypoint": " ".join(sys.orig_argv),
            "started": time.time(),
        }
        driver = Attached(connection, own, slow_imports(False), about)
        undo.callback(driver.stop)
        driver.start()
        logs.logger.info("Connected to Ray cluster.")
        return driver, replace(driver.settings, address=facts["address"], dashboard=driver.facts.get("dashboard", ""))


def _last(directory):
    """The facts of the head that was started last, or None."""
    found, silent = heads.look(heads.HEAD, directory)
    for pid in silent:
        print(
            f"rayshim: {at('init')}: the session of `rayshim start --head` in process {pid} does not answer, and is treated as absent. It is stopped "
            "(`kill -CONT` continues it) or very busy; `rayshim stop` ends it",
            file=sys.stderr,
        )
    return found[0] if found else None


def _check_version(facts):
    """RuntimeError, as Ray's, if the session runs another version of rayshim or of Python: both would use the same memory."""
    theirs, own = (facts["version"], facts["python"][:2]), (VERSION, list(sys.version_info[:2]))
    if theirs != own:
        shown = [f"rayshim {version} on Python {'.'.join(map(str, python))}" for version, python in (theirs, own)]
        raise RuntimeError(
            f"Version mismatch: the session at {facts['address']} has {shown[0]}, and this process has {shown[1]}. ({_where(facts)}. For that session "
            "use its installation of rayshim)"
        )


def _refuse(address) -> NoReturn:
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
    from rayshim.api.arguments import OWN_OF_SESSION, RAYS_OF_SESSION

    their = "When connecting to an existing cluster, "
    for name in RAYS_OF_SESSION:
        if name in given:
            option = "num_cpus and num_gpus" if name in ("num_cpus", "num_gpus") else name
            raise ValueError(f"{their}{option} must not be provided. ({_where(facts)})")
    if accepted.get("_system_config"):
        raise ValueError(f"{their}_system_config must not be provided. ({_where(facts)})")
    if accepted.get("_enable_object_reconstruction"):
        raise ValueError(f"{their}_enable_object_reconstruction must not be provided. ({_where(facts)})")
    if accepted.get("_node_name") is not None:
        raise ValueError(f"_node_name cannot be configured when connecting to an existing cluster. ({_where(facts)})")
    for name in OWN_OF_SESSION:
        if name in given and name not in facts:
            raise ValueError(f"init({name}=): this argument is for a session of the program's own. ({_where(facts)})")
        if name in given and given[name] != facts[name]:
            raise ValueError(
                f"init({name}={given[name]!r}): the session that runs at {facts['address']} has {name} {facts[name]!r}. ({_where(facts)})"
            )


def _where(facts):
    return (
        f"{at('init')}: it attaches to the session at {facts['address']}; init(address='local') starts one of its own"
    )
