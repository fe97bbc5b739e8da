"""The command `rayshim` (and `python -m rayshim`)."""

import sys

from rayshim import api
from rayshim.session import session
from rayshim.session.version import VERSION

_INSPECTING = ("status", "stack", "memory")
_STATE = ("list", "get", "summary", "health-check")
_RAYS = ("start", "stop", "job", "debug", "microbenchmark", *_INSPECTING, *_STATE)
_INSTEAD = {  # commands of Ray's that have nothing to show here
    "logs": "rayshim writes no log files: workers print to the program's own stdout and stderr. Of a job, `rayshim job logs ID` shows the output",
    "timeline": "times are kept only where they are asked for: `python -m rayshim --trace out.json script.py`, or init(trace=True) and ray.timeline()",
}


def main(argv=None):
    """Runs the command line `argv` (list of str, default `sys.argv[1:]`) and returns the exit status.

    The command `run` may be left out: `script.py args…` means `run script.py args…`. Exceptions of the program itself, SystemExit included,
    are not caught.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv:
        _parser().print_help(sys.stderr)
        return 2
    if argv[0] == "--as-ray":
        return _as_ray(argv[1:])
    if argv[0] in ("-h", "--help", "--version"):
        _parser().parse_args(argv[:1])
    if argv[0] in _INSPECTING:
        return _told_in_part(_showing, _look, argv[0], argv[1:])
    if argv[0] in ("start", "stop"):
        from rayshim.cli import cluster

        return _told_in_part(getattr(cluster, argv[0]), argv[1:])
    if argv[0] == "job":
        from rayshim.cli import job

        return _told_in_part(job.main, argv[1:])
    if argv[0] in _STATE:
        from rayshim.cli import state

        return _told_in_part(_showing, state.main, argv[0], argv[1:])
    if argv[0] == "debug":
        from rayshim.cli import debug

        return _told_in_part(debug.main, argv[1:])
    if argv[0] == "compare":
        return _told_in_part(_compare, argv[1:])
    if argv[0] == "microbenchmark":
        return _microbenchmark(argv[1:])
    if argv[0] == "profile":
        from rayshim.cli import profile

        return _told_in_part(_showing, profile.main, argv[1:])
    if argv[0] == "diff":
        return _told_in_part(_showing, _diff, argv[1:])
    return _run(argv[1:] if argv[0] == "run" else argv)


def _as_ray(argv):
    """The command `ray`, as programs under `python -m rayshim` find it."""
    from rayshim.session.version import RAY_VERSION

    if argv[:1] == ["--version"]:
        print(f"ray, version {RAY_VERSION}")
        return 0
    if argv[:1] and argv[0] in _RAYS:
        return main(argv[:1] if argv[0] in _INSPECTING else argv)
    if argv[:1] and argv[0] in _INSTEAD:
        print(f"ray {argv[0]}: {_INSTEAD[argv[0]]}", file=sys.stderr)
        return 1
    print(
        f"ray {' '.join(argv[:1])}: under `python -m rayshim` the command `ray` is rayshim, which has only these commands: {', '.join(_RAYS)}. "
        "In a shell outside it, `ray` is real Ray",
        file=sys.stderr,
    )
    return 2


def _told_in_part(command, *args):
    """Runs a command that prints. When the reader closes the pipe early, as `head` does, the command ends silently with status 141, which
    shells show for a process that SIGPIPE ended."""
    import os

    try:
        status = command(*args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush when the interpreter ends
        return 141


def _showing(command, *args):
    """Runs a command that prints names and texts of other programs or from files: they cannot control the terminal."""
    import contextlib

    from reactor.printable import PrintableStream

    with contextlib.redirect_stdout(PrintableStream(sys.stdout)):  # pyright: ignore[reportArgumentType]
        return command(*args)


def split_program(argv, parser):
    """Splits the arguments after `run`: (options of rayshim, is the program a module, its name or None, its arguments).

    `parser()` gives the parser of the options; it is called only if there are any. The options of rayshim end at the first argument that is no
    option, or at `-m NAME`; everything after it belongs to the program. The name is "-" for the standard input, and "-c" for a program text,
    which is then the first argument of the program.
    """
    with_value = None  # the options that take one
    skip = False  # the value of the option before
    for i, argument in enumerate(argv):
        if skip:
            skip = False
            continue
        if argument == "-m":
            return argv[:i], True, argv[i + 1] if i + 1 < len(argv) else None, argv[i + 2 :]
        if argument == "-c" and i + 1 == len(argv):
            return argv[:i], False, None, []
        if not argument.startswith("-") or argument in ("-", "-c"):
            return argv[:i], False, argument, argv[i + 1 :]
        if with_value is None:
            with_value = {
                option for action in parser()._actions if action.nargs != 0 for option in action.option_strings
            }
        skip = argument in with_value
    return argv, False, None, []


def _parsed(own, program, parser):
    """The options `own` of a command that needs a program."""
    parser = parser()
    wanted = parser.parse_args(own)
    if program is None:
        parser.error("no program given: pass the path of a script, or -m and the name of a module")
    return wanted


def _run(argv):
    own, is_module, program, args = split_program(argv, _run_parser)
    if own or program is None:
        _observe(_parsed(own, program, _run_parser))
    import os

    from rayshim.cli import script
    from rayshim.session import alias, commands

    alias.install()
    os.environ.update(commands.variables(os.environ))
    if is_module and program == "pytest":
        from rayshim.cli import pytest_alias

        pytest_alias.pass_on()
    try:
        (script.run_module if is_module else script.run_script)(program, args)
    except script.CannotStart as error:
        print(f"rayshim: {error}", file=sys.stderr)
        return error.status
    return 0


def _diff(argv):
    import argparse
    import os

    parser = argparse.ArgumentParser(
        prog="rayshim diff",
        description="Compares the journals of two runs of a program and shows the first call that differs: actor, method, call site and both "
        "values. The exit status is 0 if the runs are equal, 1 if they differ.",
        epilog="example:\n  rayshim run --record run1 train.py; rayshim run --record run2 train.py; rayshim diff run1 run2",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, metavar, which in (("one", "RUN1", "one"), ("two", "RUN2", "the other")):
        parser.add_argument(
            name, metavar=metavar, help=f"journal of {which} run: the directory given to --record or init(record=)"
        )
    wanted = parser.parse_args(argv)
    for path in (wanted.one, wanted.two):
        if not os.path.isfile(os.path.join(path, "run.json")):
            parser.error(f"{path}: this is not the journal of a run. `rayshim run --record {path} SCRIPT` writes one")
    from rayshim.journal import diff

    return diff.main(wanted.one, wanted.two, sys.stdout)


def _microbenchmark(argv):
    """Ray's own `ray microbenchmark`, from the installed Ray package, on rayshim."""
    import argparse

    argparse.ArgumentParser(
        prog="rayshim microbenchmark",
        description="Runs the benchmark of the command `ray microbenchmark` on rayshim. The benchmark is part of the installed Ray package. The environment "
        "variable TESTS_TO_RUN selects rows by a part of their names.",
    ).parse_args(argv)
    from rayshim.session import libraries

    if not libraries.installed("_private.ray_perf"):
        print("rayshim microbenchmark: the benchmark is part of Ray: pip install 'rayshim[ray]'", file=sys.stderr)
        return 2
    return _run(["-m", "ray._private.ray_perf"])


