"""Runs rows on one side: the process that `savina` starts.

    python -m benchmarks.savina.measure PLAN.json OUT

OUT gets a line of JSON per event.
"""

import importlib
import json
import sys
import time
import traceback

_ENOUGH = 2.0  # seconds of a row in one process


def main():
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    with open(sys.argv[2], "a", buffering=1) as out:

        def tell(**event):
            out.write(json.dumps(event) + "\n")

        run, close = opened(plan["side"])
        for row in plan["rows"]:
            tell(event="start", row=row["name"])
            try:
                tell(event="samples", row=row["name"], **samples(run, row, plan["times"]))
            except Exception as error:
                traceback.print_exc()
                tell(event="failure", row=row["name"], reason=f"{type(error).__name__}: {error}".splitlines()[0])
        tell(event="rows done")
        close()


def samples(run, row, times):
    """Seconds of each run, the first left out if there are more, and the checksum."""
    found, checksums = [], set()
    while len(found) < times and sum(found) < _ENOUGH:
        began = time.perf_counter()
        checksum, finish = run(row)
        found.append(time.perf_counter() - began)
        checksums.add(repr(checksum))
        finish()
    if len(checksums) > 1:
        raise ValueError(f"two runs give {' and '.join(sorted(checksums))}")
    return {"samples": found[1:] or found, "checksum": checksums.pop()}


def opened(side):
    """(what runs a row and gives its checksum and what clears up, what closes the side)"""
    library, *options = side.split(":")
    if library == "reactor":
        return _on_reactor(*options), lambda: None
    if library == "xronos":
        return _on_xronos(), lambda: None
    system = _system(library, *options)

    def run(row):
        program = getattr(importlib.import_module(f"benchmarks.savina.actors.{row['module']}"), row["function"])
        try:
            return program(system, **row["parameters"]), system.end_program
        except BaseException:
            system.end_program()
            raise

    return run, system.close


def _on_reactor(placement="inline"):
    from reactor import Program

    def run(row):
        make = getattr(importlib.import_module(f"benchmarks.savina.reactors.{row['module']}"), row["function"])
        top, checksum = make(**row["parameters"])
        Program(top, fast=True, keepalive=False, placement=placement).run()
        return checksum(), lambda: None

    return run


def _on_xronos():
    import xronos

    from benchmarks.savina.systems import on_xronos

    def run(row):
        environment = xronos.Environment(fast=True)
        checksum = getattr(on_xronos, row["function"])(environment, **row["parameters"])
        environment.execute()
        return checksum(), lambda: None

    return run


def _system(library, *options):
    if library in ("ray", "rayshim"):
        from benchmarks.savina.systems.on_ray import RaySystem

        ray = importlib.import_module(library)
        settings = {"include_dashboard": False, "logging_level": "ERROR"} if library == "ray" else {}
        ray.init(**settings, **dict(option.split("=") for option in options))
        return RaySystem(ray)
    if library == "pykka":
        from benchmarks.savina.systems.on_pykka import PykkaSystem

        return PykkaSystem()
    if library == "thespian":
        from benchmarks.savina.systems.on_thespian import ThespianSystem

        return ThespianSystem(*options)
    from benchmarks.savina.systems.on_xoscar import XoscarSystem

    return XoscarSystem(int(options[0]))


if __name__ == "__main__":
    main()
