"""Graphs are checked when made; levels respect every connection; a recording becomes the graph of its flow."""

import pytest
from hypothesis import given, settings
from reactor.model.graph import Connection, Graph, Port, Reaction, Reactor, precedences
from reactor.model.levels import CausalityError, GraphError
from reactor.recording.graph import graph_of
from reactor.recording.patterns import Operation, Pattern, Recording, Result, Source
from reactor.tests.recordings import call, recordings, training


def stage(name, *reactions):
    """A reactor with one input `in` and one output `out`."""
    reactions = reactions or (Reaction("run", ["in"], ["out"]),)
    return Reactor(name, [Port("in")], [Port("out")], reactions)


def source(name="source"):
    return Reactor(name, outputs=[Port("out")], reactions=[Reaction("emit", ["startup"], ["out"])])


def test_a_chain_has_a_level_per_stage():
    graph = Graph([source(), stage("a"), stage("b")], [Connection("source.out", "a.in"), Connection("a.out", "b.in")])
    assert graph.levels == {"source.emit": 0, "a.run": 1, "b.run": 2}
    assert graph.depth == 3


def test_reactions_of_one_reactor_keep_their_order_of_declaration():
    two = stage("a", Reaction("first", ["in"]), Reaction("second", ["in"], ["out"]))
    assert Graph([source(), two], [Connection("source.out", "a.in")]).levels["a.second"] == 2


def test_reactions_of_different_modes_are_not_ordered():
    one, two, both = Reaction("one", mode="warm"), Reaction("two", mode="hot"), Reaction("both")
    assert list(precedences([one, two, both])) == [(one, both), (two, both)]
    assert list(precedences([both, one, two])) == [(both, one), (both, two)]


def test_every_element_carries_its_qualified_name_and_the_line_that_declared_it():
    graph = Graph([source(), stage("a")], [Connection("source.out", "a.in")])
    elements = [*graph.reactions.values(), *graph.ports.values(), *graph.reactors, *graph.connections]
    assert {"source.emit", "a.run", "a.in", "a.out", "a", "source.out -> a.in"} <= {e.qualified for e in elements}
    assert all("test_graph.py:" in element.site for element in elements)


def test_a_causality_cycle_is_refused_with_its_path_and_sites():
    connections = [Connection("a.out", "b.in", site="x.py:1"), Connection("b.out", "a.in", site="x.py:2")]
    with pytest.raises(CausalityError) as caught:
        Graph([stage("a"), stage("b")], connections)
    assert set(caught.value.path) == {"a.run", "b.run"} and caught.value.path[0] == caught.value.path[-1]
    assert "x.py:1" in str(caught.value) and "x.py:2" in str(caught.value) and "test_graph.py:" in str(caught.value)


def test_a_cycle_by_order_of_declaration_is_refused():
    a = Reactor("a", [Port("in")], [Port("out")], [Reaction("late", ["in"]), Reaction("early", ["startup"], ["out"])])
    with pytest.raises(CausalityError, match="declared before it in the same reactor"):
        Graph([a, stage("b")], [Connection("a.out", "b.in"), Connection("b.out", "a.in")])


@pytest.mark.parametrize("delay", [0, 1])
def test_a_delay_breaks_a_cycle(delay):
    graph = Graph([stage("a"), stage("b")], [Connection("a.out", "b.in"), Connection("b.out", "a.in", delay)])
    assert graph.levels == {"a.run": 0, "b.run": 1}


@pytest.mark.parametrize(
    "reactors, connections, message",
    [
        ([source(), source()], [], r"The reactor source is declared 2 times \(.*test_graph.py:"),
        ([Reactor("a", outputs=[Port("p"), Port("p")])], [], "The port a.p is declared 2 times"),
        ([Reactor("a", reactions=[Reaction("r"), Reaction("r")])], [], "The reaction a.r is declared 2 times"),
        ([stage("a")], [], r"Input a.in \(.*\) is not connected"),
        ([Reactor("a", reactions=[Reaction("r", ["x"])])], [], "Reaction a.r .* reads 'x', which is not declared"),
        ([Reactor("a", reactions=[Reaction("r", [], ["x"])])], [], "Reaction a.r .* writes 'x', which is not declared"),
        ([source()], [Connection("source.out", "b.in")], "ends at b.in, which is not declared"),
        ([source(), stage("a")], [Connection("a.in", "a.in")], "starts at a.in, which is an input"),
        (
            [source(), source("other"), stage("a")],
            [Connection("source.out", "a.in"), Connection("other.out", "a.in")],
            "a.in is connected already, from source.out",
        ),
        ([source(), stage("a")], [Connection("source.out", "a.in", -1)], "has delay -1 s"),
    ],
)
def test_what_does_not_fit_is_refused(reactors, connections, message):
    with pytest.raises(GraphError, match=message):
        Graph(reactors, connections)


