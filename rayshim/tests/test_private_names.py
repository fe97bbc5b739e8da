"""Names of Ray's private modules that frameworks use do what programs expect of them."""

import importlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import rayshim as ray
from rayshim._private import internal_api
from rayshim._private.runtime_env import nsight, packaging
from rayshim._private.thirdparty import nvml
from rayshim.scripts.scripts import memory_summary

LIBRARY = r"""
#include <string.h>
static int started;
int nvmlInit_v2(void) { started++; return 0; }
int nvmlShutdown(void) { return started-- > 0 ? 0 : 1; }
int nvmlDeviceGetCount_v2(unsigned* count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) { if (index > 1) return 2; *handle = (void*)(long)(index + 1); return 0; }
int nvmlDeviceGetName(void* handle, char* name, unsigned size) { strncpy(name, handle == (void*)2 ? "second" : "first", size); return 0; }
int nvmlDeviceGetMemoryInfo(void* handle, unsigned long long* memory) { memory[0] = 80; memory[1] = 50; memory[2] = 30; return 0; }
const char* nvmlErrorString(int status) { return status == 2 ? "Invalid Argument" : "Unknown Error"; }
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A library in the place of NVIDIA's, with two GPUs."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "nvml.c").write_text(LIBRARY)
    path = tmp_path / "libnvml.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", path, tmp_path / "nvml.c"], check=True)
    monkeypatch.setattr(nvml, "_FILE", str(path))
    monkeypatch.setattr(nvml, "_library", None)


def test_the_machines_gpus_are_read_from_nvidias_library(library):
    nvml.nvmlInit()
    assert nvml.nvmlDeviceGetCount() == 2
    handle = nvml.nvmlDeviceGetHandleByIndex(1)
    assert nvml.nvmlDeviceGetName(handle) == "second"
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    assert (memory.total, memory.free, memory.used) == (80, 50, 30)
    with pytest.raises(nvml.NVMLError, match="Invalid Argument"):
        nvml.nvmlDeviceGetHandleByIndex(2)
    nvml.nvmlShutdown()


def test_without_nvidias_driver_the_error_says_so(monkeypatch):
    monkeypatch.setattr(nvml, "_library", None)
    with pytest.raises(nvml.NVMLError, match="call nvmlInit\\(\\) first"):
        nvml.nvmlDeviceGetCount()
    monkeypatch.setattr(nvml, "_FILE", "libnone.so.1")
    with pytest.raises(nvml.NVMLError, match="libnone.so.1, which comes with NVIDIA's driver"):
        nvml.nvmlInit()


def test_pynvml_is_there_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.delitem(sys.modules, "rayshim._private.thirdparty.pynvml", raising=False)
    pynvml = importlib.import_module("rayshim._private.thirdparty.pynvml")
    assert pynvml.NVMLError is nvml.NVMLError
    monkeypatch.delitem(sys.modules, "rayshim._private.thirdparty.pynvml")


def test_the_object_store_is_described():
    ray.init(num_cpus=1, object_store_memory=80_000_000)
    try:
        kept = [ray.put(np.ones(1_000_000)) for _ in range(3)]
        assert "Plasma memory usage 23 MiB, 30." in memory_summary(stats_only=True, num_entries=5)
        kept += [ray.put(np.ones(1_000_000)) for _ in range(10)]
        stats = internal_api.get_memory_info_reply().store_stats
        assert stats.spilled_bytes_total >= 8_000_000
        assert (
            f"Spilled {stats.spilled_bytes_total >> 20} MiB, {stats.spilled_objects_total} objects" in memory_summary()
        )
        del kept
    finally:
        ray.shutdown()
    with pytest.raises(ConnectionError, match="call ray.init\\(\\) first"):
        memory_summary()


def test_modules_that_only_a_cluster_needs_can_be_imported_and_reloaded():
    assert importlib.reload(packaging) is packaging
    assert nsight.__file__.endswith("nsight.py")
