"""`init` refuses wrong amounts of resources and of memory."""

import pytest


@pytest.mark.parametrize(("arguments", "error", "text"), [
    ({"_memory": -1}, ValueError, "Resource quantities must be nonnegative. Violated by resource 'memory'"),
    ({"_memory": "x"}, ValueError, "invalid literal for int"),
    ({"resources": {"lamp": None}}, AssertionError, "lamp .<class 'NoneType'>.: None"),
    ({"resources": {"lamp": "x"}}, AssertionError, "lamp .<class 'str'>.: x"),
    ({"resources": {"lamp": -1}}, ValueError, "Resource quantities must be nonnegative. Violated by resource 'lamp'"),
    ({"resources": {"CPU": 1}}, AssertionError, "`CPU` cannot be a custom resource because it is one of the default resources"),
    ({"num_cpus": float("nan")}, ValueError, "Resource quantities must all be whole numbers. Violated by resource 'CPU'"),
    ({"num_cpus": float("inf")}, ValueError, "Resource quantities must all be whole numbers. Violated by resource 'CPU'"),
    ({"num_cpus": 1.5}, ValueError, "Resource quantities must all be whole numbers. Violated by resource 'CPU'"),
    ({"num_cpus": -1}, ValueError, "Resource quantities must be nonnegative. Violated by resource 'CPU'"),
    ({"num_cpus": "2"}, AssertionError, "CPU .<class 'str'>.: 2"),
    ({"object_store_memory": 1000}, ValueError, "Attempting to cap object store memory usage at 1000 bytes, but the minimum allowed is"),
    ({"object_store_memory": -1}, ValueError, "Attempting to cap object store memory usage at -1 bytes, but the minimum allowed is"),
    ({"object_store_memory": "x"}, TypeError, None),
    ({"_system_config": [1]}, TypeError, "The _system_config must be a dict."),
], ids=repr)
def test_wrong_amounts_are_refused(backend, bare_ray, arguments, error, text):
    with pytest.raises(error, match=text):
        backend.init(**arguments)
    assert not bare_ray.is_initialized()


def test_amounts_of_memory_are_cut_to_whole_bytes(backend, bare_ray):
    backend.init(num_cpus=1, _memory=1.5, object_store_memory=(80 << 20) + 0.5)
    found = bare_ray.cluster_resources()
    assert (found["memory"], found["object_store_memory"]) == (1, 80 << 20)


def test_no_memory_is_no_resource(backend, bare_ray):
    backend.init(num_cpus=1, _memory=0)
    assert "memory" not in bare_ray.cluster_resources()
