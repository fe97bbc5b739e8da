"""`init` where the machine gives little: limits of control groups, no directory that can be written. (packaging/small_places.py tries such places whole.)"""

import os
import tempfile

import numpy as np
import pytest
from reactor.runtime.processes import control_groups
from reactor.runtime.processes.control_groups import MemoryGroup

import rayshim as ray
from rayshim.exceptions import ObjectStoreFullError

GIB = 1 << 30


@pytest.fixture(autouse=True)
def ended():
    yield
    ray.shutdown()


@pytest.fixture
def limited(monkeypatch):
    """A control group that allows 1.5 CPUs and 1 GiB, on a machine that has more of both."""
    monkeypatch.setattr(control_groups, "processors", lambda: 1.5)
    monkeypatch.setattr(control_groups, "memory_group", lambda *_: MemoryGroup("", 2, GIB))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(4)))


def test_cpus_memory_and_the_store_follow_the_control_group(limited):
    ray.init(placement="inline")
    found = ray.cluster_resources()
    assert found["CPU"] == 1
    assert found["object_store_memory"] == int(0.3 * GIB)
    assert found["memory"] == int(0.7 * GIB)


def test_what_init_is_given_goes_before_the_control_group(limited):
    ray.init(placement="inline", num_cpus=3, object_store_memory=10 << 20)
    assert ray.cluster_resources()["CPU"] == 3
    assert ray.cluster_resources()["object_store_memory"] == 10 << 20


def test_the_machines_cores_on_demand_as_on_ray(limited, monkeypatch):
    monkeypatch.setenv("RAY_USE_MULTIPROCESSING_CPU_COUNT", "1")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    ray.init(placement="inline")
    assert ray.cluster_resources()["CPU"] == 5


@pytest.fixture
def nothing_writable(monkeypatch):
    def none():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    monkeypatch.delenv("RAY_TMPDIR", raising=False)


@pytest.mark.parametrize("placement", ["isolated", "inline"])
def test_without_a_directory_that_can_be_written_there_is_no_spilling(nothing_writable, placement):
    ray.init(placement=placement, num_cpus=1, object_store_memory=8 << 20, _system_config={"oom_grace_period_s": 0.1})
    one = ray.put(np.ones(1 << 19))
    assert ray.get(one).sum() == 1 << 19
    with pytest.raises(ObjectStoreFullError):
        kept = [ray.put(np.ones(1 << 19)) for _ in range(4)]
        assert not kept
