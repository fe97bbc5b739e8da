"""The timeline of calls and waits, for Perfetto and chrome://tracing."""

import json

from reactor import _core

from rayshim.session.ids import task_id

_KINDS = {  # (category, colour)
    _core.Span.CALL: ("call", "good"),
    _core.Span.WAIT: ("wait", "grey"),
    _core.Span.COPY: ("copy", "yellow"),
}


def timeline(session, filename=None):
    """See `rayshim.timeline`. Times are microseconds of the machine's monotonic clock. Each process and actor has a row."""
    from rayshim.recording.recorder import ANSWER_SECONDS, _names

    names = _names(session)
    events = []
    for slot, data in _core.recordings(ANSWER_SECONDS):
        pid = data["pid"]
        rows = set()
        for start, end, kind, actor, size, name, tag_hash, failed in data.get("events", ()):
            kind, colour = _KINDS[kind]
            rows.add(actor)
            events.append(
                {
                    "name": name or kind,
                    "cat": kind,
                    "ph": "X",
                    "ts": start / 1000,
                    "dur": (end - start) / 1000,
                    "pid": pid,
                    "tid": actor,
                    "args": {
                        "kind": kind,
                        **({"bytes": size} if size else {}),
                        **({"task_id": task_id(tag_hash).hex()} if tag_hash else {}),
                        **({"failed": True} if failed else {}),
                    },
                    "cname": colour,
                }
            )
        for actor in rows:
            label = names.get(actor, f"actor {actor}") if actor else "driver" if slot == 0 else "tasks"
            events.append({"name": "thread_name", "ph": "M", "pid": pid, "tid": actor, "args": {"name": label}})
        events.append(
            {
                "name": "process_name",
                "ph": "M",
                "pid": pid,
                "args": {"name": "driver" if slot == 0 else f"worker {pid}"},
            }
        )
    if filename is None:
        return events
    with open(filename, "w") as file:
        json.dump(events, file)
    return None
