"""Short texts of values for a journal. A text takes some microseconds, however large the value is: arrays are not formatted, only hashed."""

import dataclasses
import itertools
import re
from collections import deque

from reactor import _core

_MOST = 400  # characters of a text
_ITEMS = 6  # of a container that are shown
_DEPTH = 3  # of containers in containers
_IN_ARRAY = 4  # items of an array that are shown
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_BRACKETS = {
    list: "[]",
    tuple: "()",
    set: "{}",
    frozenset: ("frozenset({", "})"),
    deque: ("deque([", "])"),
}
_FLOATS = ", ".join(["%.6g"] * _IN_ARRAY)
_makers = {}  # class -> function (value, depth) -> text
_forms = {}  # (dtype, shape) of arrays -> their texts
_MOST_FORMS = 1000


def short_text(value):
    """A text of at most 400 characters. It has no addresses, so that equal values have equal texts in each run, as far as their classes allow."""
    try:
        text = _text(value, _DEPTH)
    except Exception as error:  # the program's own __repr__
        return f"<{type(value).__name__}: its repr raises {type(error).__name__}>"
    return text if len(text) <= _MOST else text[: _MOST - 3] + "..."


def error_text(error):
    """The class of an exception and its message."""
    try:
        message = str(error)
    except Exception as other:
        message = f"<its str raises {type(other).__name__}>"
    return f"{type(error).__name__}: {message}"[:_MOST]


def given_texts(given):
    """The texts of a call's arguments. given: (args, kwargs or None), or None for a call that got no arguments, because one of them failed."""
    if given is None:
        return []
    args, kwargs = given
    texts = [short_text(value) for value in args]
    if kwargs:
        texts += [f"{name}={short_text(value)}" for name, value in kwargs.items()]
    return texts


def _text(value, depth):
    kind = type(value)
    make = _makers.get(kind)
    if make is None:
        if len(_makers) > _MOST_FORMS:  # of classes that the program makes again and again
            _makers.clear()
        make = _makers[kind] = _BUILTIN.get(kind) or _maker(kind)
    return make(value, depth)


def _maker(kind):
    """The function (value, depth) -> text for values of a class that is not built in."""
    if hasattr(kind, "shape") and hasattr(kind, "dtype"):
        of = kind.__module__.partition(".")[0]
        return _tensor if of == "torch" else _array if hasattr(kind, "flat") else _other_array
    if hasattr(kind, "shape") and hasattr(kind, "dtypes"):
        return lambda value, depth: f"{kind.__name__}[{', '.join(map(str, value.shape))}]"
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        names = [f"{name}=" for name in kind._fields]  # pyright: ignore[reportAttributeAccessIssue]
        return lambda value, depth: _pairs(f"{kind.__name__}(", zip(names, value), len(value), ")", depth)
    if dataclasses.is_dataclass(kind):
        return _dataclass
    if issubclass(kind, BaseException):
        return lambda value, depth: error_text(value)
    if kind.__repr__ is object.__repr__:
        return lambda value, depth: f"<{kind.__qualname__} object>"
    return lambda value, depth: _ADDRESS.sub("", repr(value))


def _int(value, depth):
    return repr(value) if value.bit_length() < 1000 else f"<int of {value.bit_length()} bits>"


def _string(value, depth):
    return repr(value) if len(value) <= 200 else f"{value[:90]!r}...{value[-90:]!r}, {len(value):,} long"


def _dict(value, depth):
    return _pairs("{", ((_text(key, depth - 1) + ": ", item) for key, item in value.items()), len(value), "}", depth)


def _dataclass(value, depth):
    names = [field.name for field in dataclasses.fields(value) if field.repr]
    shown = ((f"{name}=", getattr(value, name, "<not set>")) for name in names)
    return _pairs(f"{type(value).__name__}(", shown, len(names), ")", depth)


def _sequence(value, depth):
    brackets = _BRACKETS[type(value)]
    if depth <= 0 and value:
        return f"{brackets[0]}...{brackets[1]}"
    length = len(value)
    shown = value
    if isinstance(value, (set, frozenset)) and length <= 100:
        try:
            shown = sorted(value)
        except TypeError:  # not comparable
            pass
    texts = [_text(item, depth - 1) for item in itertools.islice(shown, _ITEMS)]
    if length > _ITEMS:
        texts.append(f"... {length:,} in all")
    comma = "," if length == 1 and type(value) is tuple else ""
    return f"{brackets[0]}{', '.join(texts)}{comma}{brackets[1]}"


def _pairs(begin, pairs, length, end, depth):
    if depth <= 0 and length:
        return f"{begin}...{end}"
    texts = [f"{name}{_text(item, depth - 1)}" for name, item in itertools.islice(pairs, _ITEMS)]
    if length > _ITEMS:
        texts.append(f"... {length:,} in all")
    return f"{begin}{', '.join(texts)}{end}"


def _array(value, depth):
    """dtype[shape], the first items, and a hash of the bytes of an array that has more."""
    dtype, form = value.dtype, _form(value)
    items = value.flat[:_IN_ARRAY].tolist()
    if dtype.kind == "f" and len(items) == _IN_ARRAY:
        shown = _FLOATS % tuple(items)
    else:
        shown = ", ".join([_text(item, 1) for item in items])
    if value.size <= _IN_ARRAY:
        return f"{form} [{shown}]"
    return f"{form} [{shown}, ...]" if dtype.hasobject else f"{form} [{shown}, ...] #{_hash(value):016x}"


def _tensor(value, depth):
    try:
        return _array(value.detach().numpy(), depth)
    except Exception:  # on a device, or of a type that numpy does not have
        return _form(value)


def _other_array(value, depth):
    """Of another library, or not an array: a space, for example."""
    return f"{type(value).__name__} {_form(value)}"


def _form(value):
    key = value.dtype, value.shape
    form = _forms.get(key)
    if form is None:
        if len(_forms) > _MOST_FORMS:
            _forms.clear()
        form = _forms[key] = f"{key[0]}[{', '.join(map(str, key[1]))}]"
    return form


def _hash(array):
    try:
        return _core.hash_bytes(array)
    except (ValueError, TypeError, BufferError):  # not contiguous, or a type without a buffer, such as dates
        return _core.hash_bytes(array.tobytes())


_BUILTIN = {
    **dict.fromkeys((float, bool, type(None), complex), lambda value, depth: repr(value)),
    int: _int,
    **dict.fromkeys((str, bytes, bytearray), _string),
    **dict.fromkeys(_BRACKETS, _sequence),
    dict: _dict,
}
