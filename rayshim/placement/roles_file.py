"""Reads a file of roles, for `init(placement="roles.toml")`. The text is TOML; reading it executes nothing. A mistake in it is a ValueError that names the
file, the line and the role."""

from __future__ import annotations

import os
import re

from rayshim.placement.roles import Role, Roles, matches

_LABEL = re.compile(r"(.+)#\d+")  # of an actor: "Env#3" is the fourth of the class Env
_MOST = 1000  # processes of a role, threads of a process
_OF_ACTORS = (
    "actors",
    "named",
    "workers",
    "alone",
    "together",
    "apart",
    "time_share",
)  # keys that have no meaning for tasks


def read(path: str | os.PathLike[str]) -> Roles:
    """The Roles of the file at `path`. Raises ValueError for what is not such a file, and for cores that this program may not use."""
    path = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise ValueError(
            f"{path}: the file of roles cannot be read ({error.strerror}). Give the path of a file"
        ) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: the file of roles is not in UTF-8 ({error.reason}). Write it in UTF-8") from None
    return _Reader(path, text.splitlines()).roles(_parsed(text, path))


def _parsed(text, path):
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        try:
            import tomli as tomllib
        except ModuleNotFoundError:
            raise ValueError(
                f"{path}: on Python 3.10 a file of roles needs tomli: pip install 'rayshim[roles]'"
            ) from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ValueError(f"{path}{f':{line[1]}' if line else ''}: not TOML: {error}. Correct the line") from None


