"""Lingua Franca files: how mistakes are told, imports, target properties, and the command line."""

import json
import re

import pytest
from reactor.__main__ import main
from reactor.tests.running import program

pytest.importorskip("lark")
from reactor.lf.errors import LFError  # noqa: E402
from reactor.lf.instantiating import load  # noqa: E402


def written(folder, text, name="main.lf"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("target Python\nmain reactor {\n  timer 5\n}", "3:9", "unexpected '5'; expected a name"),
        ("target Python\nmain reactor {\n  a = new Gone()\n}", "3:3", "no reactor Gone is declared or imported here"),
        ("target Python\nmain reactor {\n  a.x -> b.y\n}", "3:3", "there is no reactor a"),
        (
            "target Python\nmain reactor {\n  reaction(t) {= =}\n}",
            "3:12",
            "t is not a port, action, timer, mode or watchdog",
        ),
        ("target Python\nmain reactor {\n  timer t(p)\n}", "3:11", "p is not a parameter"),
        ("target Python\nmain reactor {\n  reaction(startup) {=\n    x ==\n  =}\n}", "4:9", "Python: invalid syntax"),
        ("target C\nmain reactor { }", "1:1", "target C cannot be run"),
        (
            "target Python { protobufs: a.proto }\nmain reactor { }",
            "1:17",
            "target property protobufs is not supported",
        ),
        ('target Python\nimport A from "gone.lf"\nmain reactor { }', "2:1", "cannot read"),
        ("target Python\nimport A from <nowhere/a.lf>\nmain reactor { }", "2:1", "package nowhere is not installed"),
        ("target Python\nreactor A { }\nmain reactor {\n  a = new A(x=1)\n}", "4:3", "reactor A has no parameter x"),
    ],
)
def test_a_mistake_is_shown_with_line_and_caret(text, place, message, tmp_path):
    path = written(tmp_path, text)
    with pytest.raises(LFError, match=re.escape(message)) as caught:
        load(path)
    told = str(caught.value)
    assert told.startswith(f"{path}:{place}: error: ")
    line, caret = told.splitlines()[-2:]
    assert line.strip() == text.splitlines()[int(place.split(":")[0]) - 1].strip()
    assert caret.index("^") - 2 == int(place.split(":")[1]) - 1


def test_a_file_without_a_main_reactor_is_told(tmp_path):
    with pytest.raises(LFError, match="no main reactor"):
        load(written(tmp_path, "target Python\nreactor A { }"))


def test_imports_with_aliases_preambles_and_packages(tmp_path):
    written(
        tmp_path,
        "target Python\npreamble {=\n  BASE = 5\n=}\nreactor A { output out reaction(startup) -> out {= out.set(BASE) =} }",
        "src/lib/a.lf",
    )
    written(
        tmp_path,
        "target Python\nreactor P { output out reaction(startup) -> out {= out.set(1) =} }",
        "lf-packages/some-lib/src/lib/P.lf",
    )
    path = written(
        tmp_path,
        'target Python\nimport A as B from "lib/a.lf"\nimport P from <some-lib>\nmain reactor { b = new B() p = new P() }',
        "src/main.lf",
    )
    assert main([path, "--trace", str(tmp_path / "trace")]) == 0
    assert (tmp_path / "trace").read_text().splitlines() == [
        "(0, 0) main.b.reaction_1 out=5",
        "(0, 0) main.p.reaction_1 out=1",
    ]


def test_files_are_importable(tmp_path):
    written(tmp_path, "VALUE = 3", "inc/stuff_of_this_test.py")
    text = "target Python { files: inc/stuff_of_this_test.py }\npreamble {=\n  import stuff_of_this_test\n=}\n"
    path = written(tmp_path, text + "main reactor { reaction(startup) {= assert stuff_of_this_test.VALUE == 3 =} }")
    assert main([path]) == 0


