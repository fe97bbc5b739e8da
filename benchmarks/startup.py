"""Time a side's start-up in a fresh process, from the process's start, and its memory with 9 actors.

    python -m benchmarks.startup PLAN.json OUT

Little is imported before the side, so that its start-up and not this file's is measured.
"""

import importlib
import json
import os
import sys
import time

SETTLING_SECONDS = 1.0


class Ready:
    def ready(self):
        return True


def main():
    started = float(os.environ["RAYSHIM_BENCHMARK_STARTED"])
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    ray = importlib.import_module(plan["module"])
    ray.init(**plan["init"])
    initialised = time.monotonic()
    actor_class = ray.remote(num_cpus=0)(Ready)
    actors = [actor_class.remote()]
    ray.get(actors[0].ready.remote())
    first_ready = time.monotonic()
    actors += [actor_class.remote() for _ in range(8)]
    ray.get([actor.ready.remote() for actor in actors[1:]])
    all_ready = time.monotonic()

    from rayshim.cli.compare.processes import MARKER, ProcessTree

    # Processes that a runtime starts in the background after `init` count, too.
    time.sleep(SETTLING_SECONDS)
    tree = ProcessTree(os.getpid(), os.environ[MARKER])
    memory = tree.memory(without=(os.getpid(),))
    samples = {
        "import + init": initialised - started,
        "first actor ready": first_ready - initialised,
        "8 more actors ready": all_ready - first_ready,
        "import + init + first actor ready": first_ready - started,
        "memory with 9 actors, less the driver's own": memory,
    }
    with open(sys.argv[2], "a") as out:
        out.writelines(
            json.dumps({"event": "samples", "row": row, "samples": [sample]}) + "\n" for row, sample in samples.items()
        )
        out.write(json.dumps({"event": "rows done"}) + "\n")
    ray.shutdown()


if __name__ == "__main__":
    main()
