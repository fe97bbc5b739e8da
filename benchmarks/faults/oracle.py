"""Compares the results of a run with the allowed results: a pure function of the program, the trace and the end.

Events after [kind, seconds, pid]:
    begin; end; shut down  start                      the driver
    gone       error                                  the driver's step failed because the zygote was killed
    actor      name, kind, max_restarts, max_task_retries, facts      created; facts: of its constructor's arguments, or ["maker", call]
    call       name, actor or None, what, retries, facts              made; facts: ["number", n], ["ref", call, index], ["refs", [[call, index]]],
                                                                      ["actor", name], one for each argument
    put        name, bytes
    life       actor, life, [identities of arrays]    a constructor began
    run        call, actor or None, life, n           a call began
    got        [[call, index]], start, timeout, outcome               outcome: ["values", [identity]] or ["error", classes, text]
    waited     [[call, index]], start, timeout, wanted, ready, whole
    ended      call, count, start                     a generator had no more
    still      call, identity                         of a view that was kept
    cancel     call, force
    ray.kill   actor, no_restart
    drop       actor                                  the driver lets go of its handle
    not named  actor, error                           get_actor found none
    strike     pid, whom, title                       kill -9, about to be done; title: see victims.title
    let go     what the store has more than at the start, or None
"""

import re
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field

HEARD_SECONDS = 2.0  # from a kill to the exception, and for any wait that nothing holds up
INTERPRETER_SECONDS = (
    5.0  # more, if workers start an interpreter: each of these that is killed while it starts delays the calls
)
# Lines that a run may write to stderr: about spilling, about calls in arrival order, about calls that are run again, about workers that died, and about workers that the campaign killed at their start.
SAID = tuple(
    re.compile(line)
    for line in (
        r"^\(runtime pid=\d+\) Spilled ",
        r"^\(runtime pid=\d+\) .* (now runs in arrival order|now returns the refs that are done first), ",
        r"^rayshim: calls in arrival order in this run: ",
        r"^\(runtime pid=\d+\) Task .* failed\. There are \w+ retries remaining, so the task will be retried\.",
        r"^\(runtime pid=\d+\) A worker died or was killed while executing a task by an unexpected system error: ",
        r"^rayshim: this run was measured, ",
        r"^\(runtime pid=\d+\) task workers are killed \(signal 9\) before they can run anything",
    )
)
IDLE = "ray::IDLE"  # title of a pool's worker without a task
PACKED = "ray::packed"  # of a process that several actors share


@dataclass
class Verdict:
    """`wrong`: sentences. `latency`: seconds of the slowest exception after its kill."""

    wrong: list = field(default_factory=list)
    kills: Counter = field(default_factory=Counter)
    checked: int = 0
    exceptions: Counter = field(default_factory=Counter)
    latency: float = 0.0


def judge(program, run):
    """The Verdict on one run (see benchmarks.faults.attack.Run) of `program`."""
    return _Judge(program, run).judge()


@dataclass
class _Call:
    sent_at: float
    actor: str | None
    what: str
    retries: int
    facts: list


