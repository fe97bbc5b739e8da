"""Limits of control groups, read from files as the kernel writes them."""

import os

import pytest
from reactor.runtime.processes import control_groups
from reactor.runtime.processes.control_groups import memory, memory_group, processors

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
MIB = 1 << 20


@pytest.fixture
def kernel(tmp_path):
    """Writes files: kernel(of_process, {path: text}) gives the arguments of the functions."""

    def write(of_process, files):
        for path, text in {"proc/self/cgroup": of_process, **{f"groups/{p}": t for p, t in files.items()}}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(f"{text}\n")
        return str(tmp_path / "proc"), str(tmp_path / "groups")

    return write


OF_V1 = "4:memory:/\n1:cpu,cpuacct:/\n0::/"
V1 = {"memory/memory.limit_in_bytes": 9223372036854771712, "cpu/cpu.cfs_quota_us": -1, "cpu/cpu.cfs_period_us": 100000}


def test_without_control_groups_it_is_the_machine(tmp_path):
    nothing = str(tmp_path / "proc"), str(tmp_path / "groups")
    assert processors(*nothing) is None and memory_group(*nothing) is None
    assert memory(*nothing) == MACHINE


def test_groups_without_limits_are_the_machine(kernel):
    for of_process, files in (("0::/", {"memory.max": "max", "cpu.max": "max 100000"}), (OF_V1, V1)):
        given = kernel(of_process, files)
        assert processors(*given) is None
        assert memory(*given) == MACHINE


def test_limits_of_version_2(kernel):
    given = kernel("0::/", {"memory.max": 64 * MIB, "cpu.max": "150000 100000"})
    assert processors(*given) == 1.5
    assert memory(*given) == 64 * MIB


def test_limits_of_version_1(kernel):
    given = kernel(OF_V1, {**V1, "memory/memory.limit_in_bytes": 64 * MIB, "cpu/cpu.cfs_quota_us": 50000})
    assert processors(*given) == 0.5
    assert memory(*given) == 64 * MIB


@pytest.mark.parametrize(("inner", "outer"), [(64, 128), (128, 64)])
def test_the_least_limit_of_a_group_and_those_around_it_counts(kernel, inner, outer):
    given = kernel(
        "0::/job/step",
        {
            "job/memory.max": outer * MIB,
            "job/step/memory.max": inner * MIB,
            "job/step/cpu.max": "max 100000",
            "job/cpu.max": "200000 100000",
        },
    )
    assert memory(*given) == 64 * MIB
    assert processors(*given) == 2


def test_groups_of_others_do_not_count(kernel):
    given = kernel("0::/job", {"memory.max": "max", "other/memory.max": MIB, "other/cpu.max": "1000 100000"})
    assert memory(*given) == MACHINE and processors(*given) is None


@pytest.mark.parametrize("name", ["/docker/0123", "/../../outside"])
def test_in_a_container_the_group_that_is_mounted_counts(kernel, name):
    """There the names are the host's, or those of another namespace, and not in what is mounted."""
    given = kernel(f"4:memory:{name}\n1:cpu:{name}", {**V1, "memory/memory.limit_in_bytes": 64 * MIB})
    assert memory(*given) == 64 * MIB


def test_version_2_beside_version_1_is_under_unified(kernel):
    given = kernel(f"{OF_V1.rstrip('/')}/job", {**V1, "unified/job/cpu.max": "100000 100000"})
    assert processors(*given) == 1


def test_a_limit_above_the_machine_is_the_machine(kernel):
    assert memory(*kernel("0::/", {"memory.max": 4 * MACHINE})) == MACHINE


@pytest.mark.parametrize("text", ["", "many", "100000", "0 100000", "100000 0", "-1 100000"])
def test_text_that_is_no_limit_does_not_count(kernel, text):
    given = kernel("0::/", {"cpu.max": text, "memory.max": text})
    assert processors(*given) is None
    assert memory(*given) in (MACHINE, 100000)


def test_memory_in_use_has_no_pages_of_files(kernel):
    files = {
        "memory.max": 64 * MIB,
        "memory.current": 50 * MIB,
        "memory.stat": f"anon 1\ninactive_file {MIB}\nactive_file {9 * MIB}",
    }
    assert memory_group(*kernel("0::/", files)).used() == 40 * MIB


@pytest.mark.parametrize(
    ("limit", "whole", "cores"), [(None, 4, 8), (0.5, 1, 1), (1.0, 1, 1), (2.5, 2, 3), (6.0, 4, 6), (100.0, 4, 8)]
)
def test_numbers_of_processors(monkeypatch, limit, whole, cores):
    monkeypatch.setattr(control_groups, "processors", lambda: limit)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(4)))
    assert (control_groups.whole_cpus(), control_groups.cores()) == (whole, cores)
