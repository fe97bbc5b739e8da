"""`ray.experimental.internal_kv`: bytes under keys, for all processes of the session."""

from rayshim.errors.sites import at
from rayshim.session import session

_TOPIC = "internal_kv"


def internal_kv_get_gcs_client():
    """What stores the values; None without a session."""
    return session.current and session.current.control


def _internal_kv_initialized():
    """Whether there is a session."""
    return session.current is not None


def _internal_kv_get(key, *, namespace=None):
    """The value, bytes, or None."""
    return _all(namespace).get(_bytes(key))


def _internal_kv_exists(key, *, namespace=None):
    """Whether there is a value."""
    return _bytes(key) in _all(namespace)


def _internal_kv_put(key, value, overwrite=True, *, namespace=None):
    """Stores the value, or without `overwrite` leaves the one that is there. Returns whether there was one."""
    key, value = _bytes(key), _bytes(value)
    there = key in _all(namespace)
    if overwrite or not there:
        _store(namespace, key, value)
    return there


def _internal_kv_del(key, *, del_by_prefix=False, namespace=None):
    """Deletes the value, with `del_by_prefix` all whose keys begin so. Returns how many."""
    key = _bytes(key)
    gone = [one for one in _all(namespace) if one == key or del_by_prefix and one.startswith(key)]
    for one in gone:
        _store(namespace, one, None)
    return len(gone)


def _internal_kv_list(prefix, *, namespace=None):
    """The keys, bytes, that begin so."""
    return [key for key in _all(namespace) if key.startswith(_bytes(prefix))]


def _all(namespace):
    s = session.ensure()
    posted = s.posted if s.inline else s.control.ask("posted", _TOPIC)
    return {
        key[2]: value
        for key, value in posted.items()
        if key[:2] == (_TOPIC, _bytes(namespace, True)) and value is not None
    }


def _store(namespace, key, value):
    s = session.ensure()
    place = (_TOPIC, _bytes(namespace, True), key)
    if s.inline:
        s.posted[place] = value
    else:
        s.control.tell("post", place, value)


def _bytes(text, or_none=False):
    text = text.encode() if isinstance(text, str) else text
    if not isinstance(text, bytes) and not (or_none and text is None):
        raise AssertionError(f"keys and values must be str or bytes, not {text!r} ({at('internal_kv')})")
    return text
