"""The cost of serial order, the digest and packed placement: alternating runs of the same calls with and without each of them."""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import machine

RESULTS = Path(__file__).parent / "results"
SIDES = {
    "logical": {},
    "arrival": {"ordering": "arrival"},
    "no hash": {"digest": False},
    "packed": {"placement": "packed"},
}
CALLS, REPEATS = 2000, 25
RATIOS = (("order", "logical", "arrival"), ("hash", "logical", "no hash"), ("packed", "logical", "packed"))


def main(arguments=()):
    """Measures and prints the table: `python -m benchmarks order [--repeat N]`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks order", description=__doc__)
    parser.add_argument("--repeat", type=int, default=4, metavar="N", help="processes for each side (default 4)")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    wanted = parser.parse_args(arguments)
    if wanted.side:
        return print(json.dumps(measure(**json.loads(wanted.side))))
    found = {side: [] for side in SIDES}
    for k in range(wanted.repeat):
        for side in list(SIDES)[:: 1 if k % 2 else -1]:
            ran = subprocess.run(
                [sys.executable, "-m", "benchmarks", "order", "--side", json.dumps(SIDES[side])],
                capture_output=True,
                text=True,
                timeout=300,
            )
            if ran.returncode:
                raise SystemExit(f"{side}: exit status {ran.returncode}\n{ran.stderr[-2000:]}")
            found[side].append(json.loads(ran.stdout.splitlines()[-1]))
    rows = {
        name: {side: _best(name, [run[name] for run in runs]) for side, runs in found.items()}
        for name in found["logical"][0]
    }
    result = {"benchmark": "order", "machine": machine.describe(), "rows": rows}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "order.json").write_text(json.dumps(result, indent=1) + "\n")
    print(markdown(result))
    return 0


def markdown(found):
    """The table of a result's JSON."""
    lines = [
        "| what, µs | " + " | ".join(SIDES) + " | " + " | ".join(f"{a} over {b}" for _, a, b in RATIOS) + " |",
        "| --- |" + " ---: |" * (len(SIDES) + len(RATIOS)),
    ]
    for name, row in found["rows"].items():
        ratios = [f"{row[a] / row[b]:.2f}" for _, a, b in RATIOS]
        lines.append(f"| {name} | " + " | ".join([*(f"{row[side]:.2f}" for side in SIDES), *ratios]) + " |")
    return "\n".join(lines) + f"\n\n{machine.in_words(found['machine'])}.\n"


def _best(name, values):
    # Of processor times the least is what the work takes: others on the machine can only add to it.
    return min(values) if "processor time" in name else statistics.median(values)


def _classes(ray, np):
    @ray.remote
    class Actor:
        def __init__(self, other=None):
            self.other = other

        def nothing(self, *args):
            return None

        def processor_time(self):
            return time.process_time()

    @ray.remote
    class Server:
        def __init__(self):
            self.w = np.zeros(1000)

        def push(self, gradient):
            self.w = self.w + gradient

        def pull(self):
            return self.w

    @ray.remote
    class Worker:
        def __init__(self, server):
            self.server = server

        def step(self, w):
            end = time.thread_time() + 0.001
            while time.thread_time() < end:
                pass
            self.server.push.remote(w * 0.5)

    return Actor, Server, Worker


def measure(**how):
    """{what: µs a call}, or a round, of a session with these arguments of `init`."""
    import numpy as np

    import rayshim as ray

    ray.init(num_cpus=8, logging_level="ERROR", **how)
    Actor, Server, Worker = _classes(ray, np)
    found = {}

    def calls(name, actor, *args):
        caller, callee = [], []
        for _ in range(REPEATS):
            before, start = ray.get(actor.processor_time.remote()), time.process_time()
            refs = [actor.nothing.remote(*args) for _ in range(CALLS)]
            caller.append((time.process_time() - start) / CALLS)
            ray.get(refs)
            callee.append((ray.get(actor.processor_time.remote()) - before) / CALLS)
        found[f"{name}: caller's processor time"] = min(caller) * 1e6
        found[f"{name}: actor's processor time"] = min(callee) * 1e6

    def rounds(name, one, n):
        one()
        times = []
        for _ in range(n):
            start = time.perf_counter()
            one()
            times.append(time.perf_counter() - start)
        found[f"{name}: wall time"] = statistics.median(times) * 1e6

    shared = Actor.remote()
    holder = Actor.remote(shared)
    calls("an actor with one caller", Actor.remote())
    calls("the same, a ref as argument", Actor.remote(), ray.put(1))
    calls("an actor whose handle another has", shared)
    calls("an actor that holds a handle", holder)
    server = Server.remote()
    workers = [Worker.remote(server) for _ in range(4)]

    def serve():
        w = server.pull.remote()
        ray.get([worker.step.remote(w) for worker in workers])

    rounds("parameter server, 4 workers of 1 ms", serve, 100)
    array = np.zeros(1 << 17)
    rounds("echo of 1 MB", lambda: ray.get(shared.nothing.remote(array)), 200)
    many = [Actor.remote() for _ in range(64)]
    rounds("barrier over 64 actors", lambda: ray.get([actor.nothing.remote() for actor in many]), 300)
    ray.shutdown()
    return found
