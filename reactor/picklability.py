"""Finds the part of a value that cannot be pickled, for the error message."""


class NotPicklable(TypeError):
    """The error. It has the whole `value` and the `reason`, so that a higher layer can make its own message. It is pickled as a plain TypeError."""

    value: object
    reason: str

    def __reduce__(self):
        return TypeError, self.args


_LIMIT = 200  # most parts that the search visits


def explain(value, error, dump):
    """The error to raise for a value whose pickling with `dump` raised `error`, with the part that failed, its place in the value, and the reason: a
    new TypeError for a TypeError, and `error` itself with a note for another class."""
    path, culprit = _search(value, dump)
    what = f"{_short(culprit)} (a {type(culprit).__module__}.{type(culprit).__qualname__})"
    where = f" at value{path}" if path else ""
    reason = f"{what}{where} cannot be pickled: {error}"
    text = f"Could not serialize {_short(value)}: {reason}. Leave it out, or create it inside the actor or task that uses it"
    if not isinstance(error, TypeError):
        if hasattr(error, "add_note"):  # from Python 3.11 on
            error.add_note(text)
        return error
    not_picklable = NotPicklable(text)
    not_picklable.value, not_picklable.reason = value, reason
    return not_picklable


def _search(value, dump):
    """(path, part): the smallest part found whose pickling fails."""
    path, budget, seen = "", [_LIMIT], {id(value)}
    while True:
        for step, part in _parts(value):
            budget[0] -= 1
            if budget[0] < 0:
                return path, value
            if id(part) not in seen and not _picklable(part, dump):
                path, value = path + step, part
                seen.add(id(value))
                break
        else:
            return path, value


def _parts(value):
    if isinstance(value, dict):
        yield from ((f"[{_short(k)}]", v) for k, v in value.items())
        yield from (("<a key>", k) for k in value)
    elif isinstance(value, (list, tuple)):
        yield from ((f"[{i}]", v) for i, v in enumerate(value))
    elif isinstance(value, (set, frozenset)):
        yield from (("<an element>", v) for v in value)
    elif hasattr(value, "__closure__"):
        yield from (
            (f".<closure {n}>", c.cell_contents) for n, c in zip(value.__code__.co_freevars, value.__closure__ or ())
        )
        yield from ((f".<global {n}>", value.__globals__[n]) for n in value.__code__.co_names if n in value.__globals__)
    elif (
        hasattr(value, "__dict__") and type(value).__reduce__ is object.__reduce__
    ):  # else its class decides, and has refused
        yield from ((f".{k}", v) for k, v in vars(value).items() if not k.startswith("__"))


def _picklable(value, dump):
    try:
        dump(value)
        return True
    except Exception:
        return False


def _short(value):
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__qualname__}>"
    return text if len(text) <= 80 else text[:77] + "..."
