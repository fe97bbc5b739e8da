"""The command `rayshim` (and `python -m rayshim`)."""

import sys

from rayshim.cli.program_arguments import options_with_value, split_program, without_pythons
from rayshim.session.version import VERSION

_INSPECTING = ("status", "stack", "memory")
_STATE = ("list", "get", "summary", "health-check")
_RAYS = ("start", "stop", "job", "debug", "microbenchmark", *_INSPECTING, *_STATE)
_COMMANDS = ("run", "compare", "diff", "profile", "timing", *_RAYS)
_INSTEAD = {  # commands of Ray's that have nothing to show here
    "logs": "rayshim writes no log files: workers print to the program's own stdout and stderr. Of a job, `rayshim job logs ID` shows the output",
    "timeline": "times are recorded only on request: `python -m rayshim --trace out.json script.py`, or init(trace=True) and ray.timeline()",
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
        return _allow_broken_pipe(_showing, _look, argv[0], argv[1:])
    if argv[0] in ("start", "stop"):
        from rayshim.cli import cluster

        return _allow_broken_pipe(getattr(cluster, argv[0]), argv[1:])
    if argv[0] == "job":
        from rayshim.cli import job

        return _allow_broken_pipe(job.main, argv[1:])
    if argv[0] in _STATE:
        from rayshim.cli import state

        return _allow_broken_pipe(_showing, state.main, argv[0], argv[1:])
    if argv[0] == "debug":
        from rayshim.cli import debug

        return _allow_broken_pipe(debug.main, argv[1:])
    if argv[0] == "compare":
        return _allow_broken_pipe(_compare, argv[1:])
    if argv[0] == "microbenchmark":
        return _microbenchmark(argv[1:])
    if argv[0] == "profile":
        from rayshim.cli import profile

        return _allow_broken_pipe(_showing, profile.main, argv[1:])
    if argv[0] == "timing":
        from rayshim.cli import timing

        return _allow_broken_pipe(timing.main, argv[1:])
    if argv[0] == "diff":
        return _allow_broken_pipe(_showing, _diff, argv[1:])
    if argv[0] == "help" and len(argv) < 3:
        return main([*argv[1:], "--help"])
    return _run(argv[1:]) if argv[0] == "run" else _run(argv, argv[0])


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


def _allow_broken_pipe(command, *args):
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


def _parsed(own, program, parser):
    """The options `own` of a command that needs a program."""
    wanted = parser.parse_args(own)
    if program is None:
        last = own[-1] if own else ""
        value = f" ({last} was read as the value of {own[-2]})" if last[:1] != "-" and len(own) > 1 else ""
        parser.error(f"no program given: pass the path of a script, or -m and the name of a module{value}")
    return wanted


def _run(argv, first=None):
    """`first`: the first argument of the command line if it may be a mistyped command."""
    own, is_module, program, args = split_program(argv, _run_parser)
    if own or program is None:
        from rayshim.cli import run

        parser = run.parser()
        pythons, options = without_pythons(own, options_with_value(parser))
        wanted = _parsed(options, program, parser)
        if (mistake := run.timing_mistake(wanted)) is not None:
            parser.error(mistake)
        if (reason := _cannot_start(program, is_module, first)) is not None:
            print(f"rayshim: {reason}", file=sys.stderr)
            return 2
        if run.needs_hash_seed(wanted) or pythons:
            run.start_python(pythons, [*options, *argv[len(own) :]])
        run.observe(wanted)
    import os

    from rayshim.as_ray import alias, commands
    from rayshim.cli import replay_status, script

    alias.install()
    os.environ.update(commands.variables(os.environ))
    if is_module and program == "pytest":
        from rayshim.cli import pytest_alias

        pytest_alias.pass_on()
    replay_status.watch()
    try:
        (script.run_module if is_module else script.run_script)(program, args)
    except script.CannotStart as error:
        print(f"rayshim: {_cannot_start(program, is_module, first) or error}", file=sys.stderr)
        return error.status
    except SystemExit as error:
        replay_status.succeeds = error.code in (None, 0)
        raise
    except BaseException:
        replay_status.succeeds = False
        raise
    return 0


def _run_parser():
    from rayshim.cli import run

    return run.parser()


def _cannot_start(program, is_module, first):
    """Why the script `program` cannot be started, as far as its path shows that; None if it can. `first`: see `_run`."""
    import os

    if is_module or program in ("-", "-c") or os.path.exists(program):
        return None
    if program in _COMMANDS and program != first:
        return f"there is no file {program!r}. Options of the command `rayshim {program}` come after its name"
    if program in _INSTEAD:
        return f"there is no file and no command {program!r}: {_INSTEAD[program]}"
    if program == first and not any(mark in program for mark in "./"):
        from rayshim.cli.parsers import did_you_mean

        like = did_you_mean(program, [*_COMMANDS, "--help", "--version"], "`rayshim {}`")
        return f"there is no file and no command {program!r}{like or '; `rayshim --help` lists the commands'}"
    return f"can't open file '{os.path.abspath(program)}': [Errno 2] No such file or directory"


def _diff(argv):
    import os

    from rayshim.cli import parsers

    parser = parsers.Parser(
        prog="rayshim diff",
        description="Compares the journals of two runs of a program and shows the first call that differs: actor, method, call site and both "
        "values. The exit status is 0 if the runs are equal, 1 if they differ.",
        epilog="example:\n  rayshim run --record run1 train.py; rayshim run --record run2 train.py; rayshim diff run1 run2",
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
    from rayshim.cli import parsers

    parsers.Parser(
        prog="rayshim microbenchmark",
        description="Runs the benchmark of the command `ray microbenchmark` on rayshim. The benchmark is part of the installed Ray package. The environment "
        "variable TESTS_TO_RUN selects rows by a part of their names.",
    ).parse_args(argv)
    from rayshim.as_ray import libraries

    if not libraries.installed("_private.ray_perf"):
        print("rayshim microbenchmark: the benchmark is part of Ray: pip install 'rayshim[ray]'", file=sys.stderr)
        return 2
    return _run(["-m", "ray._private.ray_perf"])


def _compare(argv):
    """Runs a program on real Ray and on rayshim, and prints the time and memory of both and whether their output is the same."""
    own, is_module, program, args = split_program(argv, _compare_parser)
    parser = _compare_parser()
    wanted = _parsed(own, program, parser)
    if program in ("-", "-c"):
        parser.error(f"{program}: the program must be a script or, with -m, a module")
    if (reason := _cannot_start(program, is_module, None)) is not None:
        print(f"rayshim compare: {reason}", file=sys.stderr)
        return 2
    from rayshim.cli.compare.compare import compare
    from rayshim.cli.compare.plain import console

    return compare(["-m", program, *args] if is_module else [program, *args], wanted.timeout, console())


def _look(command, argv):
    """Runs `status`, `stack` or `memory`. Returns the exit status: 1 if no session is running."""
    _session_parser(command).parse_args(argv)
    from rayshim.cli import session_state

    return getattr(session_state, command)(sys.stdout)


def _parser():
    from rayshim.cli import parsers

    parser = parsers.Parser(
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
            "  timing     show, extend or delete timing files of --ordering timed; run a program in several orders\n"
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
    from rayshim.cli import parsers

    description, example = _ABOUT[command]
    return parsers.Parser(
        prog=f"rayshim {command}",
        description=description,
        epilog=f"example:\n{example}",
    )


def _compare_parser():
    from rayshim.cli import parsers

    parser = parsers.Parser(
        prog="rayshim compare",
        description=(
            "Runs an unmodified Ray program first on real Ray, if that is installed, and then on rayshim. Shows for both the "
            "wall time, start-up time (until `init` has returned), processor time, peak memory and calls per second. Shows for rayshim the share "
            "of calls that followed a learned pattern. Says whether both printed the same. The exit status is 1 if the output differs or a run failed."
        ),
        epilog="example:\n  python -m rayshim compare train.py --iterations 10",
    )
    parser.add_argument(
        "--timeout",
        type=parsers.seconds,
        default=float("inf"),
        metavar="SECONDS",
        help="stop a run that takes longer than this",
    )
    return parsers.with_program(parser, "(SCRIPT | -m MODULE) [ARGS...]")
