"""The files of a journal (see rayshim.journal.journal): writes lines, reads them, and checks them.

Each line ends with a checksum of itself and of all earlier lines of its file, so that changed, lost, duplicated and moved lines are detected. If
the run ended normally, its journal has a file `end.json` with the number of lines and the last checksum of each file. Without this file the
run was killed, and the journal contains the lines written until then.
"""

import errno
import json
import os
import zlib
from typing import NamedTuple

from reactor import _core

from rayshim.errors.exceptions import ReplayError

_SUM = b', "sum": "%08x"}\n'
_SUM_SIZE = len(_SUM % 0)
_DIGITS = slice(-len(b'00000000"}\n'), -len(b'"}\n'))  # of the checksum in a line
_END = "end.json"


class JournalSetting(NamedTuple):
    """The setting "journal" of a session that has one. `path`: its directory; `replayed`: whether the session repeats it, else it writes it."""

    path: str
    replayed: bool


def create(path):
    """Creates the directory of a journal, in which are the values of the program's calls: it is for this user alone, and so are its files."""
    from reactor.runtime.messages import private_folder

    private_folder.make(path)
    if not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, "a journal needs a directory", path)


def _opened(path, flags=0):
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)


class Writer:
    """Appends lines to one file of a journal. Thread-safe; after a fork only the parent may write.

    `file`: the core's, which allocates the file in parts (reactor/native/record/journal_lines.h). The bytes 0 at its end are cut off when the run ends;
    without an end, the reader ignores them.
    """

    def __init__(self, path):
        self.file = _core.LineFile(_opened(path))

    def write(self, entry):
        self.file.write(json.dumps(entry).encode())


def end(path):
    """Writes `end.json`: the recorded run has ended normally, and no process writes to the journal any more."""
    for name in _files(path):
        _cut(os.path.join(path, name))
    ends = {name: _end_of(os.path.join(path, name)) for name in _files(path)}
    _write_json(os.path.join(path, _END), ends)


def _cut(path):
    """Cuts off what a Writer has allocated and not written. A line that was not finished stays."""
    with open(path, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        while size:
            begin = max(0, size - (1 << 16))
            file.seek(begin)
            last = file.read(size - begin).rstrip(b"\0")
            size = begin + len(last)
            if last:
                break
        file.truncate(size)


def _end_of(path):
    """[number of whole lines, the last one's checksum] of a file, whose lines are checked when they are read."""
    count, last = 0, None
    with open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                count, last = count + 1, line
    try:
        return [count, int(last[_DIGITS], 16) if last else 0]
    except ValueError:
        raise _damaged(path, count, f"was changed: {_shown(last)}") from None


def write_run(path, run):
    """Writes `run.json`: the program and the arguments of `init`."""
    _write_json(os.path.join(path, "run.json"), run)


def read_run(path):
    """The dict that `write_run` was given. OSError if there is none, ReplayError if it is damaged."""
    return _read_json(os.path.join(path, "run.json"))


def is_complete(path):
    """Whether the recorded run ended normally."""
    end = os.path.join(path, _END)
    return os.path.exists(end) and _is_file(end)


def lines(path):
    """The entries of the journal at `path`, file by file, each with "where": "file:line". ReplayError for a damaged journal.

    A line that was being written when its process was killed is left out.
    """
    ends = _read_json(os.path.join(path, _END)) if is_complete(path) else None
    there = _files(path)
    for name in sorted(ends or ()):
        if name not in there:
            raise _damaged(os.path.join(path, name), None, "is missing, but end.json names it")
    for name in there:
        if ends is not None and name not in ends:
            raise _damaged(os.path.join(path, name), None, "is not part of this journal: end.json does not name it")
        count, last = 0, 0
        for entry, where, last in _checked(path, name):
            count += 1
            yield {**entry, "where": where}
        if ends is not None and [count, last] != ends[name]:
            raise _damaged(
                os.path.join(path, name),
                count,
                f"is the last line, but the file should have {ends[name][0]} lines according to end.json: the file is truncated",
            )


def _files(path):
    return sorted(name for name in os.listdir(path) if name.endswith(".jsonl") and _is_file(os.path.join(path, name)))


def _is_file(path):
    if not os.path.isfile(path):
        raise _damaged(path, None, "is not a file")
    return True


def _checked(path, name):
    """(entry, "file:line", checksum) of each line of a file."""
    path, last = os.path.join(path, name), 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            body = line[:-_SUM_SIZE] + b"}"
            last = zlib.crc32(body, last)
            if line[-_SUM_SIZE:] != _SUM % last:
                raise _damaged(path, number, f"was changed, or lines before it are missing: {_shown(line)}")
            entry = _decoded(path, number, body)
            if fault := _fault(entry):
                raise _damaged(path, number, f"is not a line of a journal ({fault}): {_shown(line)}")
            yield entry, f"{path}:{number}", last


def _decoded(path, number, data):
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, number, f"is not JSON ({error}): {_shown(data)}") from None
    if not isinstance(found, dict):
        raise _damaged(path, number, f"is not a JSON object: {_shown(data)}")
    return found


