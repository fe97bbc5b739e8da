"""The command `rayshim` (and `python -m rayshim`)."""

import sys

_COMMANDS = ("run",)
_WITH_VALUE = ("--graph", "--trace")


def main(argv=None):
    """Runs the command line `argv` (list of str, default `sys.argv[1:]`) and returns the exit status.

    `script.py args…` and `-m module args…` are `run script.py args…` and `run -m module args…`. A program's own
    exceptions and SystemExit pass through.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv:
        _parser().print_help(sys.stderr)
        return 2
    if argv[0] in ("-h", "--help", "--version"):
        _parser().parse_args(argv[:1])
    if argv[0] in _COMMANDS:
        return _run(argv[1:])
    return _run(argv)


def split_program(argv):
    """Splits what follows `run` at the program: (our options, is it a module, its name or None, its arguments).

    Ours end at the first argument that is no option, or with `-m NAME`; what follows is the program's, whatever it is.
    """
    skip = False  # the value of the option before
    for i, argument in enumerate(argv):
        if skip:
            skip = False
            continue
        skip = argument in _WITH_VALUE
        if argument == "-m":
            return argv[:i], True, argv[i + 1] if i + 1 < len(argv) else None, argv[i + 2 :]
        if not argument.startswith("-"):
            return argv[:i], False, argument, argv[i + 1 :]
    return argv, False, None, []


def _run(argv):
    own, is_module, program, args = split_program(argv)
    if own or program is None:
        parser = _run_parser()
        wanted = parser.parse_args(own)
        if program is None:
            parser.error("which script? Give its path, or -m and a module's name")
        _observe(wanted)
    from rayshim import alias, script

    alias.install()
    try:
        (script.run_module if is_module else script.run_script)(program, args)
    except script.CannotStart as error:
        print(f"rayshim: {error}", file=sys.stderr)
        return error.status
    return 0


def _observe(wanted):
    """Has each session of the program tell, before it ends, what the options ask for."""
    import os

    from rayshim import session

    def explain():
        import rayshim

        print(rayshim.report(), file=sys.stderr)

    def draw():
        import rayshim

        rayshim.graph().html(wanted.graph)

    def trace():
        import rayshim

        rayshim.timeline(wanted.trace)

    if wanted.trace:
        os.environ["RAYSHIM_TRACE"] = "1"
    session.before_end += [f for f, on in ((explain, wanted.explain), (draw, wanted.graph), (trace, wanted.trace)) if on]


def _parser():
    import argparse

    parser = argparse.ArgumentParser(
        prog="rayshim",
        description="Runs programs written for Ray on this machine, without Ray.",
        usage="rayshim [-h] [--version] [run] [OPTIONS] (SCRIPT | -m MODULE) [ARGS...]",
        epilog=(
            "commands:\n"
            "  run        run a script or module in which `import ray` means rayshim (may be left out)\n\n"
            "example:\n  python -m rayshim train.py --iterations 10\n\n"
            "`rayshim COMMAND --help` tells more."
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rayshim {_version()}")
    return parser


def _run_parser():
    import argparse

    parser = argparse.ArgumentParser(
        prog="rayshim run",
        usage="rayshim run [-h] [--explain] [--graph PATH] [--trace PATH] (SCRIPT | -m MODULE) [ARGS...]",
        description=(
            "Runs an unmodified program as `python SCRIPT ARGS` would, except that `import ray` gives rayshim, here and "
            "in all workers. Options for rayshim come before the script; what follows it is the script's own."
        ),
        epilog=(
            "examples:\n"
            "  rayshim run train.py --iterations 10\n"
            "  rayshim run -m mypackage.train --iterations 10\n"
            "  rayshim run --explain --graph graph.html train.py"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--explain", action="store_true", help="at the end, print what was recorded and replayed")
    parser.add_argument("--graph", metavar="PATH", help="at the end, write the recorded graph there, an HTML page")
    parser.add_argument("--trace", metavar="PATH", help="at the end, write the timeline there, for Perfetto or chrome://tracing")
    return parser


def _version():
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("rayshim")
    except PackageNotFoundError:
        return "(not installed, run from its source)"