def test_a_reaction_that_raises_is_told_with_its_line_and_tag(tmp_path, capsys):
    path = written(tmp_path, "target Python\nmain reactor {\n  timer t(2 ms)\n  reaction(t) {=\n    1 / 0\n  =}\n}")
    assert main([path, "--fast"]) == 1
    said = capsys.readouterr().err
    assert f'File "{path}", line 5' in said
    assert f"Reaction main.reaction_1 ({path}:4) raised ZeroDivisionError at tag (2000000 ns, 0)" in said


def test_exit_ends_the_program_with_its_status(tmp_path):
    path = written(
        tmp_path, "target Python\nmain reactor { reaction(startup) {= exit(3) =} reaction(shutdown) {= exit(4) =} }"
    )
    with pytest.raises(SystemExit) as caught:
        main([path])
    assert caught.value.code == 3


def test_trace_for_perfetto_graph_and_plan(tmp_path, capsys):
    text = "target Python\nreactor A { input i reaction(i) {= =} }\nmain reactor { a = new A() reaction(startup) -> a.i {= a.i.set(1) =} }"
    path = written(tmp_path, text)
    assert main([path, "--trace", str(tmp_path / "trace.json")]) == 0
    assert [e["name"] for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]] == [
        "main.reaction_1",
        "main.a.reaction_1",
    ]
    assert main([path, "--graph", "-"]) == 0
    assert "main.a.reaction_1" in capsys.readouterr().out
    assert main([path, "--plan"]) == 0
    assert capsys.readouterr().out.splitlines()[2].split() == ["#1", "1", "here", "main.a.reaction_1", "main.a.i", "#0"]


def test_a_drawing_has_a_known_suffix(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path / "program.lf"), "--graph", str(tmp_path / "drawing.svg")])
    assert ended.value.code == 2 and ".mmd" in capsys.readouterr().err


def test_a_watchdog_that_nobody_stops_runs_its_handler_and_triggers(tmp_path):
    ran = program(
        tmp_path,
        """main reactor { state handled = 0 output out timer t(0, 5 ms)
             watchdog w(1 s) {= self.handled += 1 =}
             reaction(t) -> w {= if lf.time.logical_elapsed() < MSEC(15): w.start(0) =}
             reaction(w) -> out {= out.set(self.handled)
               request_stop() =} }""",
        fast=False,
    )
    ran.run()
    fired = [entry for entry in ran.trace.entries if entry[2].endswith("reaction_2")]
    assert [entry[3] for entry in fired] == [{"out": "1"}]
    assert fired[0][0] >= 1_010_000_000  # the start of the last timer event before 15 ms is what counts


