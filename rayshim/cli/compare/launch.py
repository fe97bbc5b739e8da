"""Runs a program like `python SCRIPT ARGS`, with real Ray or with rayshim as its `ray`, and writes events about it to a file.

    python launch.py (ray | rayshim) OUT (SCRIPT | -m MODULE) [ARGS...]

It appends events to OUT, one line of JSON each: "ready", with the time of the monotonic clock when `init` has returned, and at the end of each
session of rayshim "session", with the number of its `calls` and of those `in_patterns`. With real Ray, it imports nothing of rayshim.
"""

import functools
import json
import os
import sys
import time


def main():
    side, out, *program = sys.argv[1:]
    # The program's own entry, as Python sets it; until now it is the directory of this file.
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
    from rayshim.as_ray import alias
    from rayshim.session import session

    def begun():
        tell(event="ready", clock=time.monotonic())

    def ends():
        from rayshim import api

        counts = api.report().to_dict()
        tell(event="session", calls=counts["calls_total"], in_patterns=counts["calls_in_patterns"])

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
