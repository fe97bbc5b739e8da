"""The calls of the session, as the state API lists them.

Without `init(trace=True)`, the runtime keeps no facts about a single call. These sources remain:

- the titles of the workers: the running calls;
- the queues: the tasks that wait for a worker;
- the counts that each process keeps for the recording: the number of ended calls of each function and method;
- the state of an actor: its constructor.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from reactor import _core

from rayshim.placement import interface, packed
from rayshim.session import session
from rayshim.session.ids import actor_id, task_id
from rayshim.util.state.records import TaskState
from rayshim.util.state.sources import job, node, title_of, worker

if TYPE_CHECKING:
    from collections.abc import Iterator

_ANSWER_SECONDS = 0.2  # for which a busy worker may delay a list, until it hands over its counts
_IDLE = {kind.idle_title.removeprefix("ray::") for kind in (interface.Placement, packed.PackedWorker)}
_warned = None  # the session whose user has been warned


def found() -> list[tuple[TaskState, int]]:
    """[(record, how many equal ones)]"""
    s = session.current
    state = s.placement.state()
    classes = {**s.actor_classes, **{a["number"]: a["class_name"] for a in state["actors"]}}
    recordings = _core.recordings(_ANSWER_SECONDS)
    running = list(_running(state))
    if s.settings.trace:
        ended = list(_traced(recordings, classes))
    else:
        ended = list(_counted(recordings, classes, {(t.worker_pid, t.name) for t in running}))
    listed = {t.actor_id for t in (*running, *(t for t, _ in ended)) if t.type == "ACTOR_CREATION_TASK"}
    single = (*running, *_queued(recordings), *(t for t in _constructors(state) if t.actor_id not in listed))
    ids: dict[Any, str] = {number: actor_id(tag_hash).hex() for number, tag_hash in s.actor_hashes.items()}
    ids.update((a["number"], actor_id(a["tag_hash"]).hex()) for a in state["actors"])
    records = [*((t, 1) for t in single), *ended]
    for task, _ in records:
        task.actor_id = ids.get(task.actor_id)
    return records


def tell() -> None:
    """Prints, once in a session, which calls and facts a list does not have."""
    global _warned
    s = session.current
    if _warned is s or s.settings.trace:
        return
    _warned = s
    print(
        "rayshim: this list has no ids and times of running and finished calls, no calls of async and threaded actors, no calls that wait for "
        "their arguments or in an actor's queue, and no finished calls of ended processes. Use init(trace=True) for ids and times",
        file=sys.stderr,
    )


def _task(number: int, name: str, state: str, pid: int | None, **more: Any) -> TaskState:
    creates = name.endswith(".__init__")
    slot = more.pop("slot", None)
    return TaskState(
        **{
            "task_id": "",
            "attempt_number": 0,
            "name": name,
            "state": state,
            "job_id": job(),
            "actor_id": number or None,  # `found` replaces it
            "type": "ACTOR_CREATION_TASK" if number and creates else "ACTOR_TASK" if number else "NORMAL_TASK",
            "func_or_class_name": name,
            "parent_task_id": "",
            "node_id": node() if pid else None,
            "worker_id": worker(slot, pid) if pid and slot is not None else None,
            "worker_pid": pid,
            "error_type": "TASK_EXECUTION_EXCEPTION" if state == "FAILED" else None,
            "language": "PYTHON",
            **more,
        }
    )


def _running(state) -> Iterator[TaskState]:
    actors = {}
    for a in state["actors"]:
        actors.setdefault(a["pid"], []).append(a)
    for w in state["workers"]:
        if not w["actor"]:
            title = str(_core.proc_info(w["slot"])["running"])
            if title:
                yield _task(0, title.removeprefix("ray::"), "RUNNING", w["pid"], slot=w["slot"])
            continue
        if record := _of_actor(actors.get(w["pid"], ()), title_of(w["pid"]).removeprefix("ray::"), w):
            yield record


def _of_actor(here, name, w):
    """The call that runs in a worker of actors. The title of a worker that several actors can share names the method, but not whose it is."""
    shared = any(a["host"] is not None for a in here)
    if shared and name and name not in _IDLE:
        one = here[0] if len(here) == 1 else None
        whole = f"{one['class_name']}.{name}" if one else name
        task = _task(one["number"] if one else 0, whole, "RUNNING", w["pid"], slot=w["slot"])
        task.type = "ACTOR_TASK"
        return task
    for a in here:
        if not shared and name.startswith(f"{a['class_name']}."):
            return _task(a["number"], name, "RUNNING", w["pid"], slot=w["slot"])
    return None


def _constructors(state) -> Iterator[TaskState]:
    """The constructor of each actor, as far as the actor's state tells of it."""
    for a in state["actors"]:
        death = a.get("death") or {}
        failed = death.get("exit_reason") == _core.ExitReason.CREATION_FAILED
        pending = a["state"] == "PENDING_CREATION"
        killed = not pending and death.get("pid", a["pid"]) == 0  # before it began
        function = f"{a['class_name']}.__init__"
        yield _task(
            a["number"],
            f"{a['name']}:{function}" if a["name"] else function,
            "PENDING_NODE_ASSIGNMENT" if pending else "FAILED" if failed or killed else "FINISHED",
            a["pid"] or None,
            func_or_class_name=function,
            node_id=None,
            error_type="TASK_EXECUTION_EXCEPTION" if failed else "WORKER_DIED" if killed else None,
        )


def _queued(recordings) -> Iterator[TaskState]:
    names = {}
    for _, data in recordings:
        for operation in data.get("operations", ()):
            if operation["kind"] == _core.OpKind.TASK:
                names[operation["target"]] = operation["name"]
    for tag_hash, function in _core.queued_tasks():
        yield _task(0, names.get(function, ""), "PENDING_NODE_ASSIGNMENT", None, task_id=task_id(tag_hash).hex())


def _named(number, name, classes):
    return f"{classes.get(number, 'actor')}.{name}" if number else name


def _counted(recordings, classes, running) -> Iterator[tuple[TaskState, int]]:
    for slot, data in recordings:
        pid = data["pid"]
        for number, name, calls, *_, failed in data.get("ran", ()):
            name = _named(number, name, classes)
            place = {"slot": slot if slot >= 0 else None}
            if good := calls - failed - ((pid, name) in running):
                yield _task(number, name, "FINISHED", pid, **place), good
            if failed:
                yield _task(number, name, "FAILED", pid, **place), failed


def _traced(recordings, classes) -> Iterator[tuple[TaskState, int]]:
    since_1970 = time.time() * 1e3 - time.monotonic() * 1e3
    for slot, data in recordings:
        for start, end, _kind, number, _size, name, tag_hash, failed in data.get("events", ()):
            if tag_hash:
                times = {
                    "creation_time_ms": None,
                    "start_time_ms": int(start / 1e6 + since_1970),
                    "end_time_ms": int(end / 1e6 + since_1970),
                }
                state = "FAILED" if failed else "FINISHED"
                place = {"slot": slot if slot >= 0 else None, "task_id": task_id(tag_hash).hex()}
                yield _task(number, _named(number, name or "?", classes), state, data["pid"], **place, **times), 1
