"""Names of Ray's private modules that frameworks use do what programs expect of them."""

import importlib
import sys

import numpy as np
import pytest

import rayshim as ray
from rayshim._private import internal_api
from rayshim._private.runtime_env import nsight, packaging
from rayshim.scripts.scripts import memory_summary


def test_pynvml_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.delitem(sys.modules, "rayshim._private.thirdparty.pynvml", raising=False)
    with pytest.raises(ImportError, match="package nvidia-ml-py"):
        importlib.import_module("rayshim._private.thirdparty.pynvml")


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
