"""The results of one execution of a compiled graph that are got together, and with some of them taken, dropped or failed."""

import pytest

import rayshim as ray
from rayshim.dag import InputNode, MultiOutputNode


@ray.remote
class Half:
    def of(self, number):
        if number % 2:
            raise ValueError(f"{number} is odd")
        return number // 2


@pytest.fixture(params=["inline", "packed"])
def graph(request):
    ray.init(placement=request.param, num_cpus=4)
    with InputNode() as given:
        nodes = [Half.remote().of.bind(given[k]) for k in range(3)]
        compiled = MultiOutputNode(nodes).experimental_compile()
    yield compiled
    ray.shutdown()


def nothing_is_left(graph):
    results = graph._results
    return not (results.buffer or results.taken or results.dropped)


def test_all_results_are_got_at_once_and_only_once(graph):
    refs = graph.execute(2, 4, 6)
    assert ray.get(refs) == [1, 2, 3]
    with pytest.raises(ValueError, match="only be called once"):
        ray.get(refs)
    assert nothing_is_left(graph)


def test_results_of_several_executions_are_got_in_any_order(graph):
    first, second = graph.execute(2, 4, 6), graph.execute(8, 8, 8)
    assert ray.get(second, timeout=60) == [4, 4, 4]
    assert ray.get([first[2], first[0], first[1]]) == [3, 1, 2]
    assert nothing_is_left(graph)


def test_the_error_of_one_result_is_raised_and_the_next_execution_runs(graph):
    refs = graph.execute(2, 3, 4)
    with pytest.raises(ValueError, match="3 is odd"):
        ray.get(refs)
    del refs
    assert ray.get(graph.execute(2, 2, 2)) == [1, 1, 1]


def test_results_are_got_after_one_of_them_was_dropped_or_taken(graph):
    *others, last = graph.execute(2, 4, 6)
    del last
    assert ray.get(others) == [1, 2]
    refs = graph.execute(2, 4, 6)
    assert ray.get(refs[1]) == 2
    assert ray.get([refs[0], refs[2]]) == [1, 3]
    assert nothing_is_left(graph)
