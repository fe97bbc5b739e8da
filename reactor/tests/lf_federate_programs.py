"""The programs of lf_programs.py that are about federates."""

from reactor.tests.lf_programs import EMIT, PROGRAMS, define

__all__ = ["PROGRAMS"]

define(
    "federates_have_copies",
    "values that cross federates are copies, made when the reaction that set them has ended",
    """reactor Send { output out state v = {= [1] =} timer t(0, 10 ns) reaction(t) -> out {= out.set(self.v)
           self.v.append(2) =} }
       reactor Get { input inp output sum reaction(inp) -> sum {= inp.value.append(9)
           sum.set(len(inp.value)) =} }
       federated reactor { s = new Send() a = new Get() b = new Get() s.out -> a.inp  s.out -> b.inp after 1 ns }""",
    """(0, 0) s.reaction_1 out=[1, 2]
       (0, 0) a.reaction_1 inp=[1, 2] sum=3
       (1, 0) b.reaction_1 inp=[1, 2] sum=3
       (10, 0) s.reaction_1 out=[1, 2, 2]
       (10, 0) a.reaction_1 inp=[1, 2, 2] sum=4""",
    timeout=10,
)
define(
    "a_federate_stops",
    "`lf.stop()` ends the federate alone, one microstep later; what is pending in it goes, and the others go on",
    """reactor One { timer t(0, 10 ns) logical action a state n = 0
         reaction(t) -> a {= self.n += 1
           if self.n == 2:
             a.schedule(5)
             lf.stop() =} reaction(a) {= =} reaction(shutdown) {= =} }
       reactor Two { timer t(0, 10 ns) reaction(t) {= =} reaction(shutdown) {= =} }
       federated reactor { one = new One() two = new Two() }""",
    """(0, 0) one.reaction_1
       (0, 0) two.reaction_1
       (10, 0) one.reaction_1
       (10, 0) two.reaction_1
       (10, 1) one.reaction_3
       (20, 0) two.reaction_1
       (20, 0) two.reaction_2""",
    timeout=20,
)
define(
    "values_for_a_federate_that_left",
    "a value for a federate that has left is lost",
    EMIT
    + """reactor Once { input inp reaction(inp) {= lf.stop() =} }
       federated reactor { e = new Emit() o = new Once() t = new Take() e.out -> o.inp e.out -> t.inp after 1 ns }""",
    """(0, 0) e.reaction_1 out=1
       (0, 0) o.reaction_1 inp=1
       (1, 0) t.reaction_1 inp=1
       (10, 0) e.reaction_1 out=2
       (11, 0) t.reaction_1 inp=2""",
    timeout=11,
)
