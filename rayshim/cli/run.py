"""`rayshim run`: its options, which are checked before the program starts, and what they do."""

import argparse
import os
import sys

from rayshim import api
from rayshim.api import arguments
from rayshim.cli import parsers
from rayshim.placement import kinds
from rayshim.session import session


def start_python(options, argv):
    """Replaces this process by a Python with these options that runs `rayshim argv`."""
    import subprocess

    given = subprocess._args_from_interpreter_flags()  # pyright: ignore[reportAttributeAccessIssue]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *given, *options, "-m", "rayshim", "run", *argv])


def needs_hash_seed(wanted):
    """Whether Python must be started again with the hash seed of `--seed`, which the environment then has."""
    if wanted.seed is None or "PYTHONHASHSEED" in os.environ:
        return False
    os.environ.update(arguments.hash_seed(wanted.seed))
    return True


def parser():
    """The parser of the options of rayshim."""
    made = parsers.Parser(
        prog="rayshim run",
        description=(
            "Runs an unmodified program as `python SCRIPT ARGS` does, except that `import ray` imports rayshim, in the program and in "
            "its workers. Options of rayshim come before SCRIPT; arguments after SCRIPT belong to the script. Options of Python such as "
            "-i, -u, -W and -X may be among those of rayshim."
        ),
        epilog=(
            "examples:\n"
            "  rayshim run train.py --iterations 10\n"
            "  rayshim run -m mypackage.train --iterations 10\n"
            "  rayshim run --explain --graph graph.html train.py"
        ),
    )
    made.add_argument(
        "--explain",
        action="store_true",
        help="print at the end: how many calls followed a learned pattern, what limits the speed, what would make the program faster, and a drawing of its repeated rounds",
    )
    made.add_argument(
        "--graph",
        metavar="PATH",
        type=_drawing,
        help="write the graph of the learned patterns of calls to PATH at the end: an HTML page, or, by the end of the name, text (.txt), Mermaid (.mmd) or DOT (.dot)",
    )
    made.add_argument(
        "--trace",
        metavar="PATH",
        type=parsers.new_file,
        help="write a timeline for Perfetto or chrome://tracing to PATH at the end",
    )
    made.add_argument(
        "--ordering",
        metavar="ORDER",
        type=parsers.one_of(arguments.ORDERINGS),
        help=f"{', '.join(arguments.ORDERINGS)}, if the program does not pass ordering= to `init`; timed needs --timing",
    )
    made.add_argument(
        "--timing",
        metavar="FILE",
        type=parsers.new_file,
        help="with --ordering timed: the timing file. If it is not there, the run is measured and writes it; if it is, the run has its order. "
        "`rayshim timing` shows such files",
    )
    made.add_argument(
        "--timing-seed",
        metavar="N",
        type=_timing_seed,
        help="with --ordering timed: multiply each duration of the timing file by a factor that is drawn from N, 0 or more; 0: as recorded",
    )
    made.add_argument(
        "--clock",
        metavar="CLOCK",
        type=parsers.one_of(arguments.CLOCKS),
        help="with --ordering timed: what time.time() and the like show the program: physical (the machine's time) or logical (the time of the order, the "
        "same in each run)",
    )
    made.add_argument(
        "--patience",
        metavar="BUDGET",
        type=_budget,
        help="how long logical order may block callers, if the program does not pass patience= to `init`: seconds, inf, or a share such as 25%%",
    )
    again = made.add_mutually_exclusive_group()
    again.add_argument(
        "--record",
        metavar="PATH",
        type=parsers.new_directory,
        help="write a journal of the run into the new directory PATH, for --replay and `rayshim diff`",
    )
    again.add_argument(
        "--replay", metavar="PATH", type=_journal, help="repeat the run whose journal is in the directory PATH"
    )
    made.add_argument(
        "--seed",
        metavar="N",
        type=int,
        help="the seed of random numbers and of the hashes of strings (PYTHONHASHSEED), if the program does not pass seed= to `init`",
    )
    made.add_argument(
        "--placement",
        type=_placement,
        help="isolated, packed, inline, auto, or the path of a file of roles (FILE.toml), which says what shares processes, on which cores; if the program does "
        "not pass placement= to `init`",
    )
    return parsers.with_program(made, "(SCRIPT | - | -c TEXT | -m MODULE) [ARGS...]")


