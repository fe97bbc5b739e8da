"""Collects the records of the state API from the supervisor and the recordings."""

from __future__ import annotations

import os
import sys
from hashlib import sha256

from reactor import _core

from rayshim.api.cluster import cluster_resources
from rayshim.errors.address import get_node_ip_address
from rayshim.placement import bundles
from rayshim.session import session
from rayshim.session.ids import actor_id, job_id
from rayshim.util.state.exception import RayStateApiException
from rayshim.util.state.records import ActorState, JobState, NodeState, PlacementGroupState, TaskState, WorkerState


def actors() -> list[ActorState]:
    return [_actor(f) for f in session.current.placement.state()["actors"]]


def _actor(f):
    demand = bundles.plain({k: v / _core.UNIT for k, v in f["demand"].items()})
    return ActorState(
        actor_id=actor_id(f["number"]).hex(),
        class_name=f["class_name"],
        state=f["state"],
        job_id=_job(),
        name=f["name"],
        node_id=_node(),
        pid=f["pid"],
        ray_namespace=f["namespace"],
        required_resources=demand,
        death_cause={"error_message": f["killed"]} if f.get("killed") else None,
        is_detached=f.get("detached", False),
        placement_group_id=f.get("within"),
        num_restarts=f.get("restarts", 0),
    )


def tasks() -> list[TaskState]:
    s = session.current
    if not s.settings["trace"]:
        raise RayStateApiException(
            "list_tasks: this session does not keep ended calls. Start it with init(trace=True), or use rayshim.report()"
        )
    from rayshim.plans.tracing import timeline

    found = []
    for event in timeline(s):
        if event["ph"] != "X" or event["cat"] == "wait":
            continue
        number = event["tid"]
        found.append(
            TaskState(
                task_id=sha256(repr((event["pid"], number, event["ts"], event["name"])).encode()).hexdigest()[:48],
                attempt_number=0,
                name=event["name"],
                state="FINISHED",
                job_id=_job(),
                actor_id=actor_id(number).hex() if number else None,
                type="ACTOR_TASK" if number else "NORMAL_TASK",
                func_or_class_name=event["name"],
                node_id=_node(),
                worker_pid=event["pid"],
                start_time_ms=event["ts"] / 1000,
                end_time_ms=(event["ts"] + event["dur"]) / 1000,
            )
        )
    return found


def nodes() -> list[NodeState]:
    return [
        NodeState(
            node_id=_node(),
            node_ip=get_node_ip_address(),
            is_head_node=True,
            state="ALIVE",
            state_message=None,
            node_name=get_node_ip_address(),
            resources_total=cluster_resources(),
            labels=session.current.settings["labels"],
        )
    ]


def jobs() -> list[JobState]:
    driver = session.current.settings["driver"]
    return [
        JobState(
            type="DRIVER",
            job_id=_job(),
            submission_id=None,
            status="RUNNING",
            entrypoint=" ".join(sys.orig_argv) if driver == os.getpid() else "",
            driver_info={"id": _job(), "node_ip_address": get_node_ip_address(), "pid": str(driver)},
        )
    ]


def workers() -> list[WorkerState]:
    s = session.current
    found = [("DRIVER", 0, s.settings["driver"])]
    found += [("WORKER", w["slot"], w["pid"]) for w in s.placement.state()["workers"]]
    return [
        WorkerState(
            worker_id=sha256(f"{_node()}/{slot}/{pid}".encode()).hexdigest()[:56],  # as RuntimeContext.get_worker_id
            is_alive=True,
            worker_type=kind,
            exit_type=None,
            node_id=_node(),
            ip=get_node_ip_address(),
            pid=pid,
        )
        for kind, slot, pid in found
    ]


def placement_groups() -> list[PlacementGroupState]:
    from rayshim.util.placement_group import placement_group_table

    return [
        PlacementGroupState(
            placement_group_id=key,
            name=entry["name"],
            creator_job_id=_job(),
            state=entry["state"],
            bundles=[
                {"bundle_id": f"{{{key}, {i}}}", "unit_resources": bundle, "node_id": entry["bundles_to_node_id"][i]}
                for i, bundle in entry["bundles"].items()
            ],
            is_detached=False,
            stats=entry["stats"],
        )
        for key, entry in placement_group_table().items()
    ]


def _node():
    return session.current.settings["node"]


def _job():
    return job_id().hex()
