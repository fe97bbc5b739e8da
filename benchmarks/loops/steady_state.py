"""Steady-state evolution: six candidates are evaluated at any time, a task each; as one completes, the next is submitted."""

import random
import time

import ray
from counts import tell

EVALUATIONS, AT_A_TIME = 200, 6


@ray.remote
def evaluate(genome, seconds):
    time.sleep(seconds)
    return -sum((gene - 0.5) ** 2 for gene in genome), genome


def submit(chosen, population):
    """A mutant of one of the best, its evaluation as long as it happens to be."""
    parent = (
        max(chosen.sample(population, min(len(population), 3)))[1]
        if population
        else [chosen.random() for _ in range(8)]
    )
    genome = [gene + chosen.gauss(0, 0.05) for gene in parent]
    return evaluate.remote(genome, chosen.choice((0.02, 0.03, 0.04, 0.05, 0.25)))


ray.init(num_cpus=AT_A_TIME)
ray.get([evaluate.remote([0.0], 0.2) for _ in range(AT_A_TIME)])  # so many processes are there
start = time.monotonic()
chosen, population, done = random.Random(0), [], []
pending = [submit(chosen, population) for _ in range(AT_A_TIME)]
while len(done) < EVALUATIONS:
    ready, pending = ray.wait(pending)
    population = sorted(population + ray.get(ready))[-20:]
    done.append(time.monotonic())
    pending.append(submit(chosen, population))
tell(start, driver=done)
