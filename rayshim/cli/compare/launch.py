"""Runs a program as `python SCRIPT ARGS` would, with real Ray or with rayshim as its `ray`, and tells what it sees.

    python launch.py (ray | rayshim) OUT (SCRIPT | -m MODULE) [ARGS...]

Appended to OUT, a line of JSON each: "ready" with the monotonic clock when `init` has returned, and at the end of each session
of rayshim's "session" with its `calls` and how many of them were `replayed`. Nothing of rayshim is imported beside real Ray.
"""

import functools
import json
import os
import sys
import time


def main():
    side, out, *program = sys.argv[1:]
    # As Python has it for the program; now it is the directory of this file.
    sys.path[0] = os.getcwd() if program[0] == "-m" else os.path.dirname(os.path.realpath(program[0]))

    def tell(**event):
        with open(out, "a") as file:
            file.write(json.dumps(event) + "\n")

    if side == "rayshim":
        _with_rayshim(tell)
        from rayshim.cli.script import run_module, run_script
    else:
        _with_ray(tell)
        run_module, run_script = _run_module, _run_script
    if program[0] == "-m":
        run_module(program[1], program[2:])
    else:
        run_script(program[0], program[1:])


def _with_rayshim(tell):
    from rayshim.session import alias, session

    def begun():
        tell(event="ready", clock=time.monotonic())

    def ends():
        from rayshim import api

        counts = api.report().to_dict()
        tell(event="session", calls=counts["calls_total"], replayed=counts["calls_replayed"])

    alias.install()
    session.after_begin.append(begun)
    session.before_end.append(ends)


def _with_ray(tell):
    import ray

    init = ray.init

    @functools.wraps(init)
    def watched(*arguments, **keywords):
        context = init(*arguments, **keywords)
        tell(event="ready", clock=time.monotonic())
        return context

    ray.init = watched


def _run_script(path, arguments):
    import runpy

    sys.argv[:] = [path, *arguments]
    runpy.run_path(path, run_name="__main__")


def _run_module(name, arguments):
    import runpy

    sys.argv[:] = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
