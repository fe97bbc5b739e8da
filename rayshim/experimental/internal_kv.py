"""Ray's internal key-value store: bytes by key and namespace, for all processes of the session. Source: ray.experimental.internal_kv."""

from reactor import _core

from rayshim.session import key_values, session

_reset_in = None  # number of the session in which the program has called `_internal_kv_reset`


def _bytes(text):
    return text.encode() if isinstance(text, str) else text


def _checked(key, namespace):
    key = _bytes(key)
    if not isinstance(key, bytes):
        raise AssertionError(
            f"a key of the internal key-value store is bytes or str, not {type(key).__name__}: {key!r}"
        )
    return _bytes(namespace), key


def _initialize_internal_kv(gcs_client):
    """Has nothing to do: each process of a session has its store. Raises AssertionError if `gcs_client` is None, as Ray does."""
    global _reset_in
    assert gcs_client is not None
    _reset_in = None


def _internal_kv_reset():
    """The store is as if it had not been connected yet, for `_internal_kv_initialized`."""
    global _reset_in
    _reset_in = _core.epoch()


def _internal_kv_initialized():
    """Whether there is a session."""
    return session.current is not None and _reset_in != _core.epoch()


def _pin_runtime_env_uri(uri, *, expiration_s):
    """Has nothing to do: directories of runtime environments are used where they are."""


def _internal_kv_get(key, *, namespace=None):
    """The value (bytes) of `key`, or None."""
    return key_values.ask("get", *_checked(key, namespace))


def _internal_kv_exists(key, *, namespace=None):
    return key_values.ask("exists", *_checked(key, namespace))


def _internal_kv_put(key, value, overwrite=True, *, namespace=None):
    """Stores `value` (bytes or str) and returns whether the key had a value before, which is kept unless `overwrite`."""
    value = _bytes(value)
    if not isinstance(value, bytes):
        raise AssertionError(f"a value of the internal key-value store is bytes or str, not {type(value).__name__}")
    return key_values.put(*_checked(key, namespace), value, overwrite)


def _internal_kv_del(key, *, del_by_prefix=False, namespace=None):
    """Deletes a key, or all that begin with it; returns how many there were."""
    return key_values.ask("delete", *_checked(key, namespace), del_by_prefix)


def _internal_kv_list(prefix, *, namespace=None):
    """The keys (bytes) that begin with `prefix`."""
    return key_values.ask("list", *_checked(prefix, namespace))


def internal_kv_get_gcs_client() -> None:
    """There is no such client: the store is the session's."""
    return
