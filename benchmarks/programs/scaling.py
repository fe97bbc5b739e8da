"""The cost of a call by the number of actors and by the size of its argument: a barrier over actors that echo an array.

    python benchmarks/programs/scaling.py --actors 100              # on Ray
    python -m rayshim benchmarks/programs/scaling.py --size 1000000   # on rayshim

The array goes to each actor by value, and comes back as its result; a round is --steps barriers.
"""

import numpy as np
import ray
from measured import Measured, options

# Interpreters that start at the same time.
CROWD = 50


class Echo:
    def ready(self):
        return True

    def echo(self, array):
        return array


def run(measured, options):
    array = np.ones(options.size, np.uint8)
    if options.style == "bare":
        # What must be moved: one copy to the actor and one back, in memory that is there.
        there, back = np.empty_like(array), np.empty_like(array)

        def barrier():
            for _ in range(options.actors):
                np.copyto(there, array)
                np.copyto(back, there)
            return [back] * options.actors
    else:
        ray.init(include_dashboard=False)
        actor_class = ray.remote(num_cpus=0)(Echo)
        actors = []
        while len(actors) < options.actors:
            born = [actor_class.remote() for _ in range(min(CROWD, options.actors - len(actors)))]
            ray.get([actor.ready.remote() for actor in born])
            actors += born

        def barrier():
            return ray.get([actor.echo.remote(array) for actor in actors])

    measured.ready()
    for number in measured.rounds():
        array[0] = number
        with measured.clock():
            for _ in range(options.steps):
                # Let go of, so that its memory is used again.
                echoed = None
                echoed = barrier()
        measured.see([echo[[0, -1]] for echo in echoed])
        del echoed


if __name__ == "__main__":
    chosen = options(__doc__, actors=1, size=1, steps=10, style=("naive", "bare"))
    with Measured.of(chosen) as measured:
        run(measured, chosen)
