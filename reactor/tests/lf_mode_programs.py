"""The programs of lf_programs.py that are about modes. PROGRAMS has all programs, those about federates, too."""

from reactor.tests.lf_federate_programs import PROGRAMS
from reactor.tests.lf_programs import EMIT, define

__all__ = ["PROGRAMS"]

define(
    "two_modes",
    "a transition takes effect one microstep later; a timer in the entered mode starts with its offset",
    """main reactor { timer step(10 ns, 10 ns)
         initial mode A { timer t(0, 4 ns) reaction(t) {= =} reaction(step) -> reset(B) {= B.set() =} }
         mode B { timer u(0, 4 ns) reaction(u) {= =} reaction(step) -> reset(A) {= A.set() =} } }""",
    """(0, 0) reaction_1
       (4, 0) reaction_1
       (8, 0) reaction_1
       (10, 0) reaction_2
       (10, 1) reaction_3
       (14, 0) reaction_3
       (18, 0) reaction_3
       (20, 0) reaction_4
       (20, 1) reaction_1""",
    timeout=22,
)
define(
    "history",
    "after a history transition timers and actions go on with the time that was left",
    """main reactor { timer step(10 ns, 10 ns)
         initial mode A { timer t(0, 7 ns) logical action a(9 ns) reaction(t) -> a {= a.schedule(0) =} reaction(a) {= =}
           reaction(step) -> reset(B) {= B.set() =} }
         mode B { reaction(step) -> history(A) {= A.set() =} } }""",
    """(0, 0) reaction_1
       (7, 0) reaction_1
       (9, 0) reaction_2 a=None
       (10, 0) reaction_3
       (20, 0) reaction_4
       (24, 0) reaction_1
       (26, 0) reaction_2 a=None
       (30, 0) reaction_3""",
    timeout=30,
)
define(
    "reset_discards",
    "a reset transition discards what was pending in the mode and resets the state that is declared so",
    """main reactor { output out timer step(10 ns, 10 ns)
         initial mode A { timer t(0) logical action a(15 ns) reset state r = 0 state s = 0
           reaction(t) -> a {= a.schedule(0) =} reaction(a) {= =}
           reaction(step) -> B, out {= self.r += 1
             self.s += 1
             out.set((self.r, self.s))
             B.set() =} }
         mode B { reaction(step) -> reset(A) {= A.set() =} } }""",
    """(0, 0) reaction_1
       (10, 0) reaction_3 out=(1, 1)
       (20, 0) reaction_4
       (20, 1) reaction_1
       (30, 0) reaction_3 out=(1, 2)""",
    timeout=30,
)
define(
    "reset_trigger",
    "reactions to reset run when their mode is entered by reset, not by history, and not at the start",
    """reactor Inner { reaction(reset) {= =} reaction(startup) {= =} }
       main reactor { timer step(10 ns, 10 ns) state n = 0
         initial mode A { i = new Inner() reaction(reset) {= =} reaction(step) -> B {= B.set() =} }
         mode B { reaction(step) -> reset(A) {= self.n += 1
             if self.n == 1: A.set() =}
           reaction(step) -> history(A) {= if self.n == 2: A.set() =} } }""",
    """(0, 0) i.reaction_2
       (10, 0) reaction_2
       (20, 0) reaction_3
       (20, 0) reaction_4
       (20, 1) reaction_1
       (20, 1) i.reaction_1
       (30, 0) reaction_2
       (40, 0) reaction_3
       (40, 0) reaction_4""",
    timeout=45,
)
define(
    "startup_in_a_mode",
    "startup in a mode comes once, when the mode is first entered; shutdown only if it ever was",
    """main reactor { timer step(10 ns, 10 ns)
         initial mode A { reaction(startup) {= =} reaction(shutdown) {= =} reaction(step) -> reset(B) {= B.set() =} }
         mode B { reaction(startup) {= =} reaction(shutdown) {= =} reaction(step) -> reset(A) {= A.set() =} }
         mode C { reaction(startup) {= =} reaction(shutdown) {= =} } }""",
    """(0, 0) reaction_1
       (10, 0) reaction_3
       (10, 1) reaction_4
       (20, 0) reaction_6
       (30, 0) reaction_3
       (35, 0) reaction_2
       (35, 0) reaction_5""",
    timeout=35,
)
define(
    "nested_modes",
    "what lies in a mode that is not active does not react, and its modes stand still; a reset resets them",
    """reactor Inner { input go output out
         initial mode X { reaction(go) -> out, reset(Y) {= out.set("X")
             Y.set() =} }
         mode Y { reaction(go) -> out, reset(X) {= out.set("Y")
             X.set() =} } }
       main reactor { timer t(0, 10 ns) timer step(25 ns, 20 ns)
         initial mode A { j = new Inner() reaction(t) -> j.go {= j.go.set(1) =}
           reaction(step) -> reset(B) {= B.set() =} }
         mode B { reaction(t) {= =} reaction(step) -> reset(A) {= A.set() =} } }""",
    """(0, 0) reaction_1 j.go=1
       (0, 0) j.reaction_1 go=1 out='X'
       (10, 0) reaction_1 j.go=1
       (10, 0) j.reaction_2 go=1 out='Y'
       (20, 0) reaction_1 j.go=1
       (20, 0) j.reaction_1 go=1 out='X'
       (25, 0) reaction_2
       (30, 0) reaction_3
       (40, 0) reaction_3
       (45, 0) reaction_4
       (50, 0) reaction_1 j.go=1
       (50, 0) j.reaction_1 go=1 out='X'""",
    timeout=50,
)
define(
    "inner_mode_in_an_outer_one",
    "a reaction in a mode does not react while an outer mode is not active, though its trigger is present",
    """reactor Inner { input go initial mode X { reaction(go) {= =} } }
       reactor Outer { input go timer step(5 ns)
         initial mode A { i = new Inner() go -> i.go  reaction(step) -> B {= B.set() =} }
         mode B { j = new Inner() go -> j.go } }"""
    + EMIT
    + "main reactor { e = new Emit() o = new Outer() e.out -> o.go }",
    """(0, 0) e.reaction_1 out=1
       (0, 0) o.i.reaction_1 go=1
       (5, 0) o.reaction_1
       (10, 0) e.reaction_1 out=2
       (10, 0) o.j.reaction_1 go=2""",
    timeout=10,
)
define(
    "reset_overrides_an_inner_transition",
    "a reactor that an outer one resets enters its initial mode, whatever transition it asks for at this tag",
    """reactor Inner { input go
         initial mode X { reaction(go) -> reset(Y) {= Y.set() =} reaction(reset) {= =} }
         mode Y { reaction(go) {= =} reaction(reset) {= =} } }
       main reactor { timer t(0, 10 ns)
         initial mode A { i = new Inner() reaction(t) -> i.go, reset(A) {= i.go.set(1)
             A.set() =} } }""",
    """(0, 0) reaction_1 i.go=1
       (0, 0) i.reaction_1 go=1
       (0, 1) i.reaction_2
       (10, 0) reaction_1 i.go=1
       (10, 0) i.reaction_1 go=1""",
    timeout=10,
)
define(
    "reset_leaves_inner_modes_alone",
    "a reset does not reach what lies in an inner mode that it does not enter: timers, state and reactions to reset",
    """reactor Inner { input go output seen
         initial mode X { reaction(go) -> history(Y) {= Y.set() =} }
         mode Y { reset state m = 0 timer u(4 ns, 10 ns)
           reaction(u) -> seen {= self.m += 1
             seen.set(self.m) =}
           reaction(reset) {= =} } }
       main reactor { timer t(0, 7 ns) state n = 0
         initial mode A { i = new Inner()
           reaction(t) -> i.go, reset(B) {= self.n += 1
             if self.n == 2: B.set()
             else: i.go.set(1) =} }
         mode B { reaction(t) -> reset(A) {= self.n += 1
             A.set() =} } }""",
    """(0, 0) reaction_1 i.go=1
       (0, 0) i.reaction_1 go=1
       (4, 0) i.reaction_2 seen=1
       (7, 0) reaction_1
       (14, 0) reaction_2
       (21, 0) reaction_1 i.go=1
       (21, 0) i.reaction_1 go=1
       (28, 0) reaction_1 i.go=1
       (28, 0) i.reaction_2 seen=2""",
    timeout=28,
)
define(
    "reset_reaches_initial_modes",
    "a reset reaches the initial modes of contained reactors at any depth: timers, state and reactions to reset",
    """reactor Leaf { reset state m = 0 output seen
         initial mode P { timer u(1 ns) reset state k = 0 reaction(reset) {= =}
           reaction(u) -> seen {= self.m += 1
             self.k += 1
             seen.set((self.m, self.k)) =} } }
       reactor Inner { initial mode X { leaf = new Leaf() reaction(reset) {= =} } mode Y { reaction(reset) {= =} } }
       main reactor { timer t(5 ns, 5 ns)
         initial mode A { i = new Inner() reaction(t) -> reset(B) {= B.set() =} }
         mode B { reaction(t) -> reset(A) {= A.set() =} } }""",
    """(1, 0) i.leaf.reaction_2 seen=(1, 1)
       (5, 0) reaction_1
       (10, 0) reaction_2
       (10, 1) i.reaction_1
       (10, 1) i.leaf.reaction_1
       (11, 0) i.leaf.reaction_2 seen=(1, 1)""",
    timeout=12,
)
define(
    "reset_waits_for_the_outer_mode",
    "a mode that is entered while an outer one is left has its startup and reset when the outer one is active again",
    """reactor Inner { input go
         initial mode X { reaction(go) -> reset(Y) {= Y.set() =} }
         mode Y { timer u(3 ns) reaction(startup) {= =} reaction(reset) {= =} reaction(u) {= =} } }
       main reactor { timer t(0, 10 ns)
         initial mode A { i = new Inner() reaction(t) -> i.go, reset(B) {= i.go.set(1)
             B.set() =} }
         mode B { reaction(t) -> history(A) {= A.set() =} } }""",
    """(0, 0) reaction_1 i.go=1
       (0, 0) i.reaction_1 go=1
       (10, 0) reaction_2
       (10, 1) i.reaction_2
       (10, 1) i.reaction_3
       (13, 0) i.reaction_4""",
    timeout=15,
)
define(
    "modes_share_an_output",
    "connections and reactions in different modes may feed one output",
    """reactor Two { input go output out timer step(10 ns)
         initial mode A { e = new Emit() e.out -> out  reaction(step) -> reset(B) {= B.set() =} }
         mode B { f = new Emit() reaction(f.out) -> out {= out.set(-f.out.value) =} } }"""
    + EMIT
    + "main reactor { w = new Two() x = new Take() w.out -> x.inp }",
    """(0, 0) w.e.reaction_1 out=1
       (0, 0) x.reaction_1 inp=1
       (10, 0) w.reaction_1
       (10, 0) w.e.reaction_1 out=2
       (10, 0) x.reaction_1 inp=2
       (10, 1) w.f.reaction_1 out=1
       (10, 1) w.reaction_2 f.out=1 out=-1
       (10, 1) x.reaction_1 inp=-1""",
    timeout=15,
)
define(
    "after_in_a_mode",
    "a value on its way over a delayed connection in a mode waits while the mode is not active",
    """reactor M { timer step(10 ns, 10 ns)
         initial mode A { e = new Emit(period = 100 ns) x = new Take() e.out -> x.inp after 15 ns  reaction(step) -> B {= B.set() =} }
         mode B { reaction(step) -> history(A) {= A.set() =} } }"""
    + EMIT
    + "main reactor { m = new M() }",
    """(0, 0) m.e.reaction_1 out=1
       (10, 0) m.reaction_1
       (20, 0) m.reaction_2
       (25, 0) m.x.reaction_1 inp=1""",
    timeout=29,
)
define(
    "startup_and_reset_of_a_bank_in_a_mode",
    "a mode that is first entered by reset has its reactions to startup and to reset; later it has those to reset alone",
    """reactor In { output o reaction(startup) -> o {= o.set("s") =}
         reaction(reset) -> o {= o.set(("r", o.value if o.is_present else None)) =} }
       main reactor { timer t(10 ns, 10 ns)
         initial mode A { i = new[2] In() reaction(i.o) {= =} reaction(t) -> B {= B.set() =} }
         mode B { j = new In() reaction(j.o) {= =} reaction(t) -> reset(A) {= A.set() =} } }""",
    """(0, 0) i[0].reaction_1 o='s'
       (0, 0) i[1].reaction_1 o='s'
       (0, 0) reaction_1 i[0].o='s' i[1].o='s'
       (10, 0) reaction_2
       (10, 1) j.reaction_1 o='s'
       (10, 1) j.reaction_2 o=('r', 's')
       (10, 1) reaction_3 j.o=('r', 's')
       (20, 0) reaction_4
       (20, 1) i[0].reaction_2 o=('r', None)
       (20, 1) i[1].reaction_2 o=('r', None)
       (20, 1) reaction_1 i[0].o=('r', None) i[1].o=('r', None)""",
    timeout=25,
)
define(
    "a_mode_resets_itself",
    "a mode that a reaction in it enters by reset starts its timers again, and loses its pending actions; state outside it stays",
    """main reactor { timer kick(25 ns, 25 ns) reset state top = 0
         initial mode A { timer t(10 ns, 10 ns) reset state n = 0 logical action a
           reaction(t) -> a {= self.n += 1
             self.top += 1
             a.schedule(12, (self.n, self.top)) =}
           reaction(a) {= =}
           reaction(kick) -> reset(A) {= A.set() =} } }""",
    """(10, 0) reaction_1
       (20, 0) reaction_1
       (22, 0) reaction_2 a=(1, 1)
       (25, 0) reaction_3
       (35, 0) reaction_1
       (45, 0) reaction_1
       (47, 0) reaction_2 a=(1, 3)
       (50, 0) reaction_3""",
    timeout=55,
)
