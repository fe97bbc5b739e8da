"""What --explain says of a run: what limits its speed, and what would make it faster."""

import re
import subprocess
import sys

import pytest
from reactor.recording.patterns import Divergence, Operation, Pattern, Recording, Result, Source, Timing

from rayshim.recording.advice import advise

CORES = 2


def step(k, *sources, layout="int", size=8, site="t.py:3"):
    return Operation(f"Env#{k}", "step", site, sources, (Result(layout, size),), k + 1)


def after(k):
    return Source("operation", 0, k)


def pattern(operations, own, wait, runs=100, end="t.py:4"):
    return Pattern("driver", tuple(operations), "get", runs, (own + wait) * runs, 0, 0, None, end, wait * runs)


def said(*patterns, times=1e-3, divergences=(), counters=(), workers=()):
    """The advice on these patterns, in which each step of an Env takes `times` seconds."""
    names = {operation.name for s in patterns for operation in s.operations}
    measured = {name: Timing(10, 10 * times) for name in names}
    recording = Recording(patterns, {}, tuple(divergences), dict(counters), measured, dict.fromkeys(workers, 0))
    return "\n".join(advise(recording, CORES, "packed" if workers else "isolated"))


def test_the_parts_of_a_round_are_told():
    text = said(pattern([step(k) for k in range(4)], own=1e-3, wait=3e-3))
    assert "The calls before the get at t.py:4 take 100% of the driver's time: 100 rounds of 4 ms" in text
    assert "own code takes 1 ms (25%) and its wait 3 ms" in text


@pytest.mark.parametrize(
    ("operations", "own", "wait", "times", "found"),
    [
        ([step(k) for k in range(4)], 9e-3, 2e-3, 1e-3, "The driver's own code limits the speed"),
        (
            [step(k) for k in range(4)],
            1e-4,
            2e-3,
            1e-3,
            "The methods' own time limits the speed: 4 ms a round on 2 cores",
        ),
        (
            [step(0), *(step(k, after(k - 1)) for k in range(1, 4))],
            1e-4,
            4e-3,
            1e-3,
            "Calls that have to run one after the other",
        ),
        (
            [step(0) for _ in range(4)],
            1e-4,
            4e-3,
            1e-3,
            "Calls that have to run one after the other limit the speed: Env.step (4 times)",
        ),
        ([step(k) for k in range(4)], 1e-5, 1e-4, 1e-6, "The calls are short: 1 µs each"),
        ([step(k) for k in range(4)], 1e-4, 9e-2, 1e-3, "the rest of the wait is other"),
    ],
    ids=["driver", "methods", "chain", "one actor", "short", "elsewhere"],
)
def test_what_limits_a_round_is_told(operations, own, wait, times, found):
    assert found in said(pattern(operations, own, wait), times=times)


def test_many_short_calls_to_separate_processes_suggest_to_share_them():
    short = [step(k) for k in range(4)]
    assert 'placement="packed" or "auto"' in said(pattern(short, 1e-5, 1e-4), times=1e-6)
    assert "placement=" not in said(pattern(short, 1e-5, 1e-4), times=1e-6, workers=["Env#0"])
    assert "placement=" not in said(pattern(short[:2], 1e-5, 1e-4), times=1e-6)


def test_the_start_of_a_program_and_small_patterns_are_left_out():
    text = said(
        pattern([step(0)], 1, 1, runs=1, end="t.py:1"),
        pattern([step(1)], 1e-3, 0.1, runs=100),
        pattern([step(2)], 1e-6, 1e-6, end="t.py:9"),
    )
    assert "t.py:4" in text and "t.py:1 " not in text and "t.py:9" not in text


def test_a_program_without_a_repeated_pattern_is_told_so():
    assert said(pattern([step(0)], 1, 1, runs=1)).startswith("No pattern of calls")


def test_large_pickled_values_are_named():
    text = said(pattern([step(k, layout="pickle", size=50_000) for k in range(4)], 1e-3, 3e-3))
    assert "Pickled: the result of Env.step, 19.1 MB in all" in text
    assert "Pickled" not in said(pattern([step(k, layout="pickle", size=50) for k in range(4)], 1e-3, 3e-3))


def test_one_large_value_for_several_calls_suggests_put():
    weights = Source("value", layout="float32[250000]", bytes=1_000_000)
    assert "Given by value: float32[250000] of 977 KB to 4 calls at t.py:3" in said(
        pattern([step(k, weights) for k in range(4)], 1e-3, 3e-3)
    )
    assert "Given by value" not in said(pattern([step(0, weights)], 1e-3, 3e-3))


def test_frequent_divergences_are_named():
    left = [
        Divergence("driver", "step.remote on Env#1", "step.remote on Env#2", "t.py:3", "t.py:5", "other actor", 700)
    ]
    counters = {"calls_total": 10_000, "calls_in_patterns": 6_000}
    text = said(pattern([step(0)], 1e-3, 3e-3), divergences=left, counters=counters)
    assert "40% of the calls did not follow a learned pattern" in text and "t.py:5" in text


def test_explain_tells_it_of_a_program(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import time, ray\n"
        "@ray.remote\n"
        "class Slow:\n"
        "    def step(self): time.sleep(0.01)\n"
        "slow = Slow.remote()\n"
        "for _ in range(30):\n"
        "    ray.get([slow.step.remote() for _ in range(2)])\n"
    )
    run = subprocess.run([sys.executable, "-m", "rayshim", "--explain", str(script)], capture_output=True, text=True)
    assert "Calls that have to run one after the other limit the speed: Slow.step (2 times)" in run.stderr, run.stderr
    assert re.search(r"^Slow#0 \|.*\*\*\*.*\| step 2 times, \d\d(\.\d)? ms$", run.stderr, re.MULTILINE), run.stderr


def test_the_time_of_tasks_counts():
    task = Operation("task:f", "", "t.py:3")
    recording = Recording((pattern([task] * 4, 1e-4, 2e-3),), measured={"task:f.call": Timing(100, 0.1)})
    assert "The methods' own time limits the speed: 4 ms a round" in "\n".join(advise(recording, CORES))