def _write_json(path, value):
    with open(_opened(path, os.O_TRUNC), "w") as file:
        json.dump({**value, "sum": zlib.crc32(json.dumps(value).encode())}, file, indent=1)


def _read_json(path):
    with open(path, "rb") as file:
        found = _decoded(path, None, file.read())
    given = found.pop("sum", None)
    if given != zlib.crc32(json.dumps(found).encode()):
        raise _damaged(path, None, "was changed: its checksum is wrong")
    return found


def _shown(data):
    text = data.decode(errors="replace").strip()
    return text if len(text) <= 200 else text[:197] + "..."


def _damaged(path, number, what):
    where = path if number is None else f"{path}:{number}"
    return ReplayError(f"the journal cannot be read: {where} {what}. Record the run again, or replay an undamaged copy")


# ---- the format of each line


def _count(value):
    return type(value) is int and 0 <= value < 1 << 32


def _tag(value):
    return (
        type(value) is list
        and len(value) < 1 << 16
        and all(map(_count, value[1:]))
        and (not value or type(value[0]) is int and 0 <= value[0] < 1 << 63)
    )


def _text(value):
    return type(value) is str


def _flag(value):
    return type(value) is bool


def _maybe(check):
    return lambda value: value is None or check(value)


def _texts(value):
    return type(value) is list and all(map(_text, value))


def _number(value):
    return type(value) is int and abs(value) < 1 << 63


def _names(least, most):
    return lambda value: (
        type(value) is list
        and all(
            type(name) is list and least <= len(name) <= most and _text(name[0]) and all(map(_number, name[1:]))
            for name in value
        )
    )


def _how(value):
    return value in ("waits", "ends", "cut", "away")


def _anything(value):
    return True


def _whose(value):  # the caller of a question: a tag, or an actor with several calls at once: its ordinal and its life
    return _tag(value) or type(value) is list and len(value) == 2 and _text(value[0]) and _count(value[1])


_OF_ACTOR = {"actor": _text, "life": _count}
_OF_CALL = {"actor": _maybe(_text), "life": _maybe(_count)}
_KINDS = {  # the first key tells; of several kinds with the same one, those that a line fits
    "asked": {"asked": _whose, "n": _count, "kind": _text, "site": _text, "by": _text, "answer": _anything},
    "born": {"born": _text, "life": _count, "several": _flag},
    "made": {"made": lambda value: _tag(value) and value, "name": _maybe(_text), "site": _text},
    "began": {"began": _tag, **_OF_CALL},
    "round": {"round": _count, "came": _names(2, 2), "loop": _text, **_OF_ACTOR},
    "turn": {"turn": _count, "came": _names(1, 3), **_OF_ACTOR},
    "interrupted": {"interrupted": _tag, **_OF_ACTOR},
    "answered": {"answered": lambda value: value is None or type(value) in (bool, int, float), **_OF_ACTOR},
    "ran": {
        "ran": _tag,
        **_OF_CALL,
        "class": _maybe(_text),
        "name": _text,
        "given": _text,
        "digest": _text,
        "args": _texts,
        "value": _maybe(_text),
        "error": _maybe(_text),
        "cancelled": _flag,
        "several": _flag,
    },
    "died": {"died": _text, "life": _count, "killed": _maybe(_text), "status": _number},
}
_MORE = {  # keys that a line may have besides
    "made": _OF_ACTOR,
    "turn": {"hand": _count, "how": _how, "at": _count},
    "answered": {"loop": _text},
    "interrupted": {"loop": _text},
}
_ANSWERS = {
    "get": lambda value: value in ("timed out", "in time"),
    "wait": lambda value: type(value) is list and all(map(_count, value)) and len(set(value)) == len(value),
    "kill": _maybe(lambda value: type(value) is list and len(value) == 2 and _text(value[0]) and _count(value[1])),
    "cancel": _maybe(_tag),
    "clock": lambda value: type(value) in (int, float),
    "uuid": lambda value: type(value) is int and 0 <= value < 1 << 128,
}


def _fault(entry):
    """The error of an entry as text, or None."""
    kind = next((key for key in _KINDS if key in entry), None)
    if kind is None:
        return "its kind is unknown"
    more = _MORE.get(kind, {})
    for key, check in {**_KINDS[kind], **{key: check for key, check in more.items() if key in entry}}.items():
        if key not in entry:
            return f"it has no {key!r}"
        if not check(entry[key]):
            return f"its {key!r} is {entry[key]!r:.80}"
    if kind == "turn" and len({"hand", "how", "at"} & entry.keys()) not in (0, 3):
        return "it has some of 'hand', 'how' and 'at', but not all"
    if kind == "asked" and not _ANSWERS.get(entry["kind"], lambda value: False)(entry["answer"]):
        return f"its 'answer' to {entry['kind']!r:.40} is {entry['answer']!r:.80}"
    return None


def life(facts):
    """(ordinal, life) of an actor."""
    return facts["ordinal"], facts.get("restarts", 0)