def test_physical_connections_take_the_time_of_the_clock(tmp_path):
    ran = program(
        tmp_path,
        """reactor A { output out reaction(startup) -> out {= out.set(1) =} }
           reactor B { input i reaction(i) {= =} }
           main reactor { a = new A() b = new B() c = new B() a.out ~> b.i  a.out ~> c.i after 1 ms }""",
    )
    ran.run()
    times = {entry[2]: entry[0] for entry in ran.trace.entries}
    assert 0 < times["main.b.reaction_1"]
    assert times["main.c.reaction_1"] >= 1_000_000


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("reactor A { output o\n  timer o }\nmain reactor { a = new A() }", "3:3", "o is declared already, in line 2"),
        ("reactor A(n=1) { state n = 2 }\nmain reactor { a = new A() }", "2:18", "n is declared already"),
        ("main reactor {\n  mode A { }\n  mode B { } }", "3:3", "exactly one mode"),
        ("reactor A { input i }\nmain reactor { a = new A()\n  reaction(a.i) {= =} }", "4:12", "i is an input of a"),
        (
            "reactor A { output o }\nmain reactor { a = new A()\n  timer t reaction(t) -> a.o {= =} }",
            "4:26",
            "o is an output of a",
        ),
        (
            "reactor A { output o input i }\nmain reactor { a = new A() b = new A()\n  a.i -> b.i }",
            "4:3",
            "cannot start",
        ),
        (
            "reactor A { output o input i }\nmain reactor { a = new A() b = new A()\n  a.o -> b.o }",
            "4:10",
            "cannot end",
        ),
        (
            "reactor A { output o input i }\nmain reactor { a = new A() b = new A()\n  a.o -> b.i\n  a.o -> b.i after 0 }",
            "5:3",
            "main.b.i is connected already, in line 4",
        ),
        ("reactor A { }\nreactor A { }\nmain reactor { }", "3:1", "reactor A is declared already, in line 2"),
        ("main reactor { }\nmain reactor { }", "3:1", "this file has a main reactor already, in line 2"),
        ("main reactor Foo { }", "2:1", "name it main as its file"),
        ("reactor A { a = new A() }\nmain reactor { a = new A() }", "2:13", "reactor A contains itself"),
        ("reactor A extends B { }\nreactor B extends A { }\nmain reactor { a = new A() }", "2:1", "A extends itself"),
        (
            "reactor A { output o }\nreactor B extends A { output o }\nmain reactor { b = new B() }",
            "3:23",
            "o is declared already, in line 2",
        ),
        ("main reactor {\n  timer t(0, 10)\n}", "3:14", "10 is not a time value"),
        ("main reactor {\n  timer t(0, 10 lightyears)\n}", "3:17", "'lightyears' is not a unit of time; there are ns"),
        ("main reactor {\n  timer t(0, {= -1 =})\n}", "3:14", "-1 ns is less than 0"),
        ("reactor A { input in }\nmain reactor { }", "2:13", "in is a word of Python"),
        ("reactor A(n) { }\nmain reactor { }", "2:11", "parameter n has no default value"),
        ("reactor A { output[2.5] o }\nmain reactor { a = new A() }", "2:19", "2.5 is not a width"),
        ("main reactor {\n  action a\n}", "3:3", "action a is neither logical nor physical"),
        ("@timout(1 s)\nmain reactor { }", "3:1", "there is no attribute @timout"),
        ("reactor A { }\nmain reactor {\n  @transient\n  a = new A() }", "5:3", "@transient stands before a federate"),
        (
            "reactor A(n=1) { reaction(startup) {=\n    self.n += 1\n  =} }\nmain reactor { a = new A() }",
            "3:5",
            "n is a parameter",
        ),
        (
            "reactor A { output o input i }\nmain reactor { a = new A() b = new A() a.o -> b.i\n  reaction(startup) -> b.i {= =} }",
            "4:3",
            "main.b.i is connected, in line 3",
        ),
        ("main reactor {\n  recation(startup) {= =}\n}", "3:11", "did you mean reaction in place of recation?"),
        ("main reactor {\n  reaction(startup) {=\n  }\n}", "3:21", "this {= has no =}"),
        ("main reactor {\n  state s = 'abc'\n}", "3:13", "text stands in double quotes"),
        ("main reactor {\n  timer t\n", "3:10", "the file ends here; expected a declaration"),
        (
            "preamble {=\n  import no_such_module\n=}\nmain reactor { }",
            "2:1",
            "this preamble raised ModuleNotFoundError",
        ),
        ("reactor A(n = {= unknown =}) { }\nmain reactor { a = new A() }", "2:15", "this expression raised NameError"),
        ("reactor A(n = m, m = 1) { }\nmain reactor { a = new A() }", "2:15", "m has no value yet"),
        ("reactor A(n = 1, n = 2) { }\nmain reactor { }", "2:18", "parameter n is declared already, in line 2"),
        ("reactor A(n = 1) { }\nmain reactor { a = new A(n = 2, n = 3) }", "3:33", "n is given already"),
        ("main reactor {\n  reaction r(startup)\n  reaction r(shutdown) }", "4:3", "reaction r is declared already"),
        ("main reactor {\n  reaction(startup) -> a.x {= =} }", "3:24", "there is no reactor a in this reactor"),
        ("main reactor { timer t\n  reaction(startup) -> t {= =} }", "3:24", "t is a timer: a reaction cannot set it"),
        ("main reactor {\n  timer t(-5 ms)\n}", "3:11", "-5000000 ns is less than 0"),
        ("main reactor {\n  watchdog w {= =}\n}", "3:14", "expected '('"),
        ('main reactor {\n  state s = "abc\n}', "3:13", "this text has no double quote that ends it"),
        ("main reactor {\n  state s-t = 1\n}", "3:10", "expected a declaration such as input"),
        ("reactor A(s = {[1]}) { }\nmain reactor { a = new A() }", "2:15", "a set in braces can have numbers"),
        ("main reactor {\n  reaction(startup) {= x = = 1 =} }", "3:28", "Python: invalid syntax"),
        ("main reactor {\n  reaction(startup) {=\n    x = = 1\n  =} }", "4:9", "Python: invalid syntax"),
    ],
)
def test_what_does_not_fit_is_shown_with_line_and_caret(text, place, message, tmp_path):
    path = written(tmp_path, f"target Python\n{text}")
    with pytest.raises(LFError, match=re.escape(message)) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{place}: error: ")


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ('compiler: "gcc"', "compiler belongs to another target than Python"),
        ("fats: true", "fats is not supported"),
        ("timeout: 5", "timeout is 5: it must be a time value"),
        ("fast: maybe", "fast is 'maybe': it must be true or false"),
        ("workers: -1", "workers is -1: it must be a whole number"),
        ("coordination: anarchic", "coordination is 'anarchic': it must be centralized or decentralized"),
        ("files: gone.py", "there is no gone.py: looked in"),
    ],
)
def test_a_wrong_target_property_is_shown(pair, message, tmp_path):
    path = written(tmp_path, f"target Python {{\n  {pair}\n}}\nmain reactor {{ }}")
    with pytest.raises(LFError, match=re.escape(message)) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:2:3: error: ")


