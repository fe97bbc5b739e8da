"""`init(record=PATH)` writes the journal of a run; `init(replay=PATH)` repeats the recorded run.

A journal is a directory: `run.json` (the program and the arguments of `init`), a file of JSON lines for each process, and `end.json` if the run was
not killed (rayshim.journal.files). The lines are:

    {"born": its ordinal, "life": number of its restarts, "several": whether it runs several calls at once}    an actor was created
    {"made": tag, "name": ..., "site": "file:line"}                   a call was made there; by an actor with several calls at once, with "actor" and "life"
    {"began": tag, "actor": its ordinal or null, "life": ...}         a call began
    {"round": callbacks run before, "came": [[kind, number], ...], "actor": ..., "life": ..., "loop": its concurrency group}    of an event loop
    {"turn": number, "hand": whose, "how": it ended, "at": its step, "came": [[...], ...], "actor": ..., "life": ...}    of a thread of a threaded actor
    {"interrupted": tag, "actor": ..., "life": ...}                   a call of such an actor was cancelled before it ended
    {"answered": value, "actor": ..., "life": ..., "loop": ...}       what the runtime told such an actor of the outside
    {"ran": tag, "actor": ..., "life": ..., "class": ..., "name": ..., "given": digest of the arguments, "digest": ..., "args": ..., "value": ...,
     "error": what it raised or null, "cancelled": ..., "several": whether it ran beside other calls of its actor}
    {"asked": caller's tag, "n": ..., "kind": ..., "site": ..., "by": function, "answer": ...}    a question that the clock answered
    {"died": ordinal, "life": ..., "killed": why or null, "status": of its process}

A line is found again by the tag of its call, or by the caller, the number and the function of its question. Places ("file:line") are for messages only:
a program whose lines have moved can be replayed.

A tag is a list of numbers, the place of a call in the program's serial run (reactor/native/order/order.h); the driver's tag is []. The calls of an
actor are in the file of its process, in the order in which they started.

A replay follows these rules:

- Each actor starts its calls in the recorded order.
- A call that did not start in the recorded run does not start. A call that did not end there stops after the last call that it made, and waits
  for the event that ended it. If the driver waits for such a call, and nothing can end it, the journal ends there, and the driver gets a
  ReplayError.
- A caller that makes more calls than in the recorded run gets a ReplayError.
- The arguments and the result of each call are compared with the journal's (rayshim.journal.checking).
- `kill` and `cancel` wait until their target has reached the recorded place. A process that was ended by a signal from outside is ended at the
  same place.
- The event loop of an async actor, if it is asyncio's own, runs its callbacks in the recorded order (rayshim.journal.loop). The threads of a
  threaded actor take the same turns (rayshim.journal.turns). The calls that these actors make get the recorded tags, in the order in which they
  are made: their tags depend on the last call that had started in the actor, and the journal does not contain that time.
"""

import contextlib
import json
import os
import signal
import sys
from collections import Counter
from typing import Any

from reactor import _core
from reactor.printable import printable
from reactor.runtime.seeding import seeding

from rayshim.errors.exceptions import ReplayError
from rayshim.journal import checking, driver_state, files, replaying
from rayshim.journal.files import life
from rayshim.journal.recording import call_lines, function_of, site
from rayshim.session import repeatable, session

FORMAT = 6
_journal: Any = None  # this process's Journal
_deaths = None  # in the supervisor of a recorded run: files.Writer
_facts = {}  # number of an actor that was created here -> its facts
_tags = {}  # uid of the first result of a call that was made here -> the call's tag


class Life:
    """The journal's entries about one life of an actor, which a creation or a restart begins.

    Attributes:
        born: whether the actor was created.
        script: tags of its calls, in the order in which they started.
        halts: {tag of a call that did not end: number of the calls that it made}.
        end: "kill", "signal" or None.
        concurrent: whether it ran several calls at once. Only then the following are set:
        sent: tags of all calls that it made.
        rounds: {concurrency group: rounds of its event loop}. turns: turns of its threads.
        answers: {concurrency group, or None for threads: answers to its questions about the outside}.
    """

    def __init__(self):
        self.born, self.script, self.halts, self.concurrent, self.end = False, [], {}, False, None
        self.sent, self.rounds, self.turns, self.answers = [], {}, [], {}


