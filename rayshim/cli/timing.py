"""The command `rayshim timing`: shows, extends and deletes timing files, and runs a program in several orders."""

import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile

from reactor.printable import printable

from rayshim.cli import parsers
from rayshim.cli.program_arguments import split_program

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b")
_PROGRAM = "(SCRIPT | -m MODULE) [ARGS...]"
_ABOUT = {
    "show": "prints a table of the methods and functions: calls, and how long they took",
    "clear": "deletes a timing file, so that the next run is measured",
    "extend": "runs a program once more and adds the calls that the file does not have",
    "spread": "runs a program with several timing seeds and prints how much a value that it prints differs",
}


def main(argv):
    """Runs `rayshim timing show|clear|extend|spread ...`. Returns the exit status."""
    actions = {"show": _show, "clear": _clear, "extend": _extend, "spread": _spread}
    if argv and argv[0] in actions:
        return actions[argv[0]](argv[1:])
    parser = parsers.Parser(
        prog="rayshim timing",
        usage=f"rayshim timing [-h] ({' | '.join(actions)}) ...",
        description="Timing files give asynchronous programs the same order in each run: `rayshim run --ordering timed --timing FILE SCRIPT`.\n\n"
        + "\n".join(f"  {name:8}{text}" for name, text in _ABOUT.items()),
        epilog="example:\n  rayshim timing spread --seeds 10 --value return train.py\n\n`rayshim timing ACTION --help` describes the arguments of an action.",
    )
    parser.parse_args(argv[:1] if argv[:1] and argv[0].startswith("-") else [])
    like = parsers.did_you_mean(argv[0], actions) if argv else ""
    parser.error(f"{f'there is no action {argv[0]!r}' if argv else 'no action given'}: {', '.join(actions)}{like}")


def _parser(action, program=None, **more):
    return parsers.Parser(
        prog=f"rayshim timing {action}", description=f"{_ABOUT[action].capitalize()}.{program or ''}", **more
    )


def _file(action, argv):
    """The path of the argument FILE."""
    parser = _parser(action)
    parser.add_argument("file", metavar="FILE", help="the timing file")
    return parser.parse_args(argv).file


def _failed(action, reason):
    print(f"rayshim timing {action}: {reason}", file=sys.stderr)
    return 1


def _unreadable(path, error):
    return str(error) if isinstance(error, ValueError) else f"{path} cannot be read: {error.strerror}"


# ---- show


def _show(argv):
    from rayshim.cli.compare.plain import console, table
    from rayshim.timing import file

    path = _file("show", argv)
    try:
        timings = file.read(path)
        size = os.path.getsize(path)
    except (OSError, ValueError) as error:
        return _failed("show", _unreadable(path, error))
    out = console()
    headings = ["name", "callers", "calls", "median ms", "10% to 90% ms", "total s"]
    out.print(table(None, headings, rows(timings)))
    out.print(
        f"format {file.VERSION}, {timings.calls:,} calls, {size:,} bytes, {size / max(timings.calls, 1):.2f} bytes per call",
        soft_wrap=True,
    )
    return 0


def rows(timings):
    """Of each method or function, those with the most time first: the cells of a row. Times are those of a call's own code, without its waits."""
    import numpy as np

    sums = np.concatenate([[0], np.cumsum(timings.durations, dtype=np.int64)])[timings.first_duration]
    times = np.diff(sums) / 1e6
    by_name = {}
    for i, name in enumerate(timings.names):
        by_name.setdefault(name, []).append(times[timings.first_call[i] : timings.first_call[i + 1]])
    found = sorted(
        ((name, len(parts), np.concatenate(parts)) for name, parts in by_name.items()),
        key=lambda row: (-row[2].sum(), row[0]),
    )
    for name, callers, seconds in found:
        low, median, high = np.percentile(1e3 * seconds, [10, 50, 90]) if len(seconds) else (0, 0, 0)
        yield [
            printable(name) or "(creation)",
            f"{callers:,}",
            f"{len(seconds):,}",
            f"{median:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{seconds.sum():.3f}",
        ]


# ---- clear


def _clear(argv):
    from rayshim.timing import file

    path = _file("clear", argv)
    try:
        if not file.is_one(path):
            return _failed("clear", f"{path} is no timing file of rayshim: it is left as it is")
        os.unlink(path)
    except OSError as error:
        return _failed("clear", f"{path} cannot be deleted: {error.strerror}")
    print(f"{path} deleted; the next run with --timing {path} is measured")
    return 0


# ---- runs of a program


def _with_run_options(parser):
    parser.add_argument("--seed", metavar="N", type=int, help="see `rayshim run --help`")
    parser.add_argument("--placement", metavar="PLACEMENT", help="see `rayshim run --help`")
    return parsers.with_program(parser, _PROGRAM)


def _program(parser, own, is_module, program, args):
    """(the parsed options, the command line of the program)"""
    wanted = parser.parse_args(own)
    if program is None:
        parser.error("no program given: pass the path of a script, or -m and the name of a module")
    if program in ("-", "-c"):
        parser.error(f"{program}: the program must be a script or, with -m, a module")
    if not is_module and not os.path.exists(str(program)):
        parser.error(f"there is no file {program!r}")
    return wanted, ["-m", program, *args] if is_module else [program, *args]


def _run(wanted, path, program, seed=0, stdout=None):
    """Runs the program in timed order; the CompletedProcess."""
    options = ["--ordering", "timed", "--timing", path, "--timing-seed", str(seed)]
    for name in ("seed", "placement"):
        if getattr(wanted, name) is not None:
            options += [f"--{name}", str(getattr(wanted, name))]
    command = [sys.executable, "-m", "rayshim", "run", *options, *program]
    return subprocess.run(command, stdout=stdout, text=True)


