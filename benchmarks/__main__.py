"""python -m benchmarks NAME [arguments]"""

import argparse
import compileall
import importlib
import signal
import sys

from benchmarks.machine import REPOSITORY

ALONE = {
    "curves": "learning curves of one asynchronous program, in several runs on Ray and in timed order",
    "demo": "deep Q-learning on Ray and on rayshim: compares results and speed",
    "faults": "random programs whose processes are killed: checks results, exceptions, times and leftovers",
    "layers": "where the time of one rayshim call goes",
    "micro": "the cost of single operations on Ray and on rayshim",
    "order": "the cost of serial order, the digest and packed placement",
    "pace": "whether programs with concurrent loops are as fast as on Ray",
    "policies": "distribution policies over the time of an environment step and the size of the network",
    "published": "the programs of the paper on the reactor model, from a checkout: on Ray, on rayshim and on reactor",
    "rllib": "RLlib, Tune, Train and Data of the installed Ray package on Ray and on rayshim",
    "report": "makes Markdown tables and plots of all results from the JSON files",
    "saturate": "the policy saturate: its controller against a full grid of settings, and SAC beside other libraries",
    "savina": "Savina, a suite of actor programs, on reactor, on rayshim and Ray, and on other actor libraries",
    "timed": "the pace of timed order, and whether each run repeats the measured one",
    "timed_cores": "the pace of timed order with 4, 16 and 64 actors on as many cores, by simulation",
}
_MODULES = {
    "faults": "faults.campaign",
    "published": "published.command",
    "report": "publish",
    "savina": "savina.command",
}


def main():
    # Unwind, so that started processes are ended: they are in sessions of their own, which the terminal does not reach.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    # pip compiles a package when it installs it. In an editable installation, changed modules (or all modules, if bytecode is not written) would
    # be compiled in each measured process.
    for package in ("benchmarks", "rayshim", "reactor"):
        compileall.compile_dir(REPOSITORY / package, quiet=2)
    if sys.argv[1:2] and sys.argv[1] in ALONE:
        module = _MODULES.get(sys.argv[1], sys.argv[1])
        return importlib.import_module(f"benchmarks.{module}").main(sys.argv[2:])
    from benchmarks import heads

    if sys.argv[1:] in ([], ["-h"], ["--help"]):
        _help(heads)
        return 0 if sys.argv[1:] else 2
    return heads.main(sys.argv[1:])


def _help(heads):
    lines = [f"  {name:19}{text}" for name, text in ALONE.items()]
    lines += ["", "workloads on Ray, on rayshim and on other libraries; give one or more names, or all:"]
    lines += [f"  {workload.name:19}{workload.title}" for workload in heads.WORKLOADS.values()]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        usage="python -m benchmarks NAME... [arguments]",
        description="\n".join(lines),
        epilog="`python -m benchmarks NAME --help` describes the arguments.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.print_help()


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