def test_all_problems_are_told_at_once():
    with pytest.raises(GraphError) as caught:
        Graph([stage("a"), stage("b")])
    assert len(str(caught.value).splitlines()) == 2


def connected(graph, writer, reader):
    return [e.connection for e in graph.edges if (e.source.qualified, e.target.qualified) == (writer, reader)]


def test_a_result_that_another_actor_takes_is_an_edge_between_the_two():
    graph = graph_of(training(actors=2))
    assert [c.delay for c in connected(graph, "Env#0.step", "Learner#0.learn")] == [None]
    assert not connected(graph, "Env#0.step", "driver.get 1")
    assert [c.delay for c in connected(graph, "Learner#0.learn", "driver.get 1")] == [None]


def test_a_put_read_by_many_is_one_output_with_a_connection_each():
    graph = graph_of(training(actors=5))
    puts = {c.source for c in graph.connections if " put " in c.source}
    assert puts == {"driver.pattern 1 put 0"}
    assert sum(c.source in puts for c in graph.connections) == 5


def test_a_result_of_an_earlier_pattern_comes_with_delay():
    graph = graph_of(training(actors=1))
    assert [c.delay for c in connected(graph, "Learner#0.learn", "Learner#0.save")] == [1]
    assert [c.count for c in connected(graph, "driver.get 1", "driver.pattern 1")] == [988]


def test_a_task_that_calls_is_a_caller_itself():
    graph = graph_of(training(actors=1))
    assert connected(graph, "task:evaluate.call", "Env#0.render")
    assert connected(graph, "Env#0.render", "task:evaluate.call get 3")
    assert connected(graph, "task:evaluate.call pattern 4", "driver.get 2")
    assert graph.levels["driver.get 2"] > graph.levels["task:evaluate.call pattern 4"] > graph.levels["Env#0.render"]


def test_a_call_that_goes_round_in_a_pattern_comes_back_a_microstep_later():
    round_trip = [call("A", "f", 0), call("B", "g", 1, needs=[0]), call("A", "f", 0, needs=[1])]
    graph = graph_of(Recording((Pattern("driver", tuple(round_trip)),)))
    assert [c.delay for c in connected(graph, "B.g", "A.f")] == [0]


def test_a_loop_begins_at_startup_and_goes_on_by_itself():
    graph = graph_of(Recording((Pattern("driver", (call("A", "f", 0),)),), {(0, 0): 9}))
    assert "startup" in graph.reactions["driver.pattern 0"].triggers
    assert [(c.delay, c.count) for c in connected(graph, "driver.get 0", "driver.pattern 0")] == [(1, 9)]


def test_a_loop_within_a_task_goes_on_a_microstep_later():
    outer = Pattern("driver", (Operation("task:f", "", "a.py:1", (), (Result(),)),))
    inner = Pattern("task:f", (call("A", "g", 0),))
    graph = graph_of(Recording((outer, inner), {(1, 1): 5}))
    assert [c.delay for c in connected(graph, "task:f.call get 1", "task:f.call")] == [0]
    assert not graph.reactions["task:f.call"].triggers.count("startup")


def test_a_task_that_calls_itself_has_a_graph():
    recursive = Pattern("task:f", (Operation("task:f", "", "a.py:2", (), (Result(),)),), "get")
    first = Pattern("driver", (Operation("task:f", "", "a.py:9", (), (Result(),)),), "get")
    assert "task:f.call" in graph_of(Recording((first, recursive))).reactions


def test_what_flows_is_found_through_all_predecessors():
    late = Pattern("driver", (call("B", "g", 1, sources=[Source("operation", -2, 0)]),))
    first, middle = Pattern("driver", (call("A", "f", 0),)), Pattern("driver", (call("A", "h", 0),))
    graph = graph_of(Recording((first, middle, late), {(0, 1): 1, (1, 2): 1}))
    assert [c.delay for c in connected(graph, "A.f", "B.g")] == [2]


@settings(max_examples=80, deadline=None)
@given(recordings())
def test_levels_respect_every_connection(recording):
    graph = graph_of(recording)
    assert set(graph.levels) == set(graph.reactions)
    for edge in graph.edges:
        if edge.connection.delay is None:
            assert graph.levels[edge.source.qualified] < graph.levels[edge.target.qualified]
    for reactor in graph.reactors:
        for earlier, later in precedences(reactor.reactions):
            assert graph.levels[earlier.qualified] < graph.levels[later.qualified]


@settings(max_examples=80, deadline=None)
@given(recordings())
def test_there_is_a_reaction_per_method_that_is_called(recording):
    names = {
        o.name if o.method else f"{o.target}.call" for s in recording.patterns for o in s.operations if not o.is_put
    }
    assert names <= set(graph_of(recording).reactions)
