"""Where the time of one call goes: processor time of each layer on both sides, and the floors of the machine."""

import argparse
import json
import statistics
import time
from pathlib import Path

from benchmarks import machine

RESULTS = Path(__file__).parent / "results"

CALLS = 20_000
REPEATS = 7


def main(arguments=()):
    """Measures and prints the table. Takes no arguments but --help."""
    argparse.ArgumentParser(prog="python -m benchmarks layers", description=__doc__).parse_args(arguments)
    from rich.console import Console
    from rich.table import Table

    described = machine.describe()
    rows = measure()
    table = Table(
        "layer", "µs a call", "of which process", title="1:1 actor calls, no arguments, two bytes back; medians"
    )
    for name, where, seconds in rows:
        table.add_row(name, f"{seconds * 1e6:.2f}", where)
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "layers.json"
    path.write_text(json.dumps({"benchmark": "layers", "machine": described, "rows": rows}, indent=1) + "\n")
    print(f"written: {path}")


def markdown(found):
    """The table of a result's JSON."""
    lines = ["| layer | µs a call | process |", "| --- | ---: | --- |"]
    lines += [f"| {name} | {seconds * 1e6:.2f} | {where} |" for name, where, seconds in found["rows"]]
    return "\n".join(lines) + f"\n\n{machine.in_words(found['machine'])}.\n"


def measure():
    """[(layer, process, seconds a call)], medians over REPEATS."""
    from reactor import _core

    import rayshim as ray

    ray.init(num_cpus=2)

    @ray.remote
    class Actor:
        def nothing(self):
            return b"ok"

        def processor_time(self):
            return time.process_time()

        def own_calls(self, n):
            """Seconds that n plain calls of the method take: what no runtime can avoid."""
            call, start = self.nothing, time.perf_counter()
            for _ in range(n):
                call()
            return (time.perf_counter() - start) / n

    actor = Actor.remote()
    ray.get([actor.nothing.remote() for _ in range(CALLS)])
    samples = {}

    def add(name, where, seconds):
        samples.setdefault((name, where), []).append(seconds)

    for _ in range(REPEATS):
        worker_before = ray.get(actor.processor_time.remote())
        start = time.thread_time()
        refs = [actor.nothing.remote() for _ in range(CALLS)]
        add(
            "remote(): check, encode, result object, ref, message, bell", "caller", (time.thread_time() - start) / CALLS
        )
        ray.wait(refs, num_returns=CALLS)
        worker_after = ray.get(actor.processor_time.remote())
        add("take the message, decode, run, encode, store, wake", "actor", (worker_after - worker_before) / CALLS)
        start = time.thread_time()
        ray.get(refs)
        add("get of values that are there", "caller", (time.thread_time() - start) / CALLS)
        start = time.thread_time()
        del refs
        add("let go of refs and objects", "caller", (time.thread_time() - start) / CALLS)
        start = time.thread_time()
        for _ in range(CALLS):
            actor.nothing  # noqa: B018
        add(
            "of remote(): finding the method on the handle, with the loop",
            "caller",
            (time.thread_time() - start) / CALLS,
        )
        add("of the actor's: the method itself", "actor", ray.get(actor.own_calls.remote(CALLS)))
        start = time.perf_counter()
        for _ in range(CALLS // 4):
            ray.get(actor.nothing.remote())
        add(
            "get(remote()) after each other, wall time, both awake",
            "both",
            (time.perf_counter() - start) / (CALLS // 4),
        )
        waiting = []
        for _ in range(100):
            time.sleep(0.002)  # both sides fall asleep
            start = time.perf_counter()
            ray.get(actor.nothing.remote())
            waiting.append(time.perf_counter() - start)
        add("get(remote()) of a sleeping actor, wall time", "both", statistics.median(waiting))
        add("floor: futex ping-pong, wall time", "both", _core.futex_ping_pong(2000))
    ray.shutdown()
    return [(name, where, statistics.median(values)) for (name, where), values in samples.items()]
