"""Finds the part of a value that cannot be pickled, for the error message."""

import types

from reactor.code import closure, names


class NotPicklable(TypeError):
    """The error. It has the whole `value` and the `reason`, so that a higher layer can make its own message. It is pickled as a plain TypeError."""

    value: object
    reason: str

    def __reduce__(self):
        return TypeError, self.args


REMEDY = "Leave it out, or create it inside the actor or task that uses it"
_LIMIT = 200  # most parts that the search visits


def explain(value, error, dump):
    """The error to raise for a value whose pickling with `dump` raised `error`, with the part that failed, its place in the value, and the reason: a
    new TypeError for a TypeError, and `error` itself with a note for another class."""
    reason = reason_of(value, error, dump)
    text = f"Could not serialize {short(value)}: {reason}. {REMEDY}"
    if not isinstance(error, TypeError):
        if hasattr(error, "add_note"):  # from Python 3.11 on
            error.add_note(text)
        return error
    not_picklable = NotPicklable(text)
    not_picklable.value, not_picklable.reason = value, reason
    return not_picklable


def reason_of(value, error, dump):
    """The sentence that names the part of `value` that cannot be pickled, and its place."""
    place, culprit = _search(value, dump)
    what = f"{short(culprit)} (a {_kind(culprit)})"
    return f"{what}{place} cannot be pickled: {_refusal(culprit, dump) or error}"


class _Place:
    """Where a part is: an expression from a name that the program knows, and what that name is."""

    def __init__(self, root="value", path="", note="", holder=None):
        self.root, self.path, self.note = root, path, note
        self.holder = holder  # an attribute of a class, which is only named if the part is inside it

    def at(self, step):
        note = self.note if self.holder is None else f"{self.root} is a {_kind(self.holder)}"
        return _Place(self.root, self.path + step, note)

    def __str__(self):
        if self.root == "value" and not self.path:
            return ""
        return f" at {self.root}{self.path}{f', where {self.note},' if self.note else ''}"


def _search(value, dump):
    """(place, part): the smallest part found whose pickling fails."""
    place, budget, seen = _Place(), [_LIMIT], {id(value)}
    while True:
        for there, part in _parts(value, place):
            budget[0] -= 1
            if budget[0] < 0:
                return place, value
            if id(part) not in seen and not _picklable(part, dump):
                place, value = there, part
                seen.add(id(value))
                break
        else:
            return place, value


def _parts(value, place):
    if isinstance(value, dict):
        yield from ((place.at(f"[{short(k)}]"), v) for k, v in value.items())
        yield from ((_Place(f"the key {short(k)}"), k) for k in value)
    elif isinstance(value, (list, tuple)):
        yield from ((place.at(f"[{i}]"), v) for i, v in enumerate(value))
    elif isinstance(value, (set, frozenset)):
        yield from ((_Place("an element of the set"), v) for v in value)
    elif isinstance(value, types.MethodType):
        yield place.at(".__self__"), value.__self__
        yield place.at(".__func__"), value.__func__
    elif isinstance(value, types.FunctionType):
        yield from _used_by(value)
    elif isinstance(value, type):
        yield from _members(value)
    elif hasattr(value, "__dict__") and type(value).__reduce__ is object.__reduce__:
        yield from ((place.at(f".{k}"), v) for k, v in vars(value).items() if not k.startswith("__"))
        yield _Place(type(value).__qualname__), type(value)
    else:
        yield from _reduced(value)


def _reduced(value):
    """The state that the value's class gives to pickle, which may be empty."""
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:
        return
    for part in reduced[1:3] if isinstance(reduced, tuple) else ():
        for inner in part if isinstance(part, tuple) else (part,):
            yield _Place(f"a part of the {_kind(value)}"), inner


def _used_by(function):
    """The values that a function uses of other scopes: variables, default values, attributes of its own; last its class, if it uses `super()`."""
    name, outer = function.__qualname__, closure(function)
    own_class = outer.pop("__class__", None)
    for variable, value in outer.items():
        yield _Place(variable, note=f"{variable} is a variable of an outer function that {name} uses"), value
    for variable in names(function.__code__):
        if variable in function.__globals__:
            yield (
                _Place(variable, note=f"{variable} is a global variable that {name} uses"),
                function.__globals__[variable],
            )
    yield from ((_Place(name, f".{k}"), v) for k, v in vars(function).items())
    yield from ((_Place(f"a default value of {name}"), v) for v in function.__defaults__ or ())
    yield from ((_Place(f"the default value of {k} of {name}"), v) for k, v in (function.__kwdefaults__ or {}).items())
    if own_class is not None:
        yield _Place(own_class.__qualname__), own_class


def _members(cls):
    """The attributes of a class that are no functions, the classes from which it inherits, and what its functions use. The functions themselves are left
    out: one that uses `super()` has its class as a part, and cannot be pickled whatever is wrong with that."""
    functions = []
    for name, member in vars(cls).items():
        found = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if isinstance(found, types.FunctionType):
            functions.append(found)
        elif name not in ("__dict__", "__weakref__"):
            yield _Place(f"{cls.__qualname__}.{name}", holder=member), member
    yield from ((_Place(base.__qualname__), base) for base in cls.__bases__)
    for function in functions:
        yield from _used_by(function)


def _picklable(value, dump):
    return _refusal(value, dump) is None


def _refusal(value, dump):
    """The exception of pickling `value`, or None."""
    try:
        dump(value)
    except Exception as error:
        return error
    return None


def _kind(value):
    return f"{type(value).__module__}.{type(value).__qualname__}"


def short(value):
    """The value's repr, cut to 80 characters."""
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__qualname__}>"
    return text if len(text) <= 80 else text[:77] + "..."