def _compare(argv):
    """Runs a program on real Ray and on rayshim, and prints the time and memory of both and whether their output is the same."""
    own, is_module, program, args = split_program(argv, _compare_parser)
    wanted = _parsed(own, program, _compare_parser)
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        print("rayshim compare: the package rich is missing: pip install 'rayshim[compare]'", file=sys.stderr)
        return 2
    from rayshim.cli.compare.compare import compare

    return compare(["-m", program, *args] if is_module else [program, *args], wanted.timeout, Console())


def _look(command, argv):
    """Runs `status`, `stack` or `memory`. Returns the exit status: 1 if no session is running."""
    _session_parser(command).parse_args(argv)
    from rayshim.cli import session_state

    return getattr(session_state, command)(sys.stdout)


def _observe(wanted):
    """Applies the options of `run`: environment variables for `init`, and the reports at the end of each session."""
    import os

    from rayshim.api.arguments import OWN_OF_SESSION

    def explain():
        print(api.report(), file=sys.stderr)
        if session.current.settings["recording"]:
            graph = api.graph()
            print("", *graph.advice(), sep="\n", file=sys.stderr)
            if rounds := graph.rounds():
                print("", rounds, sep="\n", file=sys.stderr)

    def draw():
        api.graph().html(wanted.graph)

    def trace():
        api.timeline(wanted.trace)

    if wanted.trace:
        os.environ["RAYSHIM_TRACE"] = "1"
    for name in OWN_OF_SESSION:
        if value := getattr(wanted, name, None):  # `run` has no option for a seed
            os.environ[f"RAYSHIM_{name.upper()}"] = value
    session.before_end += [
        f for f, on in ((explain, wanted.explain), (draw, wanted.graph), (trace, wanted.trace)) if on
    ]


