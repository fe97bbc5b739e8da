"""The timeline: who ran, waited and copied when."""

import json

import numpy as np

import rayshim as ray


@ray.remote(num_cpus=0)
class Worker:
    def work(self, n):
        return n

    def large(self):
        return np.ones(1 << 18)


@ray.remote(num_cpus=0)
class Async:
    async def work(self):
        return 1


def spans(events, kind):
    return [event for event in events if event.get("cat") == kind]


def test_calls_waits_and_copies_are_spans_on_rows_named_for_their_actors(tmp_path):
    ray.init(num_cpus=2, trace=True)
    try:
        worker, other = Worker.remote(), Async.remote()
        for i in range(5):
            assert ray.get(worker.work.remote(i)) == i
        assert ray.get(other.work.remote()) == 1
        ray.get([worker.large.remote(), ray.put(np.ones(1 << 18))])
        path = tmp_path / "trace.json"
        ray.timeline(str(path))
    finally:
        ray.shutdown()
    events = json.loads(path.read_text())
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert set(rows.values()) == {"driver", "Worker#0", "Async#0"}

    def row(event):
        return rows[event["pid"], event["tid"]]

    # The first segment makes the actors too, so the second is recorded as another one.
    assert [row(e) for e in spans(events, "replayed call") if e["name"] == "work"] == ["Worker#0"] * 3
    assert sorted(row(e) for e in spans(events, "ordinary call") if e["name"] == "work") == [
        "Async#0",
        "Worker#0",
        "Worker#0",
    ]
    assert len([e for e in spans(events, "wait") if row(e) == "driver"]) >= 7
    assert sorted((row(e), e["args"]["bytes"]) for e in spans(events, "copy")) == [
        ("Worker#0", 1 << 21),
        ("driver", 1 << 21),
    ]
    assert all(e["dur"] >= 0 and e["ts"] > 0 for e in events if e["ph"] == "X")


def test_without_trace_the_timeline_is_empty_and_says_why(tmp_path, capfd):
    ray.init(num_cpus=1)
    try:
        assert ray.timeline() == []
        assert ray.timeline(tmp_path / "out.json") is None
        assert json.loads((tmp_path / "out.json").read_text()) == []
    finally:
        ray.shutdown()
    said = capfd.readouterr().err
    assert said.count("init(trace=True)") == 2 and "test_tracing.py" in said
