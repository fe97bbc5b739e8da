"""Fixtures of the tests of graphs; a test module imports them."""

from importlib import import_module

import pytest


@pytest.fixture(autouse=True)
def dag(ray):
    """`ray.dag` is an attribute of Ray once it has been imported."""
    return import_module(f"{ray.__name__}.dag")


@pytest.fixture
def compile(ray, dag):
    """Compiles the graph that `build(inp)` gives; torn down when the test ends."""
    made = []

    def compile(build, **arguments):
        with dag.InputNode() as inp:
            graph = build(inp)
        made.append(graph.experimental_compile(**arguments))
        return made[-1]

    yield compile
    for graph in made:
        graph.teardown()