def _parser():
    import argparse

    parser = argparse.ArgumentParser(
        prog="rayshim",
        description="Runs programs written for Ray on one machine, without Ray.",
        usage="rayshim [-h] [--version] [run] [OPTIONS] (SCRIPT | - | -c TEXT | -m MODULE) [ARGS...]",
        epilog=(
            "commands:\n"
            "  run        run a script or module in which `import ray` means rayshim (may be left out)\n"
            "  compare    run a script on real Ray and on rayshim: time, memory, and whether both print the same\n"
            "  diff       show the first call that differs between the journals of two runs\n"
            "  microbenchmark  run `ray microbenchmark` of the installed Ray package on rayshim\n"
            "  profile    show or delete the measurements of --placement auto\n"
            "  start      start a session that several programs can use, one after the other or at the same time\n"
            "  stop       end all your sessions that `start` has started\n"
            "  job        run programs as jobs in a session that `start` has started\n"
            "  status     show your running sessions, and the actor or task of each worker\n"
            "  list       list the actors, tasks, nodes, workers, jobs or placement groups of a session that `start` has started\n"
            "  get        show one actor, task, node, worker or placement group\n"
            "  summary    show how many actors or tasks are in each state\n"
            "  health-check  exit with status 0 if such a session is running\n"
            "  stack      show the Python stack of each worker in your running sessions\n"
            "  debug      attach to a breakpoint at which a worker of your sessions waits\n"
            "  memory     show the memory of each of your running sessions, and of its processes\n\n"
            "example:\n  python -m rayshim train.py --iterations 10\n\n"
            "`rayshim COMMAND --help` describes the options of a command."
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rayshim {VERSION}")
    return parser


_ABOUT = {
    "status": (
        "Shows this user's running sessions: the driver and its workers, with the actor or task, processor time and memory of each.",
        "  rayshim status\n\n  driver 4711  python train.py\n    worker 4720  ray::Learner.update      cpu 12.3 s    private 210 MiB",
    ),
    "stack": (
        "Shows the Python stack of each worker in this user's running sessions. It also shows workers that do not respond.",
        "  rayshim stack | less",
    ),
    "memory": (
        "Shows the shared memory of each of this user's running sessions, and the private memory of each process.",
        "  rayshim memory\n  watch -n 1 rayshim memory",
    ),
}


def _session_parser(command):
    import argparse

    description, example = _ABOUT[command]
    return argparse.ArgumentParser(
        prog=f"rayshim {command}",
        description=description,
        epilog=f"example:\n{example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _run_parser():
    import argparse

    parser = argparse.ArgumentParser(
        prog="rayshim run",
        description=(
            "Runs an unmodified program as `python SCRIPT ARGS` does, except that `import ray` imports rayshim, in the program and in "
            "its workers. Options of rayshim come before SCRIPT; arguments after SCRIPT belong to the script."
        ),
        epilog=(
            "examples:\n"
            "  rayshim run train.py --iterations 10\n"
            "  rayshim run -m mypackage.train --iterations 10\n"
            "  rayshim run --explain --graph graph.html train.py"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print at the end: how many calls followed a learned pattern, what limits the speed, what would make the program faster, and a drawing of its repeated rounds",
    )
    parser.add_argument(
        "--graph", metavar="PATH", help="write the graph of the learned patterns of calls to PATH at the end (HTML)"
    )
    parser.add_argument(
        "--trace", metavar="PATH", help="write a timeline for Perfetto or chrome://tracing to PATH at the end"
    )
    parser.add_argument(
        "--ordering",
        metavar="ORDER",
        help="logical, strict or arrival, if the program does not pass ordering= to `init`",
    )
    parser.add_argument(
        "--patience",
        metavar="BUDGET",
        help="how long logical order may block callers, if the program does not pass patience= to `init`: seconds, inf, or a share such as 25%%",
    )
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--record",
        metavar="PATH",
        help="write a journal of the run into the new directory PATH, for --replay and `rayshim diff`",
    )
    again.add_argument("--replay", metavar="PATH", help="repeat the run whose journal is in the directory PATH")
    parser.add_argument(
        "--placement", help="isolated, packed, inline or auto, if the program does not pass placement= to `init`"
    )
    return _with_program(parser, "(SCRIPT | - | -c TEXT | -m MODULE) [ARGS...]")


def _with_program(parser, program):
    """The parser, whose usage shows its options and then how the program is given."""
    parser.usage = f"{parser.format_usage().removeprefix('usage: ').rstrip()} {program}"
    return parser


def _compare_parser():
    import argparse

    parser = argparse.ArgumentParser(
        prog="rayshim compare",
        description=(
            "Runs an unmodified Ray program first on real Ray, if that is installed, and then on rayshim. Shows for both the "
            "wall time, start-up time (until `init` has returned), processor time, peak memory and calls per second. Shows for rayshim the share "
            "of calls that followed a learned pattern. Says whether both printed the same. The exit status is 1 if the output differs or a run failed."
        ),
        epilog="example:\n  python -m rayshim compare train.py --iterations 10",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--timeout", type=float, default=float("inf"), metavar="SECONDS", help="stop a run that takes longer than this"
    )
    return _with_program(parser, "(SCRIPT | -m MODULE) [ARGS...]")
