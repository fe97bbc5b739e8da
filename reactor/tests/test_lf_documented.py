"""Rules that Lingua Franca's documentation states or that public programs rely on, in all placements."""

import os
import subprocess
import sys

import pytest
from reactor.__main__ import main
from reactor.tests.running import lines, program, trace_of

pytest.importorskip("lark")

placements = pytest.mark.parametrize("placement", ["inline", "packed", "isolated"])


def written(folder, text, name="src/main.lf"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def ran(folder, text, placement, **settings):
    run = program(folder, text, placement=placement, workers=2, **settings)
    run.run()
    return trace_of(run)


@placements
def test_a_later_reaction_sees_and_changes_what_an_earlier_one_has_set(placement, tmp_path):
    text = """reactor R { output out output seen
        reaction(startup) -> out {= out.set([1]) =}
        reaction(startup) -> out, seen {= seen.set(out.is_present)
          out.value.append(2) =}
        reaction(startup) -> out {= out.value.append(3) =} }
      reactor Get { input inp reaction(inp) {= =} }
      reactor Change { mutable input inp output o reaction(inp) -> o {= inp.value.append(4)
          o.set(inp.value) =} }
      main reactor { r = new R() a = new Get() b = new Change() c = new Get()
        r.out -> a.inp  r.out -> b.inp  r.out -> c.inp after 1 ns }"""
    assert ran(tmp_path, text, placement) == lines(
        """(0, 0) r.reaction_1 out=[1]
           (0, 0) r.reaction_2 out=[1, 2] seen=True
           (0, 0) r.reaction_3 out=[1, 2, 3]
           (0, 0) a.reaction_1 inp=[1, 2, 3]
           (0, 0) b.reaction_1 inp=[1, 2, 3] o=[1, 2, 3, 4]
           (1, 0) c.reaction_1 inp=[1, 2, 3]"""
    )


@placements
def test_other_federates_get_a_value_as_it_is_when_the_reaction_ends(placement, tmp_path):
    text = """reactor Send { output out reaction(startup) -> out {= v = [1]
          out.set(v)
          v.append(2) =} }
      reactor Get { input inp reaction(inp) {= =} }
      federated reactor { s = new Send() a = new Get() b = new Get() s.out -> a.inp  s.out -> b.inp after 1 ns }"""
    assert ran(tmp_path, text, placement, timeout=5) == lines(
        """(0, 0) s.reaction_1 out=[1, 2]
           (0, 0) a.reaction_1 inp=[1, 2]
           (1, 0) b.reaction_1 inp=[1, 2]"""
    )


@placements
def test_an_argument_may_be_state_which_the_reactors_then_share(placement, tmp_path):
    text = """reactor In(data = {= {} =}) { input x output o reaction(x) -> o {= self.data[x.value] = 1
          o.set(dict(self.data)) =} }
      reactor Mid(data = {= {} =}) { input x output o i = new In(data = {= self.data =}) x -> i.x  i.o -> o }
      main reactor { state data = {= {"a": 0} =} state n = 5 output o
        m = new Mid(data = {= self.data =}) v = new In(data = {= {"n": self.n} =})
        reaction(startup) -> m.x {= self.data["b"] = 2
          m.x.set("c") =}
        reaction(m.o) -> v.x, o {= o.set(self.data)
          v.x.set("z") =}
        reaction(v.o) {= =} }"""
    all_of_it = "{'a': 0, 'b': 2, 'c': 1}"
    assert ran(tmp_path, text, placement) == lines(
        f"""(0, 0) reaction_1 m.x='c'
           (0, 0) m.i.reaction_1 x='c' o={all_of_it}
           (0, 0) reaction_2 m.o={all_of_it} v.x='z' o={all_of_it}
           (0, 0) v.reaction_1 x='z' o={{'n': 5, 'z': 1}}
           (0, 0) reaction_3 v.o={{'n': 5, 'z': 1}}"""
    )


@placements
def test_a_port_that_is_no_multiport_has_width_minus_2(placement, tmp_path):
    text = """reactor R { output one output[2] two
        reaction(startup) -> one, two {= one.set((one.width, two.width, len(two), two[1].width)) =} }
      main reactor { r = new R() }"""
    assert ran(tmp_path, text, placement) == ["(0, 0) r.reaction_1 one=(-2, 2, 2, -2)"]


@placements
def test_names_of_the_runtime_leave_a_program_all_names(placement, tmp_path):
    text = """reactor R(_path = 1) { output _lf state _scope = 2 state _events = 3 state _deadline = 4 state _instance = 5
        method _unmade() {= return 6 =}
        reaction(startup) -> _lf {= _lf.set((self._path, self._scope, self._events, self._deadline, self._instance, self._unmade())) =} }
      main reactor { r = new R() }"""
    assert ran(tmp_path, text, placement) == ["(0, 0) r.reaction_1 _lf=(1, 2, 3, 4, 5, 6)"]


@placements
def test_events_of_the_users_own_are_in_the_trace_if_the_program_asks_for_tracing(placement, tmp_path):
    text = """reactor A { input h reaction(h) {= self.tracepoint_user_event(h.value)
          self.tracepoint_user_value(h.value, 42) =} }
      main reactor { a = new A() reaction(startup) -> a.h {= a.h.set(self.register_user_trace_event("an event")) =} }"""
    assert ran(tmp_path, text, placement) == ["(0, 0) reaction_1 a.h=0", "(0, 0) a.reaction_1 h=0"]
    path = written(tmp_path, "target Python { tracing: true }\n" + text)
    assert main([path, "--placement", placement, "--trace", str(tmp_path / "trace")]) == 0
    assert (tmp_path / "trace").read_text().splitlines() == lines(
        """(0, 0) main.reaction_1 a.h=1
           (0, 0) main: an event
           (0, 0) main: an event value=42
           (0, 0) main.a.reaction_1 h=1"""
    )


@placements
def test_supporting_files_lie_beside_the_program_while_it_runs(placement, tmp_path):
    written(tmp_path, "VALUE = 3", "inc/stuff_beside.py")
    written(tmp_path, "a net", "other/nets/n.txt")
    text = """target Python { files: ["../inc/stuff_beside.py", "../other/nets/", "other/nets/n.txt"] }
preamble {= import stuff_beside =}
main reactor { r = new R() }
reactor R { reaction(startup) {=
  here = os.path.dirname(__file__)
  with open(os.path.join(here, "nets", "n.txt")) as one, open(os.path.join(here, "n.txt")) as other:
    print(stuff_beside.VALUE, one.read(), other.read())
=} }"""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "reactor", written(tmp_path, text), "--placement", placement]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert (found.stdout, found.stderr, found.returncode) == ("3 a net a net\n", "", 0)
    assert not os.listdir(temporary)