class Journal:
    """The journal of a run in one process, which writes it, or reads it for a replay.

    Arguments: path, its directory; replay, whether it is read; runs_in_parallel, see rayshim.placement.interface.
    """

    def __init__(self, path, replay, runs_in_parallel):
        self.replay = replay
        # Whether this process waits for the recorded order of events. Without other processes each call ends where it is made.
        self.enforces_order = replay and runs_in_parallel
        self.concurrent_actor: Any = (
            None  # {"actor", "life"} of this process's actor, if that runs several calls at once
        )
        self.outside = lambda function: function()
        self.asked = {}  # caller's tag -> number of questions that it has asked
        self.path, self.complete = path, replay and files.is_complete(path)
        if replay:
            self._read(path)
        else:
            writer = files.Writer(os.path.join(path, f"{_core.slot()}-{os.getpid()}.jsonl"))
            self.write, self.call_lines = writer.write, call_lines(writer, _facts)

    def _read(self, path):
        self.answers = {}  # (caller's tag, n) -> line
        self.lives = {}  # (ordinal, life) -> Life
        self.started = set()  # tags
        self.halts = {}  # tag of a call that did not end -> number of the calls that it made
        self.cancelled = set()  # tags of calls that were cancelled
        self.interrupted = set()  # tags of calls of async and threaded actors that were cancelled before they ended
        self.outlived = set()  # tags of methods that were cancelled while they ran, which does not interrupt them
        self.of_driver = Counter()  # what it did there, by kind
        ran, expected = set(), {}
        self.sent = sent = {}  # tag of a caller -> number of calls that it made
        self.ends = {}  # an actor's (ordinal, life), or None for tasks and the driver -> place of its last line, "file:line"
        for line in files.lines(path):
            key = (line.get("actor"), line.get("life"))
            self.ends[key if key[0] is not None else None] = line["where"]
            if kind := _kind_of_driver(line):
                self.of_driver[kind] += 1
            if "asked" in line:
                self.answers[tuple(line["asked"]), line["n"]] = line
                if line["kind"] == "cancel" and line["answer"] is not None:
                    self.cancelled.add(tuple(line["answer"]))
            elif "born" in line:
                life = self._life(line["born"], line["life"])
                life.born, life.concurrent = True, line["several"]
            elif "made" in line:
                caller = tuple(line["made"][:-1])
                if "actor" in line:
                    self._life(*key).sent.append(tuple(line["made"]))
                else:
                    sent[caller] = sent.get(caller, 0) + 1
            elif "began" in line:
                self.started.add(tuple(line["began"]))
                if line["actor"] is not None:
                    self._life(*key).script.append(tuple(line["began"]))
            elif "round" in line:
                self._life(*key).rounds.setdefault(line["loop"], []).append(
                    (line["round"], [tuple(name) for name in line["came"]])
                )
            elif "turn" in line:
                self._life(*key).turns.append(line)
            elif "interrupted" in line:
                self.interrupted.add(tuple(line["interrupted"]))
            elif "answered" in line:
                self._life(*key).answers.setdefault(line.get("loop"), []).append(line["answered"])
            elif "ran" in line:
                tag = tuple(line["ran"])
                if (compared := checking.ran(line)) is not None:
                    expected[tag, key] = compared
                if line["several"]:
                    continue
                if line["cancelled"] and line["actor"] is not None:
                    self.outlived.add(tag)
                if not line["cancelled"] or line["actor"] is not None:
                    ran.add(tag if line["actor"] is None else (tag, key))
            elif "died" in line:
                self._life(line["died"], line["life"]).end = (
                    "kill" if line["killed"] else "signal" if line["status"] == signal.SIGKILL else None
                )
        for key, life in self.lives.items():
            life.halts = {tag: sent.get(tag, 0) for tag in life.script if not life.concurrent and (tag, key) not in ran}
        self.checker = checking.Checker(expected, sent)
        of_actors = {tag for life in self.lives.values() for tag in life.script}
        self.halts = {tag: sent.get(tag, 0) for tag in self.started - of_actors - ran}

    def _life(self, ordinal, number):
        return self.lives.setdefault((ordinal, number), Life())

    def write(self, entry):
        """Adds a line to the journal; in a replay, nothing."""

    def answered(self, kind, frame, ask, repeat):
        """The answer to a question that only physical time can answer, as JSON.

        Arguments:
            kind: "get", "wait", "kill", "cancel", "clock" or "uuid".
            frame: of the caller, which is the program's or is called from there.
            ask: asks the clock and gives its answer, which the journal gets.
            repeat: in a replay, called with the recorded answer: waits until that holds here, too.
        """
        caller = (*self.concurrent_actor.values(),) if self.concurrent_actor else _core.running_tag()
        n = self.asked[caller] = self.asked.get(caller, -1) + 1
        place, by = site(frame), function_of(frame)
        if not self.replay:
            answer = self.outside(ask)
            self.write({"asked": caller, "n": n, "kind": kind, "site": place, "by": by, "answer": answer})
            return answer
        then = self.answers.get((caller, n))
        if then is None or (then["kind"], then["by"]) != (kind, by):
            was = (
                f"{then['kind']} in {then['by']} at {then['site']} ({then['where']})"
                if then
                else "this caller has no further operation"
            )
            raise ReplayError(
                f"the program no longer matches its journal: here {kind} in {by} at {place}; in the journal {was} (operation {n} of caller {list(caller)})"
                + ("" if then else self.where_it_ends(None))
            )
        try:
            self.outside(lambda: repeat(then["answer"]))
        except IndexError:
            raise ReplayError(
                f"the program no longer matches its journal: {kind} at {place} has fewer refs than in the journal, whose answer is {then['answer']} "
                f"({then['where']})"
            ) from None
        return then["answer"]

    def rest(self):
        """The text for the user about actions of the driver in the recorded run that are missing in this replay; "" if none is."""
        done = Counter(made=self.checker.makes.get((), 0), asked=self.asked.get((), -1) + 1)
        if not self.of_driver - done:
            return ""
        for line in files.lines(self.path):
            if kind := _kind_of_driver(line):
                done[kind] -= 1
                if done[kind] < 0:
                    what = f"calls {line['name']}" if line.get("name") else "creates an actor"
                    return f"{'calls ' + line['kind'] if kind == 'asked' else what} at {line['site']} ({line['where']})"
        return ""

    def where_it_ends(self, key):
        """For an error: where the journal of the actor `key`, or of the driver and tasks, ends; and why, if the recorded run was killed."""
        where = self.ends.get(key) or self.path
        return f". The journal ends at {where}" + (
            "" if self.complete else "; the recorded run was killed before it had ended"
        )


