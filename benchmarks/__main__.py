"""python -m benchmarks NAME [arguments]"""

import argparse
import importlib
import signal
import sys

BENCHMARKS = {
    "demo": "deep Q-learning on Ray and on rayshim: same results, how much faster",
    "layers": "where the time of one rayshim call goes",
    "micro": "what one operation costs on Ray and on rayshim, row by row",
}


def main():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="\n".join(f"{name:6}  {text}" for name, text in BENCHMARKS.items()),
        epilog="NAME --help tells the arguments of each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=BENCHMARKS, metavar="NAME")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    chosen = parser.parse_args()
    # Unwind, so that what was started is ended: it is in sessions of its own, out of reach of the terminal.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    return importlib.import_module(f"benchmarks.{chosen.name}").main(chosen.arguments)


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
