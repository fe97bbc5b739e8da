"""Damaged records: makes one of a small program with a little of everything, and replays mutants of it.

    python -m rayshim.tests.journal_mutants COUNT [SEED]

prints what came of each kind. A replay of a mutant either does what was recorded (the damage does not matter), or another thing that the program
may do, or raises a ReplayError. It never ends in an error of rayshim's own, and never takes longer than `SECONDS`.
"""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import zlib
from collections import Counter

import rayshim
from rayshim.journal import replaying
from rayshim.tests.runs import outcome

SECONDS = 60
_RAW = ["flipped", "cut", "dropped", "doubled", "swapped", "emptied", "lost"]
_SEALED = ["retyped", "huge", "forgotten", "repeated", "exchanged", "shortened"]  # the checksums are right


def program(ray):
    """A value that says what happened."""

    @ray.remote
    class Store:
        def __init__(self):
            self.seen = []

        def add(self, who):
            self.seen.append(who)
            return len(self.seen)

        def all(self):
            return list(self.seen)

    @ray.remote
    class Waiter:
        async def nap(self, n):
            import asyncio

            await asyncio.sleep(0.002 * (n % 2))
            await store.add.remote(("async", n))
            return n

    @ray.remote(max_concurrency=2)
    class Threads:
        def work(self, n):
            ray.get(store.add.remote(("thread", n)))
            return n

    @ray.remote
    def task(store, n):
        return [ray.get(store.add.remote(("task", n, k))) for k in range(2)]

    @ray.remote
    class Victim:
        def work(self, n):
            return ray.get(store.add.remote(("victim", n)))

    def shown(refs):
        values = []
        for ref in refs:
            try:
                values.append(ray.get(ref))
            except ray.exceptions.ReplayError:
                raise
            except ray.exceptions.RayActorError as error:
                values.append(type(error).__name__)
        return values

    store = Store.remote()
    tasks = [task.remote(store, n) for n in range(3)]
    ready, _rest = ray.wait(tasks, num_returns=1, timeout=20)
    waiter, threads, victim = Waiter.remote(), Threads.remote(), Victim.remote()
    beside = [waiter.nap.remote(n) for n in range(3)] + [threads.work.remote(n) for n in range(3)]
    work = [victim.work.remote(n) for n in range(3)]
    try:
        first = ray.get(work[0], timeout=20)
    except ray.exceptions.GetTimeoutError:
        first = "timed out"
    ray.kill(victim)
    result = [len(ready), first, ray.get(tasks), sorted(ray.get(beside)), shown(work)]
    return [*result, ray.get(store.all.remote())]


def record(path):
    """The outcome of a recorded run."""
    return outcome(program, record=path, ordering="arrival")


def mutant(source, path, chance):
    """Copies the record at `source` to `path`, with one damage; gives its kind. chance: a random.Random."""
    shutil.copytree(source, path)
    kind = chance.choice(_RAW if chance.random() < 0.6 else _SEALED)
    names = sorted(os.listdir(path))
    if kind in _RAW:
        name = chance.choice(names)
        _damage(os.path.join(path, name), kind, chance)
        return kind
    name = chance.choice(
        [name for name in names if name.endswith(".jsonl") and os.path.getsize(os.path.join(path, name))]
    )
    with open(os.path.join(path, name)) as file:
        entries = [json.loads(line) for line in file]
    for entry in entries:
        del entry["sum"]
    _change(entries, kind, chance)
    _seal(path, name, entries)
    return kind


def _damage(path, kind, chance):
    with open(path, "rb") as file:
        data = file.read()
    lines = data.splitlines(keepends=True)
    k = chance.randrange(len(lines) or 1)
    if kind == "flipped" and data:
        at = chance.randrange(len(data))
        data = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    elif kind == "cut":
        data = data[: chance.randrange(len(data) + 1)]
    elif kind == "dropped":
        data = b"".join(lines[:k] + lines[k + 1 :])
    elif kind == "doubled":
        data = b"".join(lines[: k + 1] + lines[k:])
    elif kind == "swapped":
        chance.shuffle(lines)
        data = b"".join(lines)
    elif kind == "emptied":
        data = b""
    if kind == "lost":
        os.remove(path)
    else:
        with open(path, "wb") as file:
            file.write(data)


def _change(entries, kind, chance):
    k = chance.randrange(len(entries))
    if kind == "retyped":
        entries[k][chance.choice(list(entries[k]))] = chance.choice(
            [None, True, -1, 1.5, "text", [], [[]], {}, ["x", "y"], [[0, 1]]]
        )
    elif kind == "huge":
        entries[k] = _grown(entries[k], chance)
    elif kind == "forgotten":
        del entries[k]
    elif kind == "repeated":
        entries.insert(k, entries[k])
    elif kind == "exchanged":
        other = chance.randrange(len(entries))
        entries[k], entries[other] = entries[other], entries[k]
    elif kind == "shortened":
        del entries[k:]


def _grown(value, chance):
    if type(value) is int and chance.random() < 0.5:
        return chance.choice([1 << 31, 1 << 32, 1 << 63, 1 << 64, 10**30, -(1 << 63), value + 1])
    if isinstance(value, list):
        return [_grown(item, chance) for item in value]
    if isinstance(value, dict):
        return {key: _grown(item, chance) for key, item in value.items()}
    return value


def _seal(path, name, entries):
    last = 0
    with open(os.path.join(path, name), "wb") as file:
        for entry in entries:
            body = json.dumps(entry).encode()
            last = zlib.crc32(body, last)
            file.write(body[:-1] + b', "sum": "%08x"}\n' % last)
    with open(os.path.join(path, "end.json")) as file:
        ends = json.load(file)
    del ends["sum"]
    ends[name] = [len(entries), last]
    with open(os.path.join(path, "end.json"), "w") as file:
        json.dump({**ends, "sum": zlib.crc32(json.dumps(ends).encode())}, file, indent=1)


def replayed(path, expected):
    """What came of a replay, in a word. AssertionError: what must not come."""

    def late(number, frame):
        raise AssertionError(f"it takes more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        return "same" if outcome(program, replay=path) == expected else "other"
    except rayshim.exceptions.ReplayError:
        return "told"
    except ValueError as error:
        assert "this is not the journal of a run" in str(error), error
        return "no record"
    except rayshim.exceptions.RayTaskError as error:
        raise AssertionError(f"an error of ours: {error}") from error
    except rayshim.exceptions.RayError:
        return "error of the program"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def main(count, seed=0):
    replaying._QUIET = replaying.REPLAY_SECONDS = 5.0
    found, failed = Counter(), []
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "run")
        expected = record(source)
        assert replayed(source, expected) == "same"
        for number in range(seed, seed + count):
            path = os.path.join(directory, str(number))
            kind = mutant(source, path, random.Random(number))
            try:
                found[kind, replayed(path, expected)] += 1
                shutil.rmtree(path)
            except Exception as error:
                failed.append(number)
                print(f"mutant {number} ({kind}): {type(error).__name__}: {error}", flush=True)
            if number % 100 == 99:
                print(number + 1, flush=True)
    for (kind, came), times in sorted(found.items()):
        print(f"{kind:10} {came:22} {times}")
    print(f"{len(failed)} of {count} failed: {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