def test_packages_are_found_by_the_environment_too(tmp_path, monkeypatch):
    library = "target Python\nreactor P { output out reaction(startup) -> out {= out.set(1) =} }"
    written(tmp_path, library, "elsewhere/some-lib/src/lib/sub/P.lf")
    text = "target Python\nimport P from <some-lib/sub>\nmain reactor { p = new P() }"
    monkeypatch.setenv("LF_PACKAGES", str(tmp_path / "elsewhere"))
    assert main([written(tmp_path, text), "--trace", str(tmp_path / "trace")]) == 0
    assert (tmp_path / "trace").read_text() == "(0, 0) main.p.reaction_1 out=1\n"


@pytest.mark.parametrize("name", ["STA", "STP_offset"])
def test_a_parameter_says_how_long_a_federate_waits(name, tmp_path):
    text = f"""target Python {{ coordination: decentralized, timeout: 20 ms }}
preamble {{= import time =}}
reactor S {{ output o reaction(startup) -> o {{= time.sleep(0.05)
  o.set(1) =}} }}
reactor P({name} = 1 ms) {{ input x timer t reaction(x) {{= =}} tardy {{= =}} reaction(t) {{= =}} }}
federated reactor {{ s = new S() p = new P() s.o -> p.x }}"""
    assert main([written(tmp_path, text), "--trace", str(tmp_path / "trace")]) == 0
    assert (tmp_path / "trace").read_text().splitlines() == lines(
        """(0, 0) main.s.reaction_1 o=1
           (0, 0) main.p.reaction_2
           (0, 1) main.p.reaction_1 x=1"""
    )


