"""Federates: values that arrive tardy, federates that leave and join, and what reactions ask about their deadlines."""

import subprocess
import sys

import pytest
from reactor.tests.running import lines, program, trace_of

pytest.importorskip("lark")

# A federate that sets its value when the physical clock is 10 ms past the tag.
LATE = """
reactor Late { output out reaction(startup) -> out {=
    while lf.time.physical_elapsed() < MSEC(10): pass
    out.set(1) =} }
reactor Get { input inp timer t output found
  reaction(t) {= =}
  reaction(inp) -> found {= found.set("in time") =} tardy {= found.set((inp.intended_tag.time - lf.time.start(), inp.intended_tag.microstep)) =} }
"""


def ran(folder, text, name="main", **settings):
    run = program(folder, text, name, **{"fast": False, **settings})
    run.run()
    return trace_of(run)


def decentralised(folder, text, **settings):
    path = folder / "main.lf"
    path.write_text(f"target Python {{ coordination: decentralized }}\n{text}\n")
    from reactor.lf.instantiating import load
    from reactor.program import Program

    top, found = load(str(path))
    run = Program(top, trace=True, **{**found, **settings})
    run.run()
    return trace_of(run)


@pytest.mark.parametrize("placement", ["inline", "packed", "isolated"])
def test_a_value_set_later_than_maxwait_is_tardy_where_the_federate_went_on(placement, tmp_path):
    text = LATE + "federated reactor { l = new Late() @maxwait(1 ms) g = new Get() l.out -> g.inp }"
    assert decentralised(tmp_path, text, placement=placement) == lines("""
        (0, 0) l.reaction_1 out=1
        (0, 0) g.reaction_1
        (0, 1) g.reaction_2 inp=1 found=(0, 0)""")


@pytest.mark.parametrize(
    "waits",
    [
        ("@maxwait(1 h)", ""),
        ("", ""),
        ("@maxwait(forever)", ""),
        ("@maxwait(0)", "@absent_after(1 h)"),
    ],
)
def test_a_federate_that_waits_long_enough_gets_the_value_in_time(waits, tmp_path):
    text = LATE + f"federated reactor {{ l = new Late() {waits[0]} g = new Get() {waits[1]} l.out -> g.inp }}"
    assert "(0, 0) g.reaction_2 inp=1 found='in time'" in decentralised(tmp_path, text)


def test_a_federate_with_nothing_else_to_do_has_not_gone_on(tmp_path):
    text = LATE.replace("timer t ", "timer t(1 h) ") + (
        "federated reactor { l = new Late() @maxwait(1 ms) g = new Get() l.out -> g.inp }"
    )
    assert "(0, 0) g.reaction_2 inp=1 found='in time'" in decentralised(tmp_path, text, timeout=1000)


def test_no_value_is_tardy_in_centralised_coordination(tmp_path):
    text = LATE + "federated reactor { l = new Late() @maxwait(0) g = new Get() l.out -> g.inp }"
    assert "(0, 0) g.reaction_2 inp=1 found='in time'" in ran(tmp_path, text)


@pytest.mark.parametrize("placement", ["inline", "isolated"])
def test_tardiness_goes_on_through_a_reaction_without_a_handler(placement, tmp_path):
    text = (
        LATE
        + """
      reactor Pass { input inp output out reaction(inp) -> out {= out.set(inp.value) =} }
      reactor Around { input inp p = new Pass() g = new Get() inp -> p.inp p.out -> g.inp }
      federated reactor { l = new Late() @maxwait(1 ms) a = new Around() l.out -> a.inp }"""
    )
    assert decentralised(tmp_path, text, placement=placement)[-2:] == lines("""
        (0, 1) a.p.reaction_1 inp=1 out=1
        (0, 1) a.g.reaction_2 inp=1 found=(0, 0)""")


def test_tardy_without_code_lets_the_reaction_itself_handle_it(tmp_path):
    text = (
        LATE
        + """
      reactor Own { input inp timer t output found reaction(t) {= =}
        reaction(inp) -> found {= found.set(lf.tag() > inp.intended_tag) =} tardy }
      federated reactor { l = new Late() @maxwait(0) g = new Own() l.out -> g.inp }"""
    )
    assert decentralised(tmp_path, text)[-1] == "(0, 1) g.reaction_2 inp=1 found=True"


def test_maxwait_can_be_asked_for_and_changed(tmp_path):
    text = (
        LATE
        + """
      reactor Ask extends Get { output now reaction(startup) -> now {= now.set((lf.get_fed_maxwait(), lf.set_fed_maxwait(HOUR(1)))) =} }
      federated reactor { a = new Ask() l = new Late() @maxwait(5 ms) b = new Ask() l.out -> b.inp }"""
    )
    seen = decentralised(tmp_path, text)
    assert "(0, 0) b.reaction_3 now=(5000000, None)" in seen


