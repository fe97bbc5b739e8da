"""Reactors that share a global variable stay in one process, when one of them changes it, and only then."""

import pytest
from reactor.tests.running import lines, program, trace_of

pytest.importorskip("lark")


def here(folder, preamble, reaction, more=""):
    """Whether two reactors that have this reaction stay in the process of the program."""
    text = f"""preamble {{=
{preamble}
=}}
reactor A {{ state n = 0 output out reaction(startup) -> out {{=
{reaction}
=}} {more} }}
main reactor {{ a = new A() b = new A() }}"""
    workers = {step.worker for step in program(folder, text, placement="isolated").plan.steps}
    assert workers in ({-1}, {0, 1})
    return workers == {-1}


@pytest.mark.parametrize(
    ("preamble", "reaction"),
    [
        ("n = 0", "global n\nn += 1"),
        ("found = []", "found.append(1)"),
        ("found = {}", "found[self.n] = 1"),
        ("found = [1, 2]", "del found[0]"),
        ("found = set()\ndef note(x):\n    found.add(x)", "note(1)"),
        ("n = 0\ndef number():\n    global n\n    n += 1\n    return n", "out.set(number())"),
        ("class Counter:\n    n = 0\ncounter = Counter()", "counter.n += 1"),
        ("class Counter:\n    n = 0\ncounter = Counter()", "counter.n = 5"),
        ("found = []\nclass Log:\n    def note(self, x):\n        found.append(x)", "Log().note(1)"),
        ("found = []", "out.set([found.append(k) for k in range(3)])"),
    ],
)
def test_what_is_changed_keeps_its_users_together(preamble, reaction, tmp_path):
    assert here(tmp_path, preamble, reaction)


@pytest.mark.parametrize(
    ("preamble", "reaction"),
    [
        ("LIMIT = 3", "out.set(LIMIT)"),
        ("TABLE = [1, 2, 3]", "self.n += TABLE[self.n]\nout.set(len(TABLE))"),
        ("TABLE = {1: 2}", "out.set(TABLE.get(1))"),
        ("import math", "out.set(math.pi)"),
        ("import collections\nPoint = collections.namedtuple('Point', 'x')\nORIGIN = Point(0)", "out.set(ORIGIN.x)"),
        (
            "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass C:\n    n: int = 1\nC1 = C()",
            "out.set(C1.n)",
        ),
        ("import enum\nclass Color(enum.Enum):\n    RED = 1\nRED = Color.RED", "out.set(RED.value)"),
        ("", "out.set(lf.time.logical_elapsed())"),
    ],
)
def test_what_is_only_read_does_not(preamble, reaction, tmp_path):
    assert not here(tmp_path, preamble, reaction)


def test_a_variable_that_a_reaction_defines_counts(tmp_path):
    text = """reactor A { reaction(startup) {= global made
      made = 1 =} }
      reactor B { input go reaction(go) {= print(made) =} }
      main reactor { a = new A() b = new B() }"""
    assert {step.worker for step in program(tmp_path, text, placement="isolated").plan.steps} == {-1}


def test_a_handler_and_a_method_count_too(tmp_path):
    method = "method note() {= found.append(1) =}"
    assert here(tmp_path, "found = []", "self.note()", method)
    handler = "reaction(startup) {= =} deadline(0) {= found.append(1) =}"
    assert here(tmp_path, "found = []", "pass", handler)


@pytest.mark.parametrize("placement", ["inline", "packed", "isolated"])
def test_the_trace_is_the_same_in_each_placement(placement, tmp_path):
    text = """preamble {=
found = []
def note(x):
    found.append(x)
=}
reactor A(n=1) { output out timer t(n, 10 ns) reaction(t) -> out {= note(self.n)
    out.set(list(found)) =} }
main reactor { a = new A(n=1) b = new A(n=2) }"""
    ran = program(tmp_path, text, placement=placement, timeout=11)
    ran.run()
    assert trace_of(ran) == lines("""
        (1, 0) a.reaction_1 out=[1]
        (2, 0) b.reaction_1 out=[1, 2]
        (11, 0) a.reaction_1 out=[1, 2, 1]""")