def test_a_program_ends_though_a_thread_of_it_runs_on(tmp_path):
    text = """target Python { timeout: 1 ms }
main reactor {
  preamble {=
    import threading
    def external(self):
      self.threading.Event().wait()
  =}
  reaction(startup) {= self.threading.Thread(target=self.external, name="poller").start() =}
  reaction(shutdown) {= exit(3) =}
}"""
    command = [sys.executable, "-m", "reactor", written(tmp_path, text)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert found.returncode == 3
    assert found.stderr == "The program has ended, and with it its threads that still ran: poller\n"


def test_modules_of_a_program_find_the_runtime_by_the_name_that_lfc_gives_it(tmp_path):
    written(
        tmp_path,
        "import LinguaFrancamain as lf\ndef now(): return lf.time.logical_elapsed(), lf.Tag(1, 2).microstep",
        "src/helper_of_now.py",
    )
    text = """target Python { files: helper_of_now.py, fast: true }
preamble {= import helper_of_now =}
main reactor { timer t(5 ns) output o reaction(t) -> o {= o.set(helper_of_now.now()) =} }"""
    assert main([written(tmp_path, text), "--trace", str(tmp_path / "trace")]) == 0
    assert (tmp_path / "trace").read_text() == "(5, 0) main.reaction_1 o=(5, 2)\n"


@placements
def test_an_object_in_parameters_of_several_reactors_is_one_object_if_one_may_change_it(placement, tmp_path):
    text = """reactor C(l = []) { input x output o reaction(x) -> o {= self.l.append(x.value)
          o.set(list(self.l)) =} }
      main reactor(shared = []) { a = new C(l = shared) b = new C(l = shared) c = new C()
        reaction(startup) -> a.x {= a.x.set(1) =}
        reaction(a.o) -> b.x, c.x {= b.x.set(2)
          c.x.set(3) =}
        reaction(b.o, c.o) {= =} }"""
    assert ran(tmp_path, text, placement)[-1] == "(0, 0) reaction_3 b.o=[1, 2] c.o=[3]"


@placements
def test_federates_have_arguments_of_their_own(placement, tmp_path):
    text = """reactor C(l = []) { input x output o reaction(x) -> o {= self.l.append(x.value)
          o.set(list(self.l)) =} }
      reactor S { output o reaction(startup) -> o {= o.set(1) =} }
      reactor R { input[2] i reaction(i) {= =} }
      federated reactor(shared = []) { s = new S() c = new[2] C(l = shared) r = new R() (s.o)+ -> c.x  c.o -> r.i }"""
    assert ran(tmp_path, text, placement, timeout=5)[-1] == "(0, 0) r.reaction_1 i[0]=[1] i[1]=[1]"


def test_reactors_that_only_read_an_object_in_their_parameters_have_workers(tmp_path):
    text = """reactor C(l = []) { output o reaction(startup) -> o {= o.set(self.l[0]) =} }
      main reactor(shared = [4]) { c = new[2] C(l = shared) }"""
    assert [one.worker for one in program(tmp_path, text, placement="isolated").plan.steps] == [0, 1]


@placements
def test_expressions_for_collections_are_those_of_python(placement, tmp_path):
    text = """reactor A(pair = (1, 2), l = [1, (2, 3)], old(1, 2)) { output o
          state d = {} state s = {1, 2} state e = () state one = (7)
          reaction(startup) -> o {= o.set((self.pair, self.l, self.old, self.d, self.s, self.e, self.one)) =} }
      main reactor { a = new A() b = new A(pair = {3}, old = {}) }"""
    rest = "{}, {1, 2}, (), 7)"
    assert ran(tmp_path, text, placement) == lines(
        f"""(0, 0) a.reaction_1 o=((1, 2), [1, (2, 3)], [1, 2], {rest}
           (0, 0) b.reaction_1 o=({{3}}, [1, (2, 3)], {{}}, {rest}"""
    )