class _Reader:
    """Makes roles of parsed tables. The parser gives no lines: they are found by the headers and keys in the text."""

    def __init__(self, path, lines):
        self._path, self._lines = path, lines
        self._seen = {}  # (key, pattern), or the label of an actor -> name of the role that has it
        self._values = {
            **dict.fromkeys(("actors", "named", "tasks"), self._patterns),
            **dict.fromkeys(("workers", "threads"), self._count),
            "alone": self._true,
            "cores": self._cores,
            "gpu": self._share,
            "time_share": self._device,
            "together": self._groups,
            "apart": self._labels,
        }

    def roles(self, tables):
        for name in tables:
            if name != "roles":
                where = self._at(self._line(rf"\[*\s*[\"']?{re.escape(name)}\b"))
                raise ValueError(f"{where}: unknown table or key {name!r}. Each role is a table [roles.NAME]")
        found = tables.get("roles")
        if not isinstance(found, dict) or not found:
            raise ValueError(f"{self._path}: there is no role. Write a table [roles.NAME] for each role")
        roles, first = [], 0
        for name, table in found.items():
            roles.append(self._role(name, table, first))
            first += roles[-1].workers or 0
        return Roles(self._path, tuple(roles))

    def _role(self, name, table, first):
        if not isinstance(table, dict):
            self._fail(name, None, f"{table!r} is not a table", f"Write [roles.{name}], and its keys below")
        for key in table:
            if key not in self._values:
                self._fail(name, key, f"unknown key {key!r}", f"The keys are {', '.join(self._values)}")
        values = {key: self._values[key](name, key, value) for key, value in table.items()}
        self._check(name, values)
        values.pop("alone", None)
        return Role(name, self._where(name), first=first, **values)

    # ---- values of keys

    def _patterns(self, name, key, value):
        given = [value] if isinstance(value, str) else value
        if not _are(str, given):
            self._fail(
                name, key, f"{key} = {value!r} is no name", "Give a name, or a list of names; they may have * and ?"
            )
        for pattern in given:
            if (other := self._seen.setdefault((key, pattern), name)) != name:
                remedy = "Remove it from one of them: of several roles that match, the first applies"
                self._fail(name, key, f"role {other} has {key} = {pattern!r}, too", remedy)
        return tuple(given)

    def _count(self, name, key, value):
        if type(value) is not int or not 1 <= value <= _MOST:
            self._fail(name, key, f"{key} = {value!r} is not a number of {key}", f"Give an integer from 1 to {_MOST}")
        return value

    def _true(self, name, key, value):
        if value is not True:
            self._fail(
                name, key, f"{key} = {value!r} is not true", "Write `alone = true`, or `workers = N` for N processes"
            )
        return value

    def _cores(self, name, key, value):
        usable = sorted(os.sched_getaffinity(0))
        missing = [core for core in value if core not in usable] if _are(int, value) else value
        if missing or not _are(int, value):
            remedy = f"Give a list of cores that this program may use, which are {', '.join(map(str, usable))}"
            self._fail(name, key, f"cores = {value!r}: {missing!r} cannot be used", remedy)
        return tuple(value)

    def _share(self, name, key, value):
        if type(value) not in (int, float) or not 0 <= value or (value > 1 and value % 1):
            self._fail(
                name, key, f"gpu = {value!r} is no share of a GPU", "Give a number from 0 to 1, or a whole number"
            )
        return value

    def _device(self, name, key, value):
        if not isinstance(value, str) or not re.fullmatch(r"\w+", value, re.ASCII):
            remedy = 'Give a name of letters, digits and "_", the same to all roles that share the device'
            self._fail(name, key, f"time_share = {value!r} is no name of a device", remedy)
        return value

    def _groups(self, name, key, value):
        if not isinstance(value, list) or not all(isinstance(group, list) for group in value):
            self._fail(name, key, f"{key} = {value!r} is no list of lists", 'Write [["Env#0", "Env#2"], ["Env#1"]]')
        return tuple(self._labels(name, key, group) if group else () for group in value)

    def _labels(self, name, key, value):
        if not _are(str, value) or not all(map(_LABEL.fullmatch, value)):
            self._fail(
                name, key, f"{value!r} is no list of actors", 'Write ["Env#0"] for the first actor of the class Env'
            )
        for label in value:
            if self._seen.setdefault(label, key) is not key or value.count(label) > 1:
                self._fail(name, key, f"{label!r} is listed twice", "Remove one of them")
        return tuple(value)

    # ---- keys that do not go together

    def _check(self, name, values):
        if "tasks" in values:
            for key in _OF_ACTORS:
                if key in values:
                    remedy = "Remove it; a role with tasks may have cores, threads and gpu"
                    self._fail(name, key, f"tasks run in a pool of processes, and cannot have {key!r}", remedy)
        elif not {"actors", "named"} & values.keys():
            remedy = 'Write actors = "CLASS", named = "ACTOR" or tasks = "FUNCTION"'
            self._fail(name, None, "it says neither which actors nor which tasks it has", remedy)
        workers = values.get("workers", 0)
        if workers:
            self._check_shared(name, values)
        for key in ("together", "apart"):
            if key in values and not workers:
                self._fail(name, key, f"{key!r} has no meaning without 'workers'", "Add `workers = N`, or remove it")
        if len(values.get("together", ())) > workers:
            self._fail(
                name, "together", f"it has {len(values['together'])} lists for {workers} processes", "Remove some"
            )
        classes = tuple(pattern.rpartition(".")[2] for pattern in values.get("actors", ()))
        for label in [*(label for group in values.get("together", ()) for label in group), *values.get("apart", ())]:
            if "named" not in values and not matches(classes, (label.rpartition("#")[0],)):
                self._fail(
                    name, "actors", f"the class of {label} is not among {classes}", "Add it, or remove the actor"
                )

    def _check_shared(self, name, values):
        if "alone" in values:
            self._fail(name, "alone", "'workers' and 'alone' exclude each other", "Remove one of them")
        for key in ("gpu", "time_share"):
            if values.get(key):
                remedy = "Write `alone = true` instead of 'workers'"
                self._fail(name, key, f"actors with {key!r} have a process each", remedy)
        if values.get("threads", 1) > 1:
            remedy = "Remove 'threads', or write `alone = true` instead of 'workers'"
            self._fail(name, "threads", "processes that actors share use 1 thread in numeric libraries", remedy)

    # ---- places in the file

    def _fail(self, name, key, found, remedy):
        raise ValueError(f"{self._where(name, key)}: role {name}: {found}. {remedy}")

    def _where(self, name, key=None):
        """ "FILE:LINE" of the table of a role, or of a key in it."""
        quoted = rf"[\"']?{re.escape(name)}[\"']?\s*"
        header = self._line(rf"\[\s*roles\s*\.\s*{quoted}\]")
        if header is None:  # written as `roles.NAME.key = ...`, or below [roles] as `NAME = {...}`
            header = self._line(rf"(roles\s*\.\s*)?{quoted}[=.]")
        if header is None or key is None:
            return self._at(header)
        end = self._line(r"\[\s*roles\b", header + 1)
        found = self._line(rf"[\"']?{re.escape(key)}[\"']?\s*[=.]", header + 1, end)
        return self._at(header if found is None else found)

    def _line(self, pattern, begin=0, end=None):
        """The index of the first line that begins with the pattern, or None."""
        lines = enumerate(self._lines[begin:end], begin)
        return next((number for number, line in lines if re.match(rf"\s*(?:{pattern})", line)), None)

    def _at(self, number):
        return self._path if number is None else f"{self._path}:{number + 1}"


def _are(kind, values):
    """Whether `values` is a list of values of this type, one at least, none of them an empty text."""
    return isinstance(values, list) and bool(values) and all(type(value) is kind and value != "" for value in values)