SWAP = """
preamble {= import subprocess =}
reactor Launch(name="m") { timer t(1 ms)
  method start() {= return subprocess.run([os.path.join(lf.package_directory(), "fed-gen", "main", "bin", "federate__" + self.name),
      "-i", lf.get_federation_id()], stderr=subprocess.PIPE, text=True) =}
  output o reaction(t) -> o {= found = self.start()
    o.set((found.returncode, found.stderr)) =} }
reactor M { output out state n = 0 timer t(0, 1 ms) logical action a
  reaction(startup) -> out {= out.set(lf.tag() == lf.tag_start_effective()) =}
  reaction(t) -> a, out {= self.n += 1
    a.schedule(HOUR(1))
    a.schedule(0)
    if self.n == 1: lf.stop() =}
  reaction(a) -> out {= out.set("action") =}
  reaction(shutdown) -> out {= out.set("gone") =} }
reactor See { input inp state seen = [] output out
  reaction(inp) -> out {= self.seen.append(inp.value)
    if len(self.seen) == 4: request_stop()
    out.set(inp.value) =} }
"""


def of(trace, reaction):
    return [line.rsplit("=", 1)[1] for line in trace if f" {reaction} " in line]


@pytest.mark.parametrize("placement", ["inline", "packed"])
def test_a_transient_federate_leaves_and_starts_again_with_new_state(placement, tmp_path):
    text = SWAP + ("federated reactor { l = new Launch() s = new See() @transient m = new M() m.out -> s.inp }")
    seen = ran(tmp_path, text, placement=placement, timeout=60 * 10**9)
    assert of(seen, "s.reaction_1") == ["True", "'gone'", "True", "'gone'"]
    assert sum(" m.reaction_2" in line for line in seen) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["main.lf"], "what starts federates is removed"


def test_a_federate_that_takes_part_is_not_started_again(tmp_path):
    text = SWAP.replace("if self.n == 1: lf.stop()", "pass") + (
        "federated reactor { l = new Launch() @transient m = new M() }"
    )
    seen = ran(tmp_path, text, timeout=5 * 10**6)
    assert "takes part already" in "".join(line for line in seen if "l.reaction_1" in line)


def test_stop_ends_the_federate_alone_and_request_stop_the_program(tmp_path):
    text = """
      reactor One { timer t(0, 10 ns) state n = 0 reaction(t) {= self.n += 1
        if self.n == 2: lf.stop() =} reaction(shutdown) {= =} }
      reactor Two { timer t(0, 10 ns) reaction(t) {= =} reaction(shutdown) {= =} }
      federated reactor { one = new One() two = new Two() }"""
    assert ran(tmp_path, text, fast=True, timeout=20) == lines("""
        (0, 0) one.reaction_1
        (0, 0) two.reaction_1
        (10, 0) one.reaction_1
        (10, 0) two.reaction_1
        (10, 1) one.reaction_2
        (20, 0) two.reaction_1
        (20, 0) two.reaction_2""")


@pytest.mark.parametrize("placement", ["inline", "packed"])
def test_a_reaction_can_check_its_deadline_and_change_it(placement, tmp_path):
    text = """main reactor { timer t(0, 10 ms) output found output handled state n = 0
      reaction(t) -> found, handled {=
        self.n += 1
        early = lf.check_deadline(self)
        while lf.time.physical() < lf.time.logical() + SEC(1) * (self.n == 1): pass
        found.set((early, lf.check_deadline(self, False), lf.check_deadline(self)))
        lf.update_deadline(self, HOUR(1)) =} deadline(500 ms) {= handled.set(True) =} }"""
    first, second = ran(tmp_path, text, placement=placement, timeout=10 * 10**6)
    assert first == "(0, 0) reaction_1 found=(False, True, True) handled=True"
    assert second == "(10000000, 0) reaction_1 found=(False, False, False)"


def test_the_file_that_starts_a_federate_fails_when_the_program_has_ended(tmp_path):
    from reactor.lf import joining

    tmp_path.chmod(0o700)
    for folder in (tmp_path, tmp_path / "none"):
        command = [sys.executable, joining.__file__, "m", str(folder), "-i", f"none-{tmp_path.name}"]
        found = subprocess.run(command, capture_output=True, text=True)
        assert (found.returncode, "has ended" in found.stderr) == (1, True)


@pytest.mark.parametrize("placement", ["inline", "packed", "isolated"])
def test_each_federate_has_its_own_global_variables(placement, tmp_path):
    text = """
      preamble {=
      count, found, one = 0, [], 1
      class Box:
          def __init__(self, value):
              self.value = value
      def number():
          global count
          count += one
          found.append(count)
          return Box(list(found))
      =}
      reactor Count { output out timer t(0, 10 ns) reaction(t) -> out {= out.set(number()) =} }
      reactor Two { output[2] out a = new Count() b = new Count() a.out, b.out -> out }
      reactor Look { input[3] inp output seen reaction(inp) -> seen {=
        seen.set([port.value.value for port in inp if isinstance(port.value, Box)]) =} }
      federated reactor { c = new Count() t = new Two() l = new Look() c.out, t.out -> l.inp }"""
    seen = ran(tmp_path, text, fast=True, timeout=10, placement=placement)
    assert of(seen, "l.reaction_1") == ["[[1], [1], [1, 2]]", "[[1, 2], [1, 2, 3], [1, 2, 3, 4]]"]
