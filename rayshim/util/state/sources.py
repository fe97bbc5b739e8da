"""Collects the records of the state API from the supervisor and /proc. Calls are in `calls`."""

from __future__ import annotations

import json
import os
import sys

from reactor import _core
from reactor.runtime.processes import process_stat

from rayshim.api.cluster import resources_of_the_node
from rayshim.environments.keys import thawed
from rayshim.errors.address import get_node_ip_address
from rayshim.errors.death_texts import why
from rayshim.errors.user_code import calling
from rayshim.jobs.types import DriverInfo, JobStatus, JobType
from rayshim.resources import bundles
from rayshim.session import session
from rayshim.session.ids import actor_id, job_id, worker_id
from rayshim.util.state.exception import RayStateApiException
from rayshim.util.state.records import (
    ActorState,
    JobState,
    NodeState,
    PlacementGroupState,
    StateSchema,
    WorkerState,
)


def actors() -> list[ActorState]:
    return [_actor(f) for f in session.current.placement.state()["actors"]]


def title_of(pid: int) -> str:
    """The title of a process: what its worker runs."""
    try:
        return process_stat.words(pid, "cmdline")[0].strip()
    except OSError:  # it has ended
        return ""


def _state(f):
    """The state of an actor. Of one that shares its process, nobody knows whether its constructor still runs."""
    if f["state"] == "ALIVE" and f["host"] is None and title_of(f["pid"]) == f"ray::{f['class_name']}.__init__":
        return "RESTARTING" if f.get("restarts") else "PENDING_CREATION"
    return f["state"]


def _actor(f):
    demand = bundles.plain({k: v / _core.UNIT for k, v in f["demand"].items()})
    hex_id = actor_id(f["tag_hash"]).hex()
    return ActorState(
        actor_id=hex_id,
        class_name=f["class_name"],
        state=_state(f),
        job_id=job(),
        name=f["name"],
        node_id=node() if f["pid"] or f["state"] == "DEAD" else None,
        pid=f["pid"],
        ray_namespace=f["namespace"],
        serialized_runtime_env=_env_of(f),
        repr_name="",
        required_resources=demand,
        death_cause=_cause(f, hex_id) if f.get("death") else None,
        is_detached=f.get("detached", False),
        placement_group_id=f.get("within"),
        num_restarts=f.get("restarts", 0),
        num_restarts_due_to_lineage_reconstruction=0,
        num_restarts_due_to_node_preemption=0,
        label_selector={},
    )


def _env_of(f):
    """The runtime environment of an actor as text, with spaces where it is that of the whole program, as on Ray."""
    own = "env" in f
    env = thawed(f["env"]) if own else session.current.settings.runtime_env
    shown = {name: value for name, value in env.items() if not isinstance(value, bytes)}
    return json.dumps(shown, sort_keys=True, separators=(",", ":") if own else None)


def _cause(f, hex_id):
    death = f["death"]
    if death["exit_reason"] == _core.ExitReason.CREATION_FAILED:
        return {"creation_task_failure_context": {"language": "PYTHON"}}  # its callers have the exception
    message = f"The actor is dead because {why({**death, 'actor': f})}"
    if death.get("memory"):
        return {"oom_context": {"error_message": message, "fail_immediately": False}}
    facts = {
        "error_message": message,
        "owner_ip_address": get_node_ip_address(),
        "node_ip_address": get_node_ip_address(),
        "pid": f["pid"],
        "name": f["name"],
        "ray_namespace": f["namespace"],
        "class_name": f["class_name"],
        "actor_id": hex_id,
        "never_started": death["pid"] == 0,
        "reason": _reason(death),
    }
    return {"actor_died_error_context": facts}


def _reason(death):
    if death["exit_reason"] == _core.ExitReason.OUT_OF_SCOPE:
        return "OUT_OF_SCOPE"
    if death["killed"] and "owner" in death["killed"]:
        return "OWNER_DIED"
    return "RAY_KILL" if death["killed"] else "WORKER_DIED"


