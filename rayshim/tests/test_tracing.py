"""The timeline: who ran, waited and copied when."""

import json

import numpy as np
import pytest

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

    assert sorted(row(e) for e in spans(events, "call") if e["name"] == "work") == ["Async#0", *["Worker#0"] * 5]
    assert len([e for e in spans(events, "wait") if row(e) == "driver"]) >= 7
    assert sorted((row(e), e["args"]["bytes"]) for e in spans(events, "copy")) == [
        ("Worker#0", 1 << 21),
        ("driver", 1 << 21),
    ]
    assert all(e["dur"] >= 0 and e["ts"] > 0 for e in events if e["ph"] == "X")


def test_without_trace_the_timeline_has_the_calls(tmp_path, capfd):
    @ray.remote
    def task(i):
        return 1 // i

    ray.init(num_cpus=1, log_to_driver=False, logging_level="ERROR")
    try:
        worker, other = Worker.remote(), Async.remote()
        ray.get([worker.work.remote(i) for i in range(20)] + [other.work.remote() for _ in range(3)])
        with pytest.raises(ZeroDivisionError):
            ray.get([task.remote(1), task.remote(0)])
        assert ray.timeline(tmp_path / "out.json") is None
    finally:
        ray.shutdown()
    events = json.loads((tmp_path / "out.json").read_text())
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    calls = [(rows[e["pid"], e["tid"]], e["name"]) for e in events if e["ph"] == "X"]
    assert calls.count(("Worker#0", "work")) == 20 and calls.count(("Async#0", "work")) == 3
    tasks = [e for e in events if e["name"] == "task"]
    assert sorted("failed" in e["args"] for e in tasks) == [False, True]
    assert all(e["dur"] >= 0 and e["ts"] > 0 for e in events if e["ph"] == "X")
    assert "timeline" not in capfd.readouterr().err


def test_without_trace_only_the_latest_calls_are_kept():
    ray.init(num_cpus=1, log_to_driver=False, logging_level="ERROR")
    try:
        worker = Worker.remote()
        for _ in range(10):
            ray.get([worker.work.remote(i) for i in range(8000)])
        assert 64 <= len([e for e in ray.timeline() if e["name"] == "work"]) <= 4096
    finally:
        ray.shutdown()
