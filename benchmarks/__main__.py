"""python -m benchmarks NAME [arguments]"""

import argparse
import compileall
import importlib
import signal
import sys

from benchmarks.machine import REPOSITORY

ALONE = {
    "demo": "deep Q-learning on Ray and on rayshim: same results, how much faster",
    "faults": "random programs under kill -9 of their processes: results, exceptions, time, what is left behind",
    "layers": "where the time of one rayshim call goes",
    "micro": "what one operation costs on Ray and on rayshim, row by row",
    "order": "what the serial order, the running hash and packed placement cost or save",
    "pace": "whether programs of concurrent loops keep the pace that they have on Ray",
    "report": "Markdown and plots of all results, from their JSON alone",
}


def main():
    # Unwind, so that what was started is ended: it is in sessions of its own, out of reach of the terminal.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    # As pip does when it installs a package. In an editable one changed modules, or all if bytecode is not to be written, would be
    # compiled in each process that is measured.
    for package in ("benchmarks", "rayshim", "reactor"):
        compileall.compile_dir(REPOSITORY / package, quiet=2)
    if sys.argv[1:2] and sys.argv[1] in ALONE:
        module = {"faults": "faults.campaign", "report": "publish"}.get(sys.argv[1], sys.argv[1])
        return importlib.import_module(f"benchmarks.{module}").main(sys.argv[2:])
    from benchmarks import heads

    if sys.argv[1:] in ([], ["-h"], ["--help"]):
        _help(heads)
        return 0 if sys.argv[1:] else 2
    return heads.main(sys.argv[1:])


def _help(heads):
    lines = [f"  {name:19}{text}" for name, text in ALONE.items()]
    lines += ["", "head to head, several at a time, or all:"]
    lines += [f"  {workload.name:19}{workload.title}" for workload in heads.WORKLOADS.values()]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        usage="python -m benchmarks NAME... [arguments]",
        description="\n".join(lines),
        epilog="NAME --help tells the arguments of each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.print_help()


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
