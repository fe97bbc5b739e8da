"""`init(record=PATH)` keeps what a run did, `init(replay=PATH)` has another one do the same.

A record is a directory: `run.json` (the program and what `init` was told) and a file of JSON lines for each process:

    {"made": tag, "name": ..., "site": "file:line"}                   a call was made there
    {"ran": tag, "actor": its ordinal or null, "class": ..., "name": ..., "digest": ..., "args": ..., "value": ...}
    {"asked": caller's tag, "n": ..., "kind": ..., "site": ..., "answer": ...}    a question that the clock answered

A tag is a list of numbers, the call's place in the program's serial run (reactor/_core/order.h); the driver's is []. An actor's calls
lie in its process's file in the order in which they ran.
"""

import json
import os
import reprlib
import sys

from reactor import _core

from rayshim.sites import is_users

_FORMAT = 1
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 200
_kept = None  # this process's Kept
_facts = {}  # number of an actor made here -> its facts


class Kept:
    """The record of a run as one process writes it, or reads it.

    Arguments: path, the directory; replay, whether it is read.
    """

    def __init__(self, path, replay):
        self.replay = replay
        self.asked = {}  # caller's tag -> how many questions it has asked
        self.file = None
        if replay:
            self.answers, self.scripts = {}, {}
            for line in lines(path):
                if "asked" in line:
                    self.answers[tuple(line["asked"]), line["n"]] = line
                elif "ran" in line and line["actor"] is not None:
                    self.scripts.setdefault(line["actor"], []).append(tuple(line["ran"]))
        else:
            name = os.path.join(path, f"{_core.slot()}-{os.getpid()}.jsonl")
            self.file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, entry):
        if self.file is not None:
            os.write(self.file, json.dumps(entry).encode() + b"\n")

    def answered(self, kind, site, ask, again):
        """The answer to a question of physical time, as JSON: `ask()` asks the clock; in a replay `again(answer)` brings about the one
        that was recorded."""
        caller = _core.running_tag()
        n = self.asked[caller] = self.asked.get(caller, -1) + 1
        if not self.replay:
            answer = ask()
            self.write({"asked": caller, "n": n, "kind": kind, "site": site, "answer": answer})
            return answer
        then = self.answers.get((caller, n))
        if then is None or (then["kind"], then["site"]) != (kind, site):
            from rayshim.exceptions import ReplayError

            was = f"{then['kind']} at {then['site']}" if then else "nothing more was asked by this caller"
            raise ReplayError(f"the program no longer matches its record: here {kind} at {site}; in the record {was} (operation {n} of caller {list(caller)})")
        again(then["answer"])
        return then["answer"]


def lines(path):
    """The entries of the record at `path`, process by process. Of a line that was being written when its process was killed: nothing."""
    for name in sorted(os.listdir(path)):
        if name.endswith(".jsonl"):
            with open(os.path.join(path, name)) as file:
                for line in file:
                    if line.endswith("\n"):
                        yield json.loads(line)


def prepare(record, replay, seed, ordering):
    """In `init`, given one of the two paths: (path, is it replayed, seed, ordering). Makes the directory of a record, reads what a replay must repeat.

    Raises ValueError for both at once, a directory that is not empty, what is no record.
    """
    if record and replay:
        raise ValueError("init(record=, replay=): one of the two; a replay is not recorded")
    if record:
        path = os.path.abspath(record)
        os.makedirs(path, exist_ok=True)
        if os.listdir(path):
            raise ValueError(f"init(record={record!r}): the directory is not empty; each record has one of its own")
        if seed is None:
            seed = int.from_bytes(os.urandom(4), "little")
        with open(os.path.join(path, "run.json"), "w") as file:
            json.dump({"format": _FORMAT, "argv": sys.argv, "python": sys.version, "seed": seed, "ordering": ordering}, file, indent=1)
        return path, False, seed, ordering
    path = os.path.abspath(replay)
    try:
        with open(os.path.join(path, "run.json")) as file:
            run = json.load(file)
    except (OSError, ValueError) as error:
        raise ValueError(f"init(replay={replay!r}): no record of a run is there ({error})") from None
    if run["format"] != _FORMAT:
        raise ValueError(f"init(replay={replay!r}): the record is of another version of rayshim (format {run['format']}, not {_FORMAT})")
    if seed not in (None, run["seed"]):
        raise ValueError(f"init(seed={seed}, replay={replay!r}): the recorded run had the seed {run['seed']}")
    return path, True, run["seed"], run["ordering"]


def begin(settings):
    """In each process of a session that records or replays: from now on."""
    global _kept
    _kept = Kept(*settings["kept"]) if settings["kept"] else None
    if _kept is not None and not _kept.replay:
        _core.set_hook("made", _made)
        _core.set_hook("executed", _executed)


def kept():
    """This process's Kept, or None."""
    return _kept


def came_to_be(facts):
    """An actor was made in this process. Gives the tags of its calls in their recorded order, or None."""
    _facts[facts["number"]] = facts
    return _kept.scripts.get(facts["ordinal"], []) if _kept is not None and _kept.replay else None


def site(frame):
    """Where the program is: the first frame from `frame` outwards that is not rayshim's own, as "file:line"."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "?"


def _made(tag, name):
    _kept.write({"made": tag, "name": name, "site": site(sys._getframe(1))})


def _executed(number, method, tag, digest, args, value):
    facts = _facts.get(number)
    _kept.write({
        "ran": tag,
        "actor": facts and facts["ordinal"],
        "class": facts and facts["class_name"],
        "name": getattr(method, "__name__", str(method)),
        "digest": f"{digest:016x}",
        "args": [_shortened(a) for a in args],
        "value": _shortened(value),
    })


def _shortened(value):
    try:
        return _short.repr(value)[:400]
    except Exception as error:  # the program's own __repr__
        return f"<{type(value).__name__}: its repr raises {type(error).__name__}>"