@pytest.mark.parametrize("delay", ["-5", "0.5", "'1 s'"])
def test_a_delay_is_a_whole_number_from_0_on(delay, tmp_path, capsys):
    text = f"target Python\nmain reactor {{ logical action a reaction(startup) -> a {{= a.schedule({delay}) =}} }}"
    assert main([written(tmp_path, text)]) == 1
    assert f"main.a is scheduled {delay}" in capsys.readouterr().err


def test_properties_may_stand_before_the_main_reactor(tmp_path):
    _, settings = load(written(tmp_path, "target Python\n@timeout(5 ms)\n@fast(true)\nmain reactor { }"))
    assert (settings["timeout"], settings["fast"]) == (5 * 10**6, True)


def test_a_tag_is_written_as_in_lingua_franca(tmp_path):
    ran = program(
        tmp_path,
        "main reactor { output o reaction(startup) -> o {= o.set(str(Tag(3, 4)) == 'Tag(time=3, microstep=4)') =} }",
    )
    ran.run()
    assert list(ran.trace.lines()) == ["(0, 0) main.reaction_1 o=True"]


def test_attributes_of_parameters_and_reactions_without_code_are_read(tmp_path):
    ran = program(tmp_path, 'reactor A(@label("x") n = 3) { reaction(startup) }\nmain reactor { a = new A(n = None) }')
    ran.run()
    assert list(ran.trace.lines()) == ["(0, 0) main.a.reaction_1"]


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ('x = 2\n  o.set(f"{x=}")', "'x=2'"),
        ("x = 2\n  o.set(f'{x=}')", "'x=2'"),
        ('o.set("""a=}" \'b""")', repr("a=}\" 'b")),
        ("o.set('\\\\')", "'\\\\'"),
        ("o.set(1)  # don't", "1"),
        ('o.set("")  # "', "''"),
        ("o.set(3) # here", "3"),
    ],
)
def test_code_ends_at_the_end_sign_that_is_in_no_text(code, value, tmp_path):
    ran = program(tmp_path, f"main reactor {{ output o reaction(startup) -> o {{=\n  {code}\n=}} }}")
    ran.run()
    assert list(ran.trace.lines()) == [f"(0, 0) main.reaction_1 o={value}"]


