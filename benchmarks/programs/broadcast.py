"""Broadcast and gather: an array goes to every actor; each sleeps, copies it and returns the copy.

    python benchmarks/programs/broadcast.py              # on Ray
    python -m rayshim benchmarks/programs/broadcast.py   # on rayshim

The first experiment of "Efficient Parallel Reinforcement Learning Framework using the Reactor Model". A round's
time is what it takes beyond the sleep.
"""

import time

import numpy as np
import ray
from measured import Measured, options

STYLES = ("naive", "idiomatic", "compiled", "bare")


class Copier:
    def ready(self):
        return True

    def copy(self, array, sleep):
        """Sleeps in place of work, and returns an array of the actor's own."""
        time.sleep(sleep)
        return array.copy()


def compiled(actors, sleep, size):
    from ray.dag import InputNode, MultiOutputNode

    with InputNode() as array:
        graph = MultiOutputNode([actor.copy.bind(array, sleep) for actor in actors])
    return graph.experimental_compile(_buffer_size_bytes=size + (1 << 20))


def run(measured, options):
    array = np.random.default_rng(0).random(options.size // 8)
    if options.style == "bare":
        # The actors' copies, one after the other, asleep together.
        def gather(given, copier=Copier()):  # noqa: B008
            return [copier.copy(given, options.sleep if n == 0 else 0.0) for n in range(options.actors)]
    else:
        ray.init(include_dashboard=False)
        actor_class = ray.remote(Copier)
        actors = [actor_class.remote() for _ in range(options.actors)]
        ray.get([actor.ready.remote() for actor in actors])
        if options.style == "compiled":
            graph = compiled(actors, options.sleep, options.size)

        def gather(given):
            if options.style == "compiled":
                return ray.get(graph.execute(given))
            if options.style == "idiomatic":
                given = ray.put(given)
            return ray.get([actor.copy.remote(given, options.sleep) for actor in actors])

    measured.ready()
    for number in measured.rounds():
        array[number % len(array)] = number
        with measured.clock(less=options.sleep):
            copies = gather(array)
        measured.see(copies)
        # A Compiled Graph's results are views of its buffers, to be let go before it runs again.
        del copies


if __name__ == "__main__":
    chosen = options(__doc__, actors=8, size=10 << 20, sleep=0.01, style=STYLES)
    with Measured.of(chosen) as measured:
        run(measured, chosen)