class _Judge:
    def __init__(self, program, run):
        self.program, self.run = program, run
        self.heard_seconds = HEARD_SECONDS * run.pace.factor
        self.verdict = Verdict()
        self.calls, self.puts, self.actors = {}, {}, {}
        self.runs = defaultdict(dict)  # call -> {(pid, n): seconds}
        self.began = Counter()  # call -> how often
        self.lives = defaultdict(dict)  # actor -> {life: (pid, seconds)}
        self.strikes = {}  # pid -> seconds of the first
        self.whom, self.titles = {}, {}
        self.ended, self.cancelled, self.killed = {}, {}, defaultdict(list)
        self.dropped = {}
        self.seen_errors = set()  # generators' calls of which an error was got
        self.events = run.events
        for event in self.events:
            self.note(*event)
        self.zygote = min((t for pid, t in self.strikes.items() if self.whom[pid] == "zygote"), default=None)
        self.driver_killed = "driver" in self.whom.values()
        actors = {pid for lives in self.lives.values() for pid, _ in lives.values()}
        ran = {pid for runs in self.runs.values() for pid, _ in runs}
        workers = {pid for pid, whom in self.whom.items() if whom not in ("driver", "zygote")}
        self.struck_actors = workers & actors
        mute = workers - actors - ran
        idle = {pid for pid in mute if self.titles[pid] == IDLE}
        self.struck_pool = workers & ran - actors | idle
        self.struck_unknown = mute - idle
        # A worker that was killed before it told who it is may have been any.
        for pid in self.whom:
            kind = "actor" if pid in self.struck_actors else "pool" if pid in self.struck_pool else "newborn"
            self.verdict.kills[self.whom[pid] if pid not in workers else kind] += 1

    def note(self, kind, t, pid, *facts):
        if kind == "call":
            name, *rest = facts
            self.calls[name] = _Call(t, *rest)
        elif kind == "put":
            self.puts[facts[0]] = facts[1]
        elif kind == "actor":
            self.actors[facts[0]] = (t, *facts[1:])
        elif kind == "life":
            self.lives[facts[0]][facts[1]] = (pid, t)
        elif kind == "run":
            self.runs[facts[0]][(pid, facts[3])] = t
            self.began[facts[0]] += 1
        elif kind == "strike":
            self.strikes.setdefault(facts[0], t)
            self.whom.setdefault(facts[0], facts[1])
            self.titles.setdefault(facts[0], facts[2])
        elif kind == "cancel":
            when, force = self.cancelled.get(facts[0], (t, False))
            self.cancelled[facts[0]] = when, force or facts[1]
        elif kind == "drop":
            self.dropped[facts[0]] = t
        elif kind == "ray.kill":
            self.killed[facts[0]].append((t, facts[1]))

    def wrong(self, text):
        self.verdict.wrong.append(text)

    def judge(self):
        for event in self.events:
            check = getattr(self, f"check_{event[0].replace(' ', '_').replace('.', '_')}", None)
            if check:
                check(*event[1:])
        self.check_runs()
        self.check_lives()
        self.check_last()
        return self.verdict

    # ---- what came

    def check_got(self, t, pid, refs, start, timeout, outcome):
        names = ", ".join(f"{call}#{index}" for call, index in refs)
        if outcome[0] == "values":
            for (call, index), found in zip(refs, outcome[1], strict=True):
                self.check_value(call, index, found, f"get of {names}")
            self.check_delay(f"get of {names}", start, t)
            return
        self.check_error([call for call, _ in refs], outcome, start, t, timeout, f"get of {names}")
        self.seen_errors.update(call for call, _ in refs)

    def check_error(self, calls, outcome, start, t, timeout, doing):
        kind = outcome[1][0]
        self.verdict.exceptions[_shown(outcome)] += 1
        if "GetTimeoutError" in outcome[1]:
            if timeout is None:
                self.wrong(f"{doing}: GetTimeoutError without a timeout")
            return
        legal = set()
        for call in calls:
            legal |= self.legal(call, t)
        if not legal & set(outcome[1]):
            self.wrong(f"{doing}: {kind} ({outcome[2].strip()[-160:]}), legal: {', '.join(sorted(legal)) or 'none'}")
        if "signal" in outcome[2] and "signal 9" not in outcome[2]:
            self.wrong(f"{doing}: a process died by itself: {outcome[2]}")
        self.check_delay(doing, start, t, kind)

    def check_delay(self, doing, start, t, kind=None):
        since = max([start, *(when for when in self.strikes.values() if when <= t)])
        self.verdict.checked += 1
        if kind in ("ActorDiedError", "ActorUnavailableError", "WorkerCrashedError"):
            self.verdict.latency = max(self.verdict.latency, t - since)
        if t - since > self.heard_seconds + self.allowance(since, t):
            self.wrong(
                f"{doing}: {'gave ' + kind if kind else 'came'} only {t - since:.2f} s after it was asked for and the last kill"
            )

    def allowance(self, start, end):
        starts = INTERPRETER_SECONDS * self.run.pace.factor if self.program.own_interpreters else 0.0
        return starts + (4 * self.run.lag.between(start, end) if self.run.lag else 0.0)

    def check_waited(self, t, pid, refs, start, timeout, wanted, ready, whole):
        doing = f"wait for {wanted} of {refs}"
        self.check_delay(doing, start, t)
        if not whole or ready > wanted or (timeout is None and ready < wanted):
            self.wrong(f"{doing}: {ready} ready, {'whole' if whole else 'refs lost or doubled'}")

    def check_ended(self, t, pid, call, count, start):
        self.check_delay(f"end of generator {call}", start, t)
        expected = self.calls[call].facts[0][1]
        # The error is what a generator gives last.
        if count > expected + (call in self.seen_errors) or (count < expected and call not in self.seen_errors):
            self.wrong(f"generator {call} ended after {count} values of {expected}, without an error")

    def check_still(self, t, pid, call, found):
        self.check_value(call, 0, found, "a view that was kept")

    def check_not_named(self, t, pid, actor, error):
        if not self.may_be_dead(actor, t):
            self.wrong(f"get_actor({actor!r}) found none, and nobody killed it: {error[2]}")

    def check_value(self, call, index, found, doing):
        """Whether `found` is what result `index` of `call` may be."""
        self.verdict.checked += 1
        if found and found[0] == "array":
            size = self.puts.get(call) or (self.calls[call].facts[0][1] if call in self.calls else 0)
            if found[1:] != [zlib.crc32(call.encode()), 8 * max(size // 8, 2), True]:
                self.wrong(f"{doing}: {found} is not the array of {call}")
            return
        if call in self.puts or not found or found[0] != "result" or found[1:3] != [call, index]:
            return self.wrong(f"{doing}: {found} is not result {index} of {call}")
        _, _, _, pid, n, parts = found
        if (pid, n) not in self.runs[call]:
            return self.wrong(f"{doing}: {call} has no run {(pid, n)}, its runs: {list(self.runs[call])}")
        facts = self.calls[call].facts if self.calls[call].what in ("add", "slow") else []
        for fact, part in zip(facts, parts, strict=False):
            self.check_part(call, fact, part)
        for part in parts[len(facts) :]:
            self.check_part(call, ["actor", None], part)
        if len(parts) < len(facts):
            self.wrong(f"{doing}: {call} has {len(parts)} parts for {len(facts)} arguments")

    def check_part(self, call, fact, part):
        doing = f"argument of {call}"
        if fact[0] == "number":
            if part != fact[1]:
                self.wrong(f"{doing}: {part} for {fact[1]}")
        elif fact[0] == "ref":
            self.check_value(fact[1], fact[2], part, doing)
        elif fact[0] == "refs":
            for (name, index), outcome in zip(fact[1], part, strict=True):
                self.check_outcome(call, name, index, outcome)
        else:
            _, name, outcome = part
            self.check_outcome(call, name, 0, outcome)

    def check_outcome(self, outer, name, index, outcome):
        """Of a get inside of a call."""
        doing = f"get of {name}#{index} in {outer}"
        if outcome[0] == "value":
            self.check_value(name, index, outcome[1], doing)
        else:
            self.verdict.exceptions[_shown(outcome)] += 1
            self.verdict.checked += 1
            legal = self.legal(name, float("inf"))
            if not legal & set(outcome[1]):
                self.wrong(
                    f"{doing}: {outcome[1][0]} ({outcome[2][:160]}), legal: {', '.join(sorted(legal)) or 'none'}"
                )

    # ---- which failures are legal

    def legal(self, name, t, seen=()):
        """Names of the exceptions that call or put `name` may have ended with by the time `t`."""
        if name in seen or not (name in self.puts or name in self.calls):
            return set()
        legal = set()
        if "/" in name and self.may_have_lost_its_process(_outer(name)):
            legal.add("OwnerDiedError")
        if name in self.puts:
            return legal
        call = self.calls[name]
        cancelled = self.cancel_of(name, t)
        if cancelled is not None:
            legal |= {"TaskCancelledError", "WorkerCrashedError"} if cancelled else {"TaskCancelledError"}
        for fact in call.facts:
            if fact[0] == "ref":
                legal |= self.legal(fact[1], t, (*seen, name))
        if call.actor is None:
            if (
                call.retries >= 0
                and self.struck(self.struck_pool | self.struck_unknown, call.sent_at, t) > call.retries
            ):
                legal.add("WorkerCrashedError")
            return legal
        if self.may_be_dead(call.actor, t):
            legal.add("ActorDiedError")
        restarts = self.actors[call.actor][2]
        if restarts and call.retries >= 0 and self.deaths(call.actor, t, call.sent_at) > call.retries:
            legal.add("ActorUnavailableError")
        if restarts and call.retries == 0 and self.may_restart_at(call.actor, call.sent_at):
            legal.add("ActorUnavailableError")
        return legal

    def may_have_lost_its_process(self, name):
        """Whether a process in which call `name` ran was killed, by the campaign or by the program."""
        actor = self.calls[name].actor if name in self.calls else None
        return bool({pid for pid, _ in self.runs[name]} & set(self.strikes) or (actor and self.killed[actor]))

    def cancel_of(self, name, t):
        """Whether `name` was cancelled by force before `t`, None if not at all. A cancel reaches the calls that the call made."""
        while True:
            when, force = self.cancelled.get(name, (t, False))
            if when < t:
                return force
            if "/" not in name:
                return None
            name = _outer(name)

    def struck(self, pids, since, until):
        return sum(since - self.heard_seconds <= self.strikes[pid] <= until for pid in pids)

    def deaths(self, actor, t, since=0.0):
        """How many deaths `actor` may have had."""
        pids = {pid for pid, _ in self.lives[actor].values()} & self.struck_actors
        pids |= {pid for pid in self.struck_actors if self.shared(pid) and self.may_begin_at(actor, self.strikes[pid])}
        return self.struck(pids | self.struck_unknown, since, t) + sum(when <= t for when, _ in self.killed[actor])

    def shared(self, pid):
        """Whether several actors may have been in the process: it tells so, or it was in a constructor, which it tells instead."""
        title = self.titles[pid]
        return title == PACKED or (self.program.placement == "packed" and title.endswith("__init__"))

    def may_begin_at(self, actor, t):
        """Whether `actor` may have been in its constructor at the time `t`, in a process of others: none of its lives that had begun went on."""
        return not any(begun <= t < self.strikes.get(pid, float("inf")) for pid, begun in self.lives[actor].values())

    def may_restart_at(self, actor, t):
        """Whether `actor` may have died before the time `t` and not yet be made anew, however long that takes on a busy machine."""
        return self.may_begin_at(actor, t) and any(
            self.strikes.get(pid, float("inf")) <= t for pid, _ in self.lives[actor].values()
        )

    def may_be_dead(self, actor, t):
        _, _, restarts, _, facts = self.actors[actor]
        if any(no_restart and when <= t for when, no_restart in self.killed[actor]):
            return True
        if restarts >= 0 and self.deaths(actor, t) > restarts:
            return True
        # An actor that nobody can call any more is not made anew.
        if self.dropped.get(actor, t) < t and self.deaths(actor, t):
            return True
        for fact in facts:
            if fact[0] == "ref" and self.legal(fact[1], t):
                return True
            if fact[0] == "maker":
                # It ends with the process, or the cancelled call, that made it.
                pids = {pid for pid, _ in self.runs[fact[1]]}
                owner = self.calls[fact[1]].actor
                if pids & set(self.strikes) or self.cancel_of(fact[1], t) is not None or (owner and self.killed[owner]):
                    return True
        return False

    # ---- how often and in which order calls ran

    def check_runs(self):
        for name, times in self.began.items():
            call = self.calls.get(name)
            if call is None:
                self.wrong(f"{name} ran and was never called")
            elif call.retries >= 0 and times > 1 + call.retries:
                self.wrong(f"{name} ran {times} times, with {call.retries} retries")

    def check_lives(self):
        """In each life an actor counts from 1, and a plain one takes the driver's calls in their order."""
        counts, orders = defaultdict(list), defaultdict(list)
        for kind, _, _, *facts in self.events:
            if kind == "run" and facts[1] is not None:
                name, actor, life, n = facts
                counts[actor, life].append(n)
                if name.isdigit() and self.actors[actor][1] == "plain":
                    orders[actor, life].append(int(name))
        for (actor, life), ns in counts.items():
            if ns != list(range(1, len(ns) + 1)):
                self.wrong(f"life {life} of {actor} counted {ns}")
            if orders[actor, life] != sorted(orders[actor, life]):
                self.wrong(f"life {life} of {actor} took the driver's calls in the order {orders[actor, life]}")
        for actor, lives in self.lives.items():
            restarts = self.actors[actor][2]
            if 0 <= restarts < len(lives) - 1:
                self.wrong(f"{actor} was made {len(lives)} times, with max_restarts={restarts}")

    # ---- the end

    def check_last(self):
        run, kinds = self.run, {event[0]: event for event in self.events}
        for what in run.left:
            self.wrong(f"left behind: {what}")
        for line in run.stderr.splitlines():
            if line.strip() and not any(allowed.search(line) for allowed in SAID):
                self.wrong(f"on standard error: {line[:200]}")
        if self.driver_killed:
            return
        if run.hung is not None:
            self.wrong(f"the driver hung after step {run.hung}")
        elif run.status != 0:
            self.wrong(f"the driver ended with status {run.status}")
        elif "shut down" not in kinds:
            self.wrong("the driver did not come to its end")
        elif kinds["end"][1] - kinds["shut down"][3] > self.heard_seconds + self.allowance(
            kinds["end"][1], kinds["shut down"][1]
        ):
            self.wrong("shutdown took too long")
        if "gone" in kinds:
            self.verdict.exceptions["RuntimeError (zygote killed)"] += 1
            if self.zygote is None:
                self.wrong(f"the runtime's processes were gone, and nobody killed the zygote: {kinds['gone'][3]}")
        left = kinds.get("let go", [None] * 4)[3]
        if left and self.zygote is None:
            self.wrong(f"the store keeps what nobody holds: {left}")


def _outer(name):
    """The call in which `name` was made."""
    return name.rpartition("/")[0]


def _shown(outcome):
    """The most telling class of an exception."""
    classes = outcome[1]
    return (
        next((name for name in classes if name != "RayTaskError"), classes[0])
        if classes[0].startswith("RayTaskError(")
        else classes[0]
    )
