"""Random graphs against the serial run of the same calls: results, errors, and what each actor did in which order.

Not on Ray: some graphs of this kind make its channels wait for each other.
"""

import random

import pytest

from compat_tests.dags import compile, dag  # noqa: F401  fixtures

pytestmark = pytest.mark.rayshim_only

ACTORS, OPERATIONS, EXECUTIONS = 3, 9, 5


def random_graph(seed):
    """[(actor, inputs)]: each input is the number of an earlier operation, or -1 for the graph's input."""
    rng = random.Random(seed)
    graph = []
    for i in range(OPERATIONS):
        inputs = [rng.randrange(-1, i) for _ in range(rng.choice((1, 1, 2, 3)))]
        graph.append((rng.randrange(ACTORS), inputs))
    return graph


def combine(name, values):
    """What operation `name` makes of its inputs; ValueError now and then."""
    made = (7 * name + sum((k + 2) * value for k, value in enumerate(values))) % 101
    if made % 17 == 3:
        raise ValueError(f"operation {name} made {made}")
    return made


def leaves(graph):
    taken = {i for _, inputs in graph for i in inputs}
    return [i for i in range(len(graph)) if i not in taken]


def serial_run(graph, given):
    """(results of the leaves or None if an operation failed, [(actor, operation)] that were run)."""
    values, run = {-1: given}, []
    for name, (actor, inputs) in enumerate(graph):
        if None in (given := [values[i] for i in inputs]):
            values[name] = None
            continue
        run.append((actor, name))
        try:
            values[name] = combine(name, given)
        except ValueError:
            values[name] = None
    results = [values[i] for i in leaves(graph)]
    return None if None in results else results, run


@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_do_what_the_serial_run_does(ray, compile, seed):
    @ray.remote
    class Worker:
        def __init__(self):
            self.log = []

        def combine(self, name, *values):
            self.log.append(name)
            return combine(name, values)

        def read_log(self):
            return self.log

    graph = random_graph(seed)
    workers = [Worker.remote() for _ in range(ACTORS)]

    def build(inp):
        nodes = {-1: inp}
        for name, (actor, inputs) in enumerate(graph):
            nodes[name] = workers[actor].combine.bind(name, *(nodes[i] for i in inputs))
        return ray.dag.MultiOutputNode([nodes[i] for i in leaves(graph)])

    compiled = compile(build)
    # The last one succeeds: when its results are there, all that was to be done has been done.
    inputs = [*range(EXECUTIONS), next(n for n in range(EXECUTIONS, 200) if serial_run(graph, n)[0] is not None)]
    expected = [serial_run(graph, n) for n in inputs]
    started = [compiled.execute(n) for n in inputs]
    for refs, (results, _) in zip(started, expected):
        if results is None:
            with pytest.raises(ValueError, match="operation"):
                ray.get(refs)
        else:
            assert ray.get(refs) == results
    logs = ray.get([worker.read_log.remote() for worker in workers])
    for actor, log in enumerate(logs):
        assert log == [name for _, run in expected for at, name in run if at == actor]