_NOT_MEASURED = (
    "the program has written no timing file: it has started no session, has given init() another ordering= or timing=, "
    "or ended before its session did"
)


def _extend(argv):
    from rayshim.timing import file

    parser = _with_run_options(
        _parser(
            "extend",
            " The program goes by arrival in this run, as in the one that made the file. What the file has stays as it is; series of calls that are new or "
            "have more calls than in the file, and calls with more stretches than in the file, get what this run measures. Later runs have one order, which "
            "agrees with that of the first run as far as both runs had the same.",
            epilog="example:\n  rayshim timing extend train.timing train.py --iterations 1000",
        )
    )
    parser.usage = f"rayshim timing extend [-h] [--seed N] [--placement PLACEMENT] FILE {_PROGRAM}"
    parser.add_argument("file", metavar="FILE", help="the timing file")
    own, is_module, path, rest = split_program(argv, lambda: parser)
    if is_module or path is None:
        parser.parse_args(own)  # --help, or the error that FILE is missing
    more, is_module, program, args = split_program(rest, lambda: parser)
    wanted, command = _program(parser, [*own, *more, path], is_module, program, args)
    try:
        old = file.read(wanted.file)
    except (OSError, ValueError) as error:
        return _failed("extend", _unreadable(wanted.file, error))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "new.timing")
        done = _run(wanted, path, command)
        if done.returncode:
            return _failed("extend", f"the program ended with status {done.returncode}; {wanted.file} is as before")
        if not os.path.exists(path):
            return _failed("extend", f"{_NOT_MEASURED}; {wanted.file} is as before")
        both = file.extended(old, file.read(path))
    try:
        file.write(wanted.file, both)
    except OSError as error:
        return _failed("extend", f"{wanted.file} cannot be written: {error.strerror}")
    print(f"{wanted.file}: {both.calls - old.calls:,} calls added to {old.calls:,}")
    return 0


def _spread(argv):
    parser = _with_run_options(
        _parser(
            "spread",
            " Each timing seed is another possible order of the program; seed 0 is that of the timing file. The value is the last number in the last line with "
            "a number that the program prints and that contains TEXT.",
            epilog="example:\n  rayshim timing spread --seeds 10 --value return --seed 1 train.py",
        )
    )
    parser.add_argument("--seeds", metavar="N", type=_count, default=10, help="timing seeds 0 to N - 1; default: 10")
    parser.add_argument("--value", metavar="TEXT", default="", help="part of the line; default: any line")
    parser.add_argument(
        "--timing",
        metavar="FILE",
        type=parsers.new_file,
        help="the timing file; default: a run before the others measures",
    )
    parser.usage = None
    parsers.with_program(parser, _PROGRAM)
    wanted, command = _program(parser, *split_program(argv, lambda: parser))
    from rayshim.cli.compare.plain import console

    out = console()
    with tempfile.TemporaryDirectory() as folder:
        path = wanted.timing or os.path.join(folder, "program.timing")
        if not os.path.exists(path):
            with out.status("measuring"):
                done = _run(wanted, path, command, stdout=subprocess.PIPE)
            if done.returncode or not os.path.exists(path):
                return _no_value(done, f"in the measured run {_ended(done) if done.returncode else _NOT_MEASURED}")
        values = []
        for seed in range(wanted.seeds):
            with out.status(f"timing seed {seed} of 0 to {wanted.seeds - 1}"):
                done = _run(wanted, path, command, seed, subprocess.PIPE)
            if done.returncode:
                return _no_value(done, f"with timing seed {seed} {_ended(done)}")
            if (value := printed(done.stdout, wanted.value)) is None:
                where = f" in a line that contains {wanted.value!r}" if wanted.value else ""
                return _no_value(done, f"with timing seed {seed} the program has printed no number{where}")
            values.append(value)
    _print_spread(out, values)
    return 0


def _count(text):
    with contextlib.suppress(ValueError):
        if (number := int(text)) > 0:
            return number
    raise parsers.argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")


def _ended(done):
    return f"the program ended with status {done.returncode}"


def _no_value(done, reason):
    if done.stdout:
        print("the program's last lines:", *done.stdout.splitlines()[-20:], sep="\n", file=sys.stderr)
    return _failed("spread", reason)


def printed(text, part):
    """The last number (float) in the last line of `text` that contains `part` and has a number; None if there is none. Of a line that a worker has printed,
    the name and process id before it do not count."""
    from rayshim.cli.compare.output import without_prefixes

    for line in reversed(without_prefixes(text)):
        if part in line and (found := _NUMBER.findall(line)):
            return float(found[-1])
    return None


def _print_spread(out, values):
    from rayshim.cli.compare.plain import table

    out.print(table(None, ["timing seed", "value"], [[str(seed), f"{value:g}"] for seed, value in enumerate(values)]))
    least, most, median = min(values), max(values), statistics.median(values)
    different = len(set(values))
    share = f", {100 * (most - least) / abs(median):.3g}% of the median" if median else ""
    deviation = f", standard deviation {statistics.stdev(values):.6g}" if len(values) > 1 else ""
    out.print(
        f"median {median:.6g}, from {least:.6g} to {most:.6g}: spread {most - least:.6g}{share}{deviation}; "
        f"{different} different value{'s' * (different != 1)} of {len(values)}",
        soft_wrap=True,
    )