def _kind_of_driver(line):
    """If the driver did what the line tells of: "made" or "asked"; else None."""
    if "made" in line:
        return "made" if len(line["made"]) == 1 and "actor" not in line else None
    return "asked" if line.get("asked") == [] else None


def prepare(record, replay, seed, ordering):
    """Called by `init` with one of the two paths. Creates the directory of a new journal, or reads the settings of the recorded run.

    Returns (JournalSetting, seed, ordering).
    Raises ValueError for both paths at once, for a directory that is not empty, and for a path without a journal; ReplayError for a damaged journal.
    """
    if record and replay:
        raise ValueError(
            "init(record=, replay=): both were given, but a replay cannot be recorded. Give only one of the two"
        )
    if record:
        path = os.path.abspath(record)
        files.create(path)
        if os.listdir(path):
            raise ValueError(
                f"init(record={record!r}): the directory is not empty; a journal needs a new directory. Give another path, or empty this one"
            )
        if seed is None:
            seed = int.from_bytes(os.urandom(4), "little")
        setting = files.JournalSetting(path, replayed=False)
        run = {"format": FORMAT, "argv": sys.argv, "python": sys.version, "seed": seed, "ordering": ordering}
        try:
            files.write_run(path, {**run, "random": driver_state.read()})
            seeding.seed_imports(seed, "driver")
        except BaseException:
            withdraw(setting)
            raise
        return setting, seed, ordering
    path = os.path.abspath(replay)
    try:
        run = files.read_run(path)
    except OSError as error:
        raise ValueError(
            f"init(replay={replay!r}): this is not the journal of a run ({error}). init(record=...) writes one"
        ) from None
    if run.get("format") != FORMAT:
        raise ValueError(
            f"init(replay={replay!r}): the journal was written by another version of rayshim (format {run.get('format')}, not {FORMAT}). Record the run again"
        )
    for _ in files.lines(path):  # each process reads it again: damage is reported here, and once
        pass
    if (then := run["argv"][1:]) != (now := sys.argv[1:]):
        print(
            f"rayshim: replay: the program has the arguments {now}; in the recorded run it had {then}. The replay repeats that run only as far as the "
            "program does the same with both",
            file=sys.stderr,
        )
    if seed not in (None, run["seed"]):
        raise ValueError(
            f"init(seed={seed}, replay={replay!r}): the recorded run had the seed {run['seed']}. Leave the seed out"
        )
    driver_state.write(run["random"])
    seeding.seed_imports(run["seed"], "driver")
    return files.JournalSetting(path, replayed=True), run["seed"], run["ordering"]