def _journal(text):
    """The absolute path of a journal that can be replayed."""
    from rayshim.errors.exceptions import ReplayError
    from rayshim.journal import files, journal

    path = os.path.abspath(text)
    try:
        run = files.read_run(path)
    except ReplayError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except OSError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not the journal of a run ({error.strerror}: {error.filename}); --record writes one"
        ) from None
    if (found := run.get("format")) != journal.FORMAT:
        raise argparse.ArgumentTypeError(
            f"the journal {text} was written by another version of rayshim (format {found}, not {journal.FORMAT}); record the run again"
        )
    return path


def _placement(text):
    """The name of a placement, or the absolute path of a file of roles."""
    if not kinds.is_file(text):
        return parsers.one_of((*kinds.NAMES, kinds.AUTO))(text)
    from rayshim.placement import roles_file

    try:
        roles_file.read(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return os.path.abspath(text)


def _budget(text):
    try:
        arguments.parsed_budget(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of seconds, 0 or more (inf: no limit), or a share of the time such as 25%"
        ) from None
    return text


def _timing_seed(text):
    try:
        return arguments.parsed_timing_seed(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer, 0 or more") from None


def timing_mistake(wanted):
    """Why the options --ordering, --timing and --timing-seed, with the environment's, do not go together; None if they do."""
    order = wanted.ordering or os.environ.get("RAYSHIM_ORDERING")
    if order == "timed":
        if not (wanted.timing or os.environ.get("RAYSHIM_TIMING")):
            return "timed order needs a timing file: add --timing FILE. If FILE is not there, this run is measured and writes it"
        return None
    for option, value in (
        ("--timing", wanted.timing),
        ("--timing-seed", wanted.timing_seed),
        ("--clock", wanted.clock),
    ):
        if value is not None:
            remedy = f"give it with --ordering timed instead of {order}" if order else "add --ordering timed"
            return f"{option} {value} has no effect without timed order: {remedy}"
    return None


_DRAWINGS = {".html": "html", ".htm": "html", ".txt": "text", ".mmd": "mermaid", ".dot": "dot"}  # methods of the graph


def _drawing(text):
    """(absolute path, method of the graph that draws it)"""
    end = os.path.splitext(text)[1].lower()
    if end and end not in _DRAWINGS:
        raise argparse.ArgumentTypeError(
            f"{text}: the name must end with {', '.join(_DRAWINGS)}, or have no suffix (HTML), but ends with {end}"
        )
    method = _DRAWINGS.get(end, "html")
    if method == "html":
        from reactor.draw.html import missing

        if reason := missing():
            raise argparse.ArgumentTypeError(f"{text}: {reason}; files .txt, .mmd and .dot need neither")
    return parsers.new_file(text), method


def observe(wanted):
    """Applies the options: environment variables for `init`, and the reports at the end of each session."""
    if wanted.trace:
        os.environ["RAYSHIM_TRACE"] = "1"
    for name in arguments.OWN_OF_SESSION:
        if (value := getattr(wanted, name, None)) not in (None, ""):
            os.environ[f"RAYSHIM_{name.upper()}"] = str(value)
    if wanted.seed is not None:
        from reactor.runtime.seeding import seeding

        seeding.reseed(wanted.seed, "driver")  # the program may seed them again
    reports = {
        "--explain": wanted.explain and _explain,
        "--graph": wanted.graph and (lambda: _draw(*wanted.graph)),
        "--trace": wanted.trace and (lambda: api.timeline(wanted.trace)),
    }
    for option, report in reports.items():
        if report:
            report.__name__ = option  # for the message if it fails
            session.before_end.append(report)
    asked = [option for option in (*reports, "--record", "--replay") if getattr(wanted, option[2:])]
    if asked:
        _say_without_session(asked)


def _say_without_session(options):
    """When the program ends and has started no session, says that these options had no effect."""
    import atexit

    begun, own = [], os.getpid()
    session.after_begin.append(lambda: begun.append(True))

    def say():
        if not begun and os.getpid() == own:
            print(
                f"rayshim: {', '.join(options)} had no effect, because the program has started no session: it called neither init() nor another "
                "function of Ray",
                file=sys.stderr,
            )

    atexit.register(say)


def _explain():
    print(api.report(), file=sys.stderr)
    if session.current is not None and session.current.settings.recording:
        graph = api.graph()
        print("", *graph.advice(), sep="\n", file=sys.stderr)
        if rounds := graph.rounds():
            print("", rounds, sep="\n", file=sys.stderr)


def _draw(path, method):
    drawn = getattr(api.graph(), method)()
    with open(path, "w", encoding="utf-8") as file:
        file.write(drawn)
