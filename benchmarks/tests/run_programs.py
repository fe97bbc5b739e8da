"""Runs every program of `benchmarks/programs` once, tiny, in each of its styles; prints the traces as JSON.

    python -m rayshim --placement inline benchmarks/tests/run_programs.py

{program and options: {style: trace}}; those that import torch come last, because from then on every worker does.
"""

import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "programs"))

import plain  # noqa: E402
import ray  # noqa: E402
from measured import Measured  # noqa: E402

ALL = [
    ("broadcast", {"actors": 3, "size": 80_000, "sleep": 0.0}, ("naive", "idiomatic", "compiled", "bare")),
    ("scaling", {"actors": 2, "size": 5, "steps": 2}, ("naive", "bare")),
    ("stepping", {"env": "CartPole-v1", "envs": 3, "steps": 40}, ("naive", "compiled", "bare")),
    ("stepping", {"env": "Blackjack-v1", "envs": 2, "steps": 10}, ("naive", "bare")),
    ("stepping", {"env": "Pendulum-v1", "envs": 2, "steps": 10}, ("naive", "bare")),
    ("stepping", {"env": "ALE/Pong-v5", "envs": 2, "steps": 3}, ("naive", "bare")),
    ("evolution", {"actors": 2, "pairs": 1}, ("naive", "bare")),
    ("parameter_server", {"workers": 2, "mode": "sync"}, ("naive", "bare")),
    ("parameter_server", {"workers": 2, "mode": "async"}, ("naive", "bare")),
    ("population", {"members": 4}, ("naive", "bare")),
    ("qlearning", {"minibatch": 20, "seed": 0}, ("naive", "bare")),
    ("inference", {"agents": 2, "steps": 3}, ("naive", "compiled", "bare")),
    ("sac", {"samplers": 2, "steps": 10, "updates": 1}, ("naive", "bare")),
    ("impala", {"players": 2, "steps": 5}, ("naive", "bare")),
]


def trace(name, options, style):
    program = importlib.import_module(name)
    measured = Measured(rounds=3, warm_up=1)
    # The first programs have a branch of their own for the bare loop; the others are given what stands for Ray.
    runtime = (plain if style == "bare" else ray,) if hasattr(program, "plain") else ()
    try:
        program.run(measured, SimpleNamespace(**options, style=style), *runtime)
    finally:
        ray.shutdown()
    if len(measured.seconds) != 4:
        raise RuntimeError(f"{name} ran {len(measured.seconds)} rounds of 4")
    return measured.trace


def main():
    found = {}
    for name, options, styles in ALL:
        title = " ".join([name, *map(str, options.values())])
        found[title] = {style: trace(name, options, style) for style in styles}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
