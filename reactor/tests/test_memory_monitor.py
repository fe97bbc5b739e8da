"""What the memory monitor reads, and which workers it chooses. (That it ends them: compat_tests/test_memory_monitor.py.)"""

import os

import numpy as np
import pytest
from reactor.runtime.supervisor import out_of_memory
from reactor.runtime.supervisor.out_of_memory import Candidate, Usage, choose, usage

GIB = 1 << 30


def machine(directory, total, available):
    (directory / "meminfo").write_text(
        f"MemTotal: {total >> 10} kB\nMemFree: 1 kB\nMemAvailable: {available >> 10} kB\nHugePages_Total: 0\n"
    )
    return str(directory)


def group(directory, limit, current, files=("memory.max", "memory.current", "memory.stat"), prefix=""):
    for name, text in zip(
        files, (limit, current, f"anon 1\n{prefix}inactive_file {GIB}\n{prefix}active_file {GIB}\n"), strict=True
    ):
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(f"{text}\n")
    return str(directory)


def test_the_machine_if_no_group_allows_less(tmp_path):
    whole = machine(tmp_path, 24 * GIB, 20 * GIB)
    assert usage(whole, str(tmp_path / "none")) == Usage(4 * GIB, 24 * GIB)
    for limit in ("max", 25 * GIB, 1 << 63, 0, "what"):
        assert usage(whole, group(tmp_path, limit, 3 * GIB)) == Usage(4 * GIB, 24 * GIB)


V1 = ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat")


@pytest.mark.parametrize("form", [{}, {"files": V1, "prefix": "total_"}])
def test_a_group_that_allows_less(tmp_path, form):
    whole = machine(tmp_path, 24 * GIB, 20 * GIB)
    assert usage(whole, group(tmp_path, 8 * GIB, 5 * GIB, **form)) == Usage(
        3 * GIB, 8 * GIB
    )  # pages of files are not in use
    assert usage(whole, group(tmp_path, 8 * GIB, GIB, **form)) == Usage(0, 8 * GIB)


def test_this_machine():
    seen = usage()
    assert 0 < seen.used < seen.total <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_a_process_and_its_arrays():
    before = out_of_memory.resident(os.getpid())
    array = np.ones(50 << 17)
    assert before + array.nbytes * 0.9 < out_of_memory.resident(os.getpid()) < before + array.nbytes * 1.1
    assert out_of_memory.resident(1 << 30) == 0


def chosen(excess, *candidates, idle=GIB):
    return [c.worker for c in choose([Candidate(*c) for c in candidates], excess, idle)]


def test_the_latest_goes_first():
    assert chosen(1, ("a", 100, 1, True), ("b", 100, 3, True), ("c", 100, 2, True)) == ["b"]


def test_those_with_retries_go_before_those_without():
    assert chosen(1, ("a", 100, 1, True), ("b", 100, 3, False), ("c", 100, 2, False)) == ["a"]
    assert chosen(150, ("a", 100, 1, True), ("b", 100, 3, False), ("c", 100, 2, False)) == ["a", "b"]


def test_as_many_as_free_enough():
    workers = [(f"w{i}", 100, i, True) for i in range(1, 6)]
    assert chosen(100, *workers) == ["w5"]
    assert chosen(101, *workers) == ["w5", "w4"]
    assert chosen(10_000, *workers) == ["w5", "w4", "w3", "w2", "w1"]
    assert chosen(1) == []


def test_a_large_idle_worker_goes_before_all_and_a_small_one_stays():
    workers = ("busy", GIB, 1, True), ("small", 100, 0, False), ("large", 2 * GIB, 0, False)
    assert chosen(1, *workers) == ["large"]
    assert chosen(10 * GIB, *workers) == ["large", "busy"]