def begin(settings, runs_in_parallel):
    """Opens the journal in a process of a session, if the session has one. runs_in_parallel: see rayshim.placement.interface."""
    global _journal
    if not settings.journal:
        _journal = None
        return
    path, replayed = settings.journal
    _journal = Journal(path, replayed, runs_in_parallel)
    if not _journal.replay:
        lines = _journal.call_lines
        hooks = {name: getattr(lines, name) for name in ("call_sent", "call_started", "executed")}
    else:
        hooks = replaying.hooks(_journal)
    for name, hook in {"result": _result, **hooks}.items():
        _core.set_hook(name, hook)
    if session.current is None or session.current.driver is not None:  # the driver's process
        repeatable.journaled = _outside_value


def before_end():
    """Called in the driver while its session still runs: tells the user if the values of a replay were others than the journal's."""
    if _journal is not None and _journal.replay and (text := checking.first()):
        checking.found = True
        print(text, file=sys.stderr)


def withdraw(setting):
    """After an `init` that has failed: a directory that `prepare` has begun a journal in is empty again."""
    global _journal
    _journal = None
    if not setting.replayed:
        with contextlib.suppress(OSError):
            for name in os.listdir(setting.path):
                os.remove(os.path.join(setting.path, name))


def end(settings):
    """Completes the journal: called in the driver when all other processes of the session have ended."""
    global _journal
    if (setting := settings.journal) and not setting.replayed:
        files.end(setting.path)
    elif _journal is not None and _journal.complete and (rest := _journal.rest()):
        print(
            f"rayshim: the program has ended earlier than in its journal, where it next {printable(rest)}. This replay repeats only the part before that",
            file=sys.stderr,
        )
    _journal = repeatable.journaled = None
    seeding.stop()


def current():
    """This process's Journal, or None."""
    return _journal


def kill(link, end, frame):
    """`ray.kill` of the actor of this link; `end()` does it."""

    def ask():
        alive = session.current.placement.life(link)
        end()
        return alive

    def repeat(alive):
        if not _journal.enforces_order:
            return end()
        if alive is not None:  # it had not ended by itself
            victim = _journal.lives.get(tuple(alive))
            if victim and victim.born and victim.end == "kill":
                replaying.when_arrived(tuple(alive))
            end()

    _journal.answered("kill", frame, ask, repeat)


def _outside_value(kind, read):
    """The value of `read`, "clock" or "uuid", for a library that decides by it what it asks next."""
    return _journal.answered(kind, sys._getframe(2), read, lambda value: None)