def test_code_on_one_line_ends_in_a_comment_too(tmp_path):
    ran = program(tmp_path, "main reactor { reaction(startup) {= pass # nothing =} reaction(startup) {= x = [1] =} }")
    ran.run()
    assert len(list(ran.trace.lines())) == 2


@pytest.mark.parametrize(
    "code, value",
    [
        ("for k in (1, 2):\n    return k", 1),
        ("while not x: # yet\n      # of it\n      x = 4\n      return x", 4),
        ("if x:\n         return 9\n       else:\n         return 5", 5),
        ("for k in (1, 2):\n         x += k\n     return x", 3),
        ("x = 1\n        return x + 1", 2),
        ("if x: return 1\n     return 3", 3),
    ],
)
def test_code_may_begin_on_the_line_of_its_begin_sign(code, value, tmp_path):
    text = f"""preamble {{= def f(x): return x =}}
      reactor A {{ input x output o reaction(x) -> o {{= o.set(self.of(x.value)) =}}
        method of(x) {{= {code} =}} }}
      main reactor {{ a = new A() reaction(startup) -> a.x {{= a.x.set(f(0)) =}} reaction(a.o) {{= =}} }}"""
    ran = program(tmp_path, text)
    ran.run()
    assert list(ran.trace.lines())[-1] == f"(0, 0) main.reaction_2 a.o={value}"


def test_connections_in_a_circle_are_told_with_their_lines(tmp_path, capsys):
    text = "target Python\nreactor A { input i output o\n  i -> o }\nmain reactor { a = new A() b = new A()\n  a.o -> b.i\n  b.o -> a.i }"
    path = written(tmp_path, text)
    assert main([path]) == 1
    told = capsys.readouterr().err
    assert "Connections in a circle without any reaction" in told
    assert f"main.a.o is connected to main.b.i ({path}:5)" in told


def test_a_target_property_that_is_given_twice_is_shown(tmp_path, capsys):
    path = written(tmp_path, "target Python {\n  fast: true,\n  fast: false }\nmain reactor { }")
    assert main([path]) == 1
    assert f"{path}:3:3: error: fast is given already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"target C\nreactor A { }", "has target C"), (b"\xff\xfe", "it is not valid UTF-8")],
)
def test_a_file_that_cannot_be_imported_is_told_where_the_import_is(content, message, tmp_path, capsys):
    path = written(tmp_path, 'target Python\nimport A from "a.lf"\nmain reactor { a = new A() }')
    (tmp_path / "a.lf").write_bytes(content)
    assert main([path]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"{path}:2:1: error: ")
    assert message in told


@pytest.mark.parametrize("placement", ["inline", "isolated"])
def test_a_name_that_a_reaction_does_not_declare_is_told_with_the_remedy(placement, tmp_path, capsys):
    text = "target Python { timeout: 1 s }\nmain reactor { a = new A() }\nreactor A { output o reaction(startup) {= o.set(1) =} }"
    path = written(tmp_path, text)
    assert main([path, "--placement", placement]) == 1
    assert "This reactor has o: add it to the reaction's triggers, sources or effects" in capsys.readouterr().err


def test_repeated_sources_that_do_not_divide_the_targets_are_warned_of(tmp_path, capsys):
    text = (
        "reactor A { output o }\nreactor B { input[3] i }\nmain reactor { a = new[2] A() b = new B()\n  (a.o)+ -> b.i }"
    )
    program(tmp_path, text).run()
    assert "5:3: warning: 2 sources do not divide 3 targets" in capsys.readouterr().err