def nodes() -> list[NodeState]:
    return [
        NodeState(
            node_id=node(),
            node_ip=get_node_ip_address(),
            is_head_node=True,
            state="ALIVE",
            state_message=None,
            node_name=get_node_ip_address(),
            resources_total=resources_of_the_node(),
            labels=session.current.settings.labels,
            start_time_ms=_session_start(),
            end_time_ms=0,
        )
    ]


def jobs() -> list[JobState]:
    driver = session.current.settings.driver
    return [
        JobState(
            type=JobType.DRIVER,
            job_id=job(),
            submission_id=None,
            driver_info=DriverInfo(id=job(), node_ip_address=get_node_ip_address(), pid=str(driver)),
            status=JobStatus.RUNNING,
            entrypoint=" ".join(sys.orig_argv) if driver == os.getpid() else "",
            message=None,
            error_type=None,
            start_time=_process_start(driver),
            end_time=0,
            metadata={},
            runtime_env=json.loads(_runtime_env_text()),
        )
    ]


def workers() -> list[WorkerState]:
    found = [("DRIVER", job().ljust(56, "f"), session.current.settings.driver)]
    found += [("WORKER", worker(w["slot"], w["pid"]), w["pid"]) for w in session.current.placement.state()["workers"]]
    return [
        WorkerState(
            worker_id=number,
            is_alive=True,
            worker_type=kind,
            exit_type=None,
            node_id=node(),
            ip=get_node_ip_address(),
            pid=pid,
            worker_launch_time_ms=_process_start(pid),
            worker_launched_time_ms=_process_start(pid),
            start_time_ms=_process_start(pid),
            end_time_ms=0,
        )
        for kind, number, pid in found
    ]


def placement_groups() -> list[PlacementGroupState]:
    from rayshim.util.placement_group import placement_group_table

    return [
        PlacementGroupState(
            placement_group_id=key,
            name=entry["name"],
            creator_job_id=job(),
            state=entry["state"],
            bundles=[
                {
                    "bundle_id": {"placement_group_id": key, "bundle_index": i},
                    "unit_resources": bundle,
                    "node_id": entry["bundles_to_node_id"][i],
                    "label_selector": {},
                }
                for i, bundle in entry["bundles"].items()
            ],
            is_detached=False,
            stats=entry["stats"],
            topology_strategy={},
            topology_assignments={},
        )
        for key, entry in placement_group_table().items()
    ]


def objects() -> list[StateSchema]:
    raise RayStateApiException(
        "rayshim keeps no list of objects and their refs, because a list would make each call slower. The command `rayshim memory`, "
        f"and ray._private.internal_api.memory_summary(), show how much memory they take in all. (at {calling()})"
    )


def runtime_envs() -> list[StateSchema]:
    raise RayStateApiException(
        "rayshim keeps no list of runtime environments: workers are started with them, and nothing is installed. "
        f"get_runtime_context().runtime_env tells a task, an actor or the driver its own. (at {calling()})"
    )


def cluster_events() -> list[StateSchema]:
    """Ray's events are about nodes that are added and removed; here is one."""
    return []


def node() -> str:
    return session.current.settings.node


def job() -> str:
    return job_id().hex()


def worker(slot: int, pid: int) -> str:
    """As RuntimeContext.get_worker_id."""
    return worker_id(node(), slot, pid)


def _runtime_env_text():
    from rayshim.worker.context import runtime_context

    return runtime_context.get_runtime_env_string()


def _session_start():
    """ms since 1970. The name of a session, "session_<date>_<time>_<microseconds>_<pid>", tells when it began."""
    import time

    _, day, clock, micros, _ = session.current.settings.session_name.split("_")
    return int(time.mktime(time.strptime(f"{day} {clock}", "%Y-%m-%d %H-%M-%S"))) * 1000 + int(micros) // 1000


def _process_start(pid):
    """ms since 1970; None if it has just ended."""
    try:
        ticks = process_stat.of_process(pid).start
        with open("/proc/stat") as file:
            boot = next(int(line.split()[1]) for line in file if line.startswith("btime"))
    except (OSError, StopIteration, ValueError):
        return None
    return boot * 1000 + ticks * 1000 // os.sysconf("SC_CLK_TCK")