def cancel(ref, end, frame):
    """`ray.cancel` of this ref; `end()` does it."""

    def ask():
        end()
        return _tags.get(_core.uid_of_call(ref))

    def repeat(tag):
        tag = tag and tuple(tag)
        if tag in _journal.started:
            replaying.when_arrived(tag, ref)
        end()

    _journal.answered("cancel", frame, ask, repeat)


def before_creation(facts):
    """Called before an actor is created in this process. In a replay, waits for ever if it was not created in the recorded run."""
    if _journal.enforces_order and not (life(facts) in _journal.lives and _journal.lives[life(facts)].born):
        replaying.halt(f"actor {facts['class_name']} was not created", life(facts))


class ConcurrentActor:
    """Records or repeats the order of events within an actor that runs several calls at once: callbacks of its event loops, turns of its threads.

    It exists before the actor is created. Arguments: facts, the actor's; is_async, has_threads, whether it runs calls in event loops, or in threads.
    """

    def __init__(self, facts, is_async, has_threads):
        self._number, self._life = facts["number"], life(facts)
        self._then = _journal.lives[self._life] if _journal.replay else None
        self._whose = dict(zip(("actor", "life"), self._life))
        self._turns = None
        if is_async or has_threads:
            _journal.concurrent_actor = self._whose
            if not _journal.replay:
                _journal.call_lines.set_concurrent(f", {json.dumps(self._whose)[1:-1]}")
            else:
                replaying.expect_calls(self._number, self._then)
        if has_threads:
            from rayshim.journal.threads import install_for_journal, outside
            from rayshim.journal.turns import JournaledTurns

            if _journal.replay:
                self._turns = JournaledTurns(
                    None,
                    self._then.turns,
                    self._then.answers.get(None, []),
                    _journal.interrupted,
                    self._finished,
                    lambda error: self._diverged(error),
                )
            else:
                self._turns = JournaledTurns(self._writer())
            install_for_journal(self._turns)
            _journal.outside = outside

    def _writer(self, **where):
        return lambda line: _journal.write({**line, **self._whose, **where})

    def _finished(self):
        replaying.progressed(self._number)
        replaying.all_halted(self._number)

    def loop(self, group, selector, diverged):
        """The JournaledLoop of a concurrency group; diverged, a function that is called with a ReplayError."""
        from rayshim.journal.loop import JournaledLoop

        if not _journal.replay:
            return JournaledLoop(selector, self._writer(loop=group))
        then = self._then
        event_loop = JournaledLoop(
            selector,
            None,
            then.rounds.get(group, []),
            then.answers.get(group, []),
            _journal.interrupted,
            self._finished,
            diverged,
        )
        replaying.interleavings.setdefault(self._number, []).append(event_loop)
        return event_loop

    def turns(self, diverged):
        """The JournaledTurns of its threads; diverged as for `loop`."""
        self._diverged = diverged
        if _journal.replay:
            replaying.interleavings.setdefault(self._number, []).append(self._turns)
        return self._turns


def created(facts, several):
    """Called after the creation of an actor in this process; `several`: it runs several calls at once. Returns the tags of its calls in the
    recorded order, or None if this run is not a replay."""
    _facts[facts["number"]] = facts
    if _journal.replay:
        replaying.facts[facts["number"]] = facts
        if _journal.enforces_order:
            replaying.created(facts)
        return _journal.lives[life(facts)].script if life(facts) in _journal.lives else []
    _journal.call_lines.forget(facts["number"])
    ordinal, number = life(facts)
    _journal.write({"born": ordinal, "life": number, "several": several})
    return None


def died(path, facts):
    """Called in the supervisor of a recorded run after an actor's death. path: the journal's directory."""
    if facts["actor"] is not None:
        global _deaths
        _deaths = _deaths or files.Writer(os.path.join(path, "deaths.jsonl"))
        ordinal, number = life(facts["actor"])
        _deaths.write({"died": ordinal, "life": number, "killed": facts["killed"], "status": facts["status"]})


def _result(uid, tag):
    _tags[uid] = tag
