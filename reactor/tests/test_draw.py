"""Every drawing shows every reaction with its site, what flows, and how often."""

import itertools
import sys

import pytest
from hypothesis import given, settings
from reactor.draw import dot, html, mermaid, text
from reactor.draw.picture import picture
from reactor.draw.timings import Timing, Timings, size
from reactor.model.graph import Connection, Graph, Port, Reaction, Reactor
from reactor.recording.graph import graph_of
from reactor.recording.patterns import Pattern, Recording
from reactor.tests.recordings import call, recordings, training

RENDERERS = [text.render, mermaid.render, dot.render]


def drawn_training(actors=2):
    recording = training(actors)
    timings = Timings.from_recording(recording, {f"Env#{i}.step": 1.05 for i in range(actors)}, wall=2.1)
    return graph_of(recording), timings


def page():
    pytest.importorskip("pygraphviz")
    return html.render(*drawn_training(), title="train.py")


@pytest.mark.parametrize("render", RENDERERS)
def test_shows_reactions_sites_layouts_bytes_and_timings(render):
    drawn = render(*drawn_training())
    for shown in ("render", "train.py:21", "float32[64,4] · 1 KB", "× 988", "476/s · 50%"):
        assert shown in drawn


def test_text_tells_of_the_delay():
    assert "-> Learner#0.save   float · 8 B   1 pattern later" in text.render(*drawn_training())


def test_text_without_timings():
    assert "  Env#0.step   train.py:21\n" in text.render(drawn_training()[0])


def test_mermaid_has_a_subgraph_per_reactor_and_dotted_delays():
    drawn = mermaid.render(*drawn_training())
    assert drawn.startswith("flowchart LR\n") and drawn.count("subgraph") == drawn.count("  end\n") == 5
    assert '["Env#35;0"]' in drawn and "-.->" in drawn


def test_dot_ranks_a_level_together():
    drawn = dot.render(*drawn_training())
    assert drawn.count("rank=same") == 8 and drawn.count("subgraph cluster_") == 5


@pytest.mark.parametrize("render", RENDERERS)
def test_names_with_marks_of_the_language_are_escaped(render):
    odd = 'a"<b>#&'
    source = Reactor(odd, outputs=[Port("out", '"<x>')], reactions=[Reaction('"<r>', ["startup"], ["out"])])
    sink = Reactor("sink", [Port("in")], reactions=[Reaction("take", ["in"])])
    drawn = render(Graph([source, sink], [Connection(f"{odd}.out", "sink.in")]))
    if render is mermaid.render:
        assert "a#quot;#lt;b#gt;#35;&" in drawn
    if render is dot.render:
        pytest.importorskip("pygraphviz").AGraph(string=drawn)


def test_alike_reactors_are_folded_and_their_timings_summed():
    graph, timings = drawn_training(actors=40)
    groups = {group.name: group for group in picture(graph, timings).groups}
    assert list(groups) == ["driver", "Env#0", "Env#1..39", "Learner#0", "task:evaluate"]
    step = groups["Env#1..39"].nodes[2]
    assert (step.name, step.times, step.timing) == ("step", 39, "18,553/s · 50%")
    assert "39 × float32[64,4] · 1 KB" in text.render(graph, timings)


def test_nothing_is_folded_on_demand():
    assert len(picture(drawn_training(actors=40)[0], fold=None).groups) == 43


def test_reactors_that_follow_each_other_are_not_folded():
    stages = [Reactor(f"S#{i}", [Port("in")], [Port("out")], [Reaction("run", ["in"], ["out"])]) for i in range(9)]
    connections = [Connection(f"S#{i}.out", f"S#{i + 1}.in", None if i < 8 else 1) for i in range(8)]
    graph = Graph(stages, [*connections, Connection("S#8.out", "S#0.in", 1)])
    assert len(picture(graph).groups) == 9


def test_a_value_that_flows_in_two_patterns_is_counted_once():
    step = call("Env#0", "step", 1, result="float32[4]")
    patterns = tuple(Pattern("driver", (step, call("L", "learn", 0, needs=[0]))) for _ in range(2))
    drawn = text.render(graph_of(Recording(patterns, {(0, 1): 1})))
    assert "-> L.learn   float32[4] · 8 B\n" in drawn


def test_timings_of_a_recording():
    timings = Timings.from_recording(training(actors=2), {"Env#1.step": 0.5})
    assert timings.wall == pytest.approx(2.8)
    assert timings.reactions["Env#0.step"] == Timing(999, None)
    assert timings.reactions["Env#1.step"] == Timing(999, 0.5)
    assert timings.reactions["driver.pattern 1"] == Timing(999, 2.1)
    assert timings.label(timings.reactions["Env#0.step"]) == "357/s"


@pytest.mark.parametrize(
    "count, text", [(0, ""), (16, "16 B"), (1536, "1.5 KB"), (10 << 20, "10 MB"), (5000 << 30, "5e+03 GB")]
)
def test_sizes_as_a_person_reads_them(count, text):
    assert size(count) == text


def test_the_page_has_the_drawing_and_needs_no_network():
    drawn = page()
    assert "<title>train.py</title>" in drawn and "{{" not in drawn
    assert drawn.count('class="node"') == 19 + 8  # reactions and headings of levels
    references = [word for word in ("src=", "href=", "@import", "url(") if word in drawn.replace("xlink:href", "")]
    assert not references


def test_the_page_puts_each_level_right_of_the_one_before():
    pygraphviz = pytest.importorskip("pygraphviz")
    graph, timings = drawn_training()
    laid_out = pygraphviz.AGraph(string=dot.render(graph, timings))
    laid_out.layout(prog="dot")
    levels = picture(graph, timings).levels
    columns = [{float(laid_out.get_node(node.id).attr["pos"].split(",")[0]) for node in nodes} for nodes in levels]
    assert all(max(left) < min(right) for left, right in itertools.pairwise(columns))


def test_without_the_layout_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    with pytest.raises(ImportError, match=r"pip install 'rayshim\[graph\]'"):
        html.render(drawn_training()[0])


@settings(max_examples=40, deadline=None)
@given(recordings())
def test_every_reaction_is_drawn(recording):
    graph = graph_of(recording)
    assert sum(map(len, picture(graph).levels)) == len(graph.reactions)
    for render in RENDERERS:
        assert all(
            reaction.name in render(graph, Timings.from_recording(recording)) for reaction in graph.reactions.values()
        )
