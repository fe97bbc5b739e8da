"""`python -m reactor program.lf`: runs a Lingua Franca program with `target Python`."""

import argparse
import atexit
import os
import random
import sys
import threading
import time as clock
import traceback

from reactor.declared import PLACEMENTS
from reactor.execution.errors import ReactionError, WorkerError
from reactor.lf.errors import CodeError, LFError
from reactor.lf.instantiating import load
from reactor.lf.target import SETTINGS
from reactor.model import time
from reactor.model.levels import GraphError
from reactor.program import Program


def _options(arguments):
    parser = argparse.ArgumentParser(
        "python -m reactor", description="Runs a Lingua Franca program with target Python."
    )
    parser.add_argument("program", help="an .lf file")
    parser.add_argument("--fast", action="store_true", default=None, help="do not wait for the physical clock")
    parser.add_argument(
        "--timeout", type=time.parse, metavar="TIME", help='end after this logical time, for example "2 s"'
    )
    parser.add_argument(
        "--keepalive", action="store_true", default=None, help="wait for physical actions when no other event is left"
    )
    parser.add_argument("--workers", type=int, help="number of worker processes for --placement packed")
    parser.add_argument(
        "--placement",
        choices=PLACEMENTS,
        default="inline",
        help="inline (default): one process; packed: --workers processes; isolated: one process per reactor",
    )
    parser.add_argument(
        "--trace", metavar="FILE", help="write the trace to FILE; if the name ends in .json, in the format of Perfetto"
    )
    parser.add_argument(
        "--graph",
        metavar="FILE",
        type=_drawing,
        help="write a drawing of the program to FILE (.txt, .mmd, .dot or .html) instead of running it; -: print it as text",
    )
    parser.add_argument("--plan", action="store_true", help="print the plan instead of running the program")
    parser.add_argument(
        "--delays", type=int, metavar="SEED", help="sleep up to a millisecond before each reaction, to find races"
    )
    return parser.parse_args(arguments)


def main(arguments=None):
    """Runs it; returns the exit status."""
    options = _options(arguments)
    try:
        top, settings = load(os.path.abspath(options.program))
        for name in SETTINGS:
            if getattr(options, name) is not None:
                settings[name] = getattr(options, name)
        if options.delays is not None:
            settings["before_reaction"] = _delays(options.delays)
        program = Program(top, placement=options.placement, trace=bool(options.trace), **settings)
        if options.plan:
            print(program.plan)
            return 0
        if options.graph:
            return _draw(program, options.graph)
        if options.trace:
            open(options.trace, "w").close()
    except (LFError, GraphError, OSError) as error:
        return _report(error)
    try:
        program.run()
    except LFError as error:  # in the value of a state variable
        return _report(error)
    except (ReactionError, WorkerError) as error:
        traceback.print_exception(error.__cause__)
        print(error, file=sys.stderr)
        return 1
    finally:
        if options.trace:
            program.trace.save(options.trace)
    return 0


def _report(error):
    if isinstance(error, CodeError):
        traceback.print_exception(error.__cause__)
    print(error, file=sys.stderr)
    return 1


def _delays(seed):
    draw = random.Random(seed).random
    return lambda: clock.sleep(draw() / 1000)


_DRAWINGS = {".txt": "text", ".mmd": "mermaid", ".dot": "dot", ".html": "html"}  # modules of reactor.draw


def _drawing(path):
    """`path`, if its suffix is one of a drawing."""
    end = os.path.splitext(path)[1]
    if end and end not in _DRAWINGS:
        raise argparse.ArgumentTypeError(f"{path}: the name must end with {', '.join(_DRAWINGS)}, but ends with {end}")
    return path


def _draw(program, path):
    from importlib import import_module

    kind = _DRAWINGS.get(os.path.splitext(path)[1], "text")
    try:
        picture = import_module(f"reactor.draw.{kind}").render(program.graph)
    except ImportError as error:
        return _report(error)
    if path == "-":
        print(picture)
    else:
        with open(path, "w") as file:
            file.write(picture)
    return 0


_GRACE = 1.0  # seconds that threads of the program have to end by themselves


def run():
    """Runs it and ends this process, threads of the program that are no daemons and run on included."""
    try:
        status = main()
    except SystemExit as error:
        if not isinstance(error.code, (int, type(None))):
            print(error.code, file=sys.stderr)
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    until = clock.monotonic() + _GRACE
    for thread in _others():
        thread.join(max(0.0, until - clock.monotonic()))
    if left := _others():
        names = ", ".join(thread.name for thread in left)
        print(f"The program has ended, and with it its threads that still ran: {names}", file=sys.stderr)
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _others():
    return [thread for thread in threading.enumerate() if not thread.daemon and thread is not threading.main_thread()]


if __name__ == "__main__":
    run()
