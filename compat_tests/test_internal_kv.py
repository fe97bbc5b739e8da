"""Ray's internal key-value store: bytes by key and namespace, one table for all processes of the session."""

import importlib
import uuid

import pytest


@pytest.fixture
def kv(ray):
    return importlib.import_module(f"{ray.__name__}.experimental.internal_kv")


@pytest.fixture
def key():
    return uuid.uuid4().hex.encode()


def test_a_value_is_put_got_and_deleted(kv, key):
    assert kv._internal_kv_get(key) is None and not kv._internal_kv_exists(key)
    assert kv._internal_kv_put(key, b"one") is False
    assert kv._internal_kv_get(key) == b"one" and kv._internal_kv_exists(key)
    assert kv._internal_kv_put(key, "two") is True
    assert kv._internal_kv_get(key.decode()) == b"two"
    assert kv._internal_kv_del(key) == 1
    assert kv._internal_kv_get(key) is None
    assert kv._internal_kv_del(key) == 0


def test_a_value_that_is_there_stays_unless_it_may_be_overwritten(kv, key):
    kv._internal_kv_put(key, b"one")
    assert kv._internal_kv_put(key, b"two", overwrite=False) is True
    assert kv._internal_kv_get(key) == b"one"


def test_namespaces_are_apart(kv, key):
    kv._internal_kv_put(key, b"here", namespace="one")
    assert kv._internal_kv_get(key, namespace=b"one") == b"here"
    assert kv._internal_kv_get(key, namespace="other") is None
    assert kv._internal_kv_get(key) is None


def test_keys_are_listed_and_deleted_by_prefix(kv, key):
    for tail in (b"a", b"ab", b"b"):
        kv._internal_kv_put(key + tail, tail)
    assert sorted(kv._internal_kv_list(key + b"a")) == [key + b"a", key + b"ab"]
    assert kv._internal_kv_del(key + b"a", del_by_prefix=True) == 2
    assert kv._internal_kv_list(key) == [key + b"b"]


@pytest.mark.parametrize("size", [0, 1 << 16, (1 << 16) + 1, 3 << 20])
def test_a_value_of_any_size_is_whole(kv, key, size):
    value = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    kv._internal_kv_put(key, value)
    assert kv._internal_kv_get(key) == value


def test_all_processes_have_the_same_table(ray, kv, key):
    @ray.remote
    def write(name):
        module = importlib.import_module(name)
        before = module._internal_kv_get(key)
        module._internal_kv_put(key, b"from a task")
        return before

    kv._internal_kv_put(key, b"from the driver")
    assert ray.get(write.remote(kv.__name__)) == b"from the driver"
    assert kv._internal_kv_get(key) == b"from a task"


def test_a_library_may_connect_the_store_once_more(kv, key):
    kv._internal_kv_put(key, b"one")
    with pytest.raises(AssertionError):
        kv._initialize_internal_kv(None)
    client = kv.internal_kv_get_gcs_client()
    for reset in False, True:
        if reset:
            kv._internal_kv_reset()
            assert not kv._internal_kv_initialized()
        kv._initialize_internal_kv(object() if client is None else client)
        assert kv._internal_kv_initialized() and kv._internal_kv_get(key) == b"one"
