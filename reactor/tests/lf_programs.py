"""Small Lingua Franca programs, each for one rule, with the trace that the rule asks for: worked out by hand, not recorded.

An entry of a trace is "(nanoseconds, microstep) reactor.reaction what=value ..."; the topmost reactor is left out.
"""

from typing import NamedTuple


class Written(NamedTuple):
    """A program. `trace`: one line per reaction that runs. The text comes after "target Python"."""

    rule: str
    text: str
    trace: str
    settings: dict = {}  # noqa: RUF012


PROGRAMS = {}


def define(name, rule, text, trace, **settings):
    PROGRAMS[name] = Written(rule, text, trace, settings)


EMIT = """
reactor Emit(period=10 ns) {
  output out
  timer t(0, period)
  state n = 0
  reaction(t) -> out {=
    self.n += 1
    out.set(self.n)
  =}
}
reactor Take { input inp  reaction(inp) {= =} }
"""

define(
    "startup_and_starvation",
    "startup is the first tag; with nothing left, shutdown comes one microstep after the last event",
    "main reactor { reaction(startup) {= =} reaction(shutdown) {= =} }",
    """(0, 0) reaction_1
       (0, 1) reaction_2""",
)
define(
    "timeout",
    "events at the timeout still run, together with shutdown, and nothing after it",
    "main reactor { timer t(0, 10 ns) reaction(t) {= =} reaction(shutdown) {= =} }",
    """(0, 0) reaction_1
       (10, 0) reaction_1
       (20, 0) reaction_1
       (20, 0) reaction_2""",
    timeout=20,
)
define(
    "timeout_microstep",
    "an event at the time of the timeout but at a later microstep does not run",
    """main reactor { timer t(20 ns) logical action a
         reaction(t) -> a {= a.schedule(0) =} reaction(a) {= =} reaction(shutdown) {= =} }""",
    """(20, 0) reaction_1
       (20, 0) reaction_3""",
    timeout=20,
)
define(
    "request_stop",
    "shutdown comes one microstep after request_stop, whatever is left",
    "main reactor { timer t(0, 10 ns) state n = 0 "
    "reaction(t) {= self.n += 1\n if self.n == 2: request_stop() =} reaction(shutdown) {= =} }",
    """(0, 0) reaction_1
       (10, 0) reaction_1
       (10, 1) reaction_2""",
)
define(
    "declaration_order",
    "reactions of one reactor at one tag run in the order of their declaration, whatever triggers them",
    "main reactor { timer t(5 ns) timer u(5 ns) reaction(u) {= =} reaction(t) {= =} reaction(t, u) {= =} }",
    """(5, 0) reaction_1
       (5, 0) reaction_2
       (5, 0) reaction_3""",
)
define(
    "order_of_triggers_within_a_reactor",
    "a reaction that its own reactor's earlier reaction triggers through another reactor still runs after it, and once",
    """reactor Pass { input inp output out reaction(inp) -> out {= out.set(inp.value + 1) =} }
       main reactor { p = new Pass() timer t
         reaction(t) -> p.inp {= p.inp.set(1) =} reaction(t, p.out) {= =} }""",
    """(0, 0) reaction_1 p.inp=1
       (0, 0) p.reaction_1 inp=1 out=2
       (0, 0) reaction_2 p.out=2""",
)
define(
    "diamond",
    "a reaction with several triggers runs once, after all that may set them",
    """reactor Pass { input inp output out reaction(inp) -> out {= out.set(inp.value * 2) =} }
       reactor Join { input a input b reaction(a, b) {= =} }
       main reactor { p = new Pass() q = new Pass() r = new Pass() j = new Join() timer t
         reaction(t) -> p.inp, q.inp {= p.inp.set(1)
           q.inp.set(5) =}
         p.out -> r.inp  r.out -> j.a  q.out -> j.b }""",
    """(0, 0) reaction_1 p.inp=1 q.inp=5
       (0, 0) p.reaction_1 inp=1 out=2
       (0, 0) q.reaction_1 inp=5 out=10
       (0, 0) r.reaction_1 inp=2 out=4
       (0, 0) j.reaction_1 a=4 b=10""",
)
define(
    "absent_ports",
    "a port is present only at the tags at which it is set, and keeps its value",
    """reactor Seldom { input inp output out
         reaction(inp) -> out {= if inp.value % 2: out.set(inp.value) =} }
       reactor Both { input a input b output seen reaction(a) b -> seen {= seen.set((b.is_present, b.value)) =} }"""
    + EMIT
    + "main reactor { e = new Emit() s = new Seldom() b = new Both() e.out -> s.inp  e.out -> b.a  s.out -> b.b }",
    """(0, 0) e.reaction_1 out=1
       (0, 0) s.reaction_1 inp=1 out=1
       (0, 0) b.reaction_1 a=1 b=1 seen=(True, 1)
       (10, 0) e.reaction_1 out=2
       (10, 0) s.reaction_1 inp=2
       (10, 0) b.reaction_1 a=2 seen=(False, 1)""",
    timeout=10,
)
define(
    "sources_do_not_trigger",
    "a port that a reaction only reads does not trigger it",
    """reactor R { input a timer t(10 ns) reaction(t) a {= =} }
       main reactor { r = new R() reaction(startup) -> r.a {= r.a.set(1) =} }""",
    """(0, 0) reaction_1 r.a=1
       (10, 0) r.reaction_1""",
)
define(
    "last_value_wins",
    "a port that is set twice at one tag has the last value, over delayed connections too",
    """reactor Two { output out reaction(startup) -> out {= out.set(1) =} reaction(startup) -> out {= out.set(2) =} }"""
    + EMIT
    + "main reactor { w = new Two() x = new Take() y = new Take() w.out -> x.inp  w.out -> y.inp after 7 ns }",
    """(0, 0) w.reaction_1 out=1
       (0, 0) w.reaction_2 out=2
       (0, 0) x.reaction_1 inp=2
       (7, 0) y.reaction_1 inp=2""",
)
define(
    "after",
    "a value over a connection with `after` arrives that much later, at microstep 0",
    EMIT + "main reactor { e = new Emit() x = new Take() e.out -> x.inp after 25 ns }",
    """(0, 0) e.reaction_1 out=1
       (10, 0) e.reaction_1 out=2
       (20, 0) e.reaction_1 out=3
       (25, 0) x.reaction_1 inp=1
       (30, 0) e.reaction_1 out=4""",
    timeout=30,
)
define(
    "after_zero",
    "`after 0` is one microstep",
    EMIT + "main reactor { e = new Emit() x = new Take() y = new Take() e.out -> x.inp after 0  e.out -> y.inp }",
    """(0, 0) e.reaction_1 out=1
       (0, 0) y.reaction_1 inp=1
       (0, 1) x.reaction_1 inp=1
       (10, 0) e.reaction_1 out=2
       (10, 0) y.reaction_1 inp=2""",
    timeout=10,
)
define(
    "after_breaks_a_loop",
    "a loop with a delay is no causality loop",
    """reactor Inc { input inp output out reaction(startup) -> out {= out.set(0) =}
         reaction(inp) -> out {= if inp.value < 2: out.set(inp.value + 1) =} }
       main reactor { i = new Inc() i.out -> i.inp after 0 }""",
    """(0, 0) i.reaction_1 out=0
       (0, 1) i.reaction_2 inp=0 out=1
       (0, 2) i.reaction_2 inp=1 out=2
       (0, 3) i.reaction_2 inp=2""",
)
define(
    "after_chain",
    "delays in a row add up",
    EMIT
    + """reactor Relay { input inp output out reaction(inp) -> out {= out.set(inp.value) =} }
       reactor Box { input inp output out r = new Relay() inp -> r.inp after 3 ns  r.out -> out after 4 ns }
       main reactor { e = new Emit(period = 100 ns) b = new Box() x = new Take() e.out -> b.inp  b.out -> x.inp after 5 ns }""",
    """(0, 0) e.reaction_1 out=1
       (3, 0) b.r.reaction_1 inp=1 out=1
       (12, 0) x.reaction_1 inp=1""",
    timeout=50,
)
define(
    "logical_action",
    "a logical action comes at the current time plus its minimum delay plus the extra delay; no delay is a microstep",
    """main reactor { logical action a(3 ns) logical action b
         reaction(startup) -> a, b {= a.schedule(4, "late")
           b.schedule(0, "soon") =}
         reaction(a) {= =} reaction(b) {= =} }""",
    """(0, 0) reaction_1
       (0, 1) reaction_3 b='soon'
       (7, 0) reaction_2 a='late'""",
)
define(
    "actions_pile_up",
    "an action scheduled twice for one tag comes twice, a microstep apart",
    """main reactor { logical action a
         reaction(startup) -> a {= a.schedule(5, 1)
           a.schedule(5, 2)
           a.schedule(0, 3)
           a.schedule(0, 4) =}
         reaction(a) {= =} }""",
    """(0, 0) reaction_1
       (0, 1) reaction_2 a=3
       (0, 2) reaction_2 a=4
       (5, 0) reaction_2 a=1
       (5, 1) reaction_2 a=2""",
)
for _policy, _events in {
    "defer": "(3, 0) reaction_2 a=0\n(13, 0) reaction_2 a=1\n(23, 0) reaction_2 a=2",
    "drop": "(3, 0) reaction_2 a=0",
    "replace": "(3, 0) reaction_2 a=2",
    "update": "(5, 0) reaction_2 a=2",
}.items():
    define(
        f"spacing_{_policy}",
        f"of events nearer than the minimum spacing, with policy {_policy}",
        f"""main reactor {{ logical action a(3 ns, 10 ns, "{_policy}")
             reaction(startup) -> a {{= for k in range(3): a.schedule(k, k) =}}
             reaction(a) {{= =}} }}""",
        "(0, 0) reaction_1\n" + _events,
    )
define(
    "spacing_after_it_was_handled",
    "an event that is too near to one that was handled is deferred, with policy replace too",
    """main reactor { timer t(0, 4 ns) logical action a(0, 10 ns, "replace") state n = 0
         reaction(t) -> a {= self.n += 1
           a.schedule(1, self.n) =}
         reaction(a) {= =} }""",
    """(0, 0) reaction_1
       (1, 0) reaction_2 a=1
       (4, 0) reaction_1
       (8, 0) reaction_1
       (11, 0) reaction_2 a=3
       (12, 0) reaction_1""",
    timeout=12,
)
define(
    "spacing_zero",
    "a spacing of 0 is one microstep",
    """main reactor { logical action a(5 ns, 0) reaction(startup) -> a {= a.schedule(0, 1)
           a.schedule(0, 2) =} reaction(a) {= =} }""",
    """(0, 0) reaction_1
       (5, 0) reaction_2 a=1
       (5, 1) reaction_2 a=2""",
)
define(
    "timers",
    "a timer fires at its offset, then each period; without a period once",
    """main reactor(p=20 ns) { timer once timer late(15 ns) timer often(5 ns, p)
         reaction(once) {= =} reaction(late) {= =} reaction(often) {= =} }""",
    """(0, 0) reaction_1
       (5, 0) reaction_3
       (15, 0) reaction_2
       (25, 0) reaction_3
       (45, 0) reaction_3""",
    timeout=50,
)
define(
    "mutable_copies",
    "a mutable input is the reaction's own copy; other readers and later reactions see the original",
    """reactor Spoil { mutable input inp output out
         reaction(inp) -> out {= inp.value.append(1)
           out.set(len(inp.value)) =}
         reaction(inp) -> out {= out.set(list(inp.value)) =} }
       reactor Look { input inp input go reaction(go) inp {= =} }
       main reactor { s = new Spoil() l = new Look() reaction(startup) -> s.inp, l.inp {= v = [0]
           s.inp.set(v)
           l.inp.set(v) =} s.out -> l.go }""",
    """(0, 0) reaction_1 s.inp=[0] l.inp=[0]
       (0, 0) s.reaction_1 inp=[0] out=2
       (0, 0) s.reaction_2 inp=[0] out=[0]
       (0, 0) l.reaction_1 go=[0] inp=[0]""",
)
define(
    "parameters",
    "parameters are passed down, defaults are evaluated per instance, state may use them",
    """reactor Leaf(a=1, b=[]) { output out state s = a
         reaction(startup) -> out {= self.b.append(self.s)
           out.set((self.a, self.b)) =} }
       reactor Mid(m=2) { leaf = new Leaf(a=m) }
       main reactor(top=7) { x = new Mid(m=top) y = new Mid() z = new Leaf(b = {= [self.top] =}) }""",
    """(0, 0) x.leaf.reaction_1 out=(7, [7])
       (0, 0) y.leaf.reaction_1 out=(2, [2])
       (0, 0) z.reaction_1 out=(1, [7, 1])""",
)
define(
    "banks_and_multiports",
    "banks connect member by member, each with all its channels; interleaved goes channel by channel; (x)+ repeats",
    """reactor Src(bank_index=0) { output[2] out reaction(startup) -> out {= for k, p in enumerate(out): p.set(self.bank_index * 10 + k) =} }
       reactor Sink(width=2) { input[width] inp reaction(inp) {= =} }
       main reactor(n=2) { s = new[n] Src() b = new[n] Sink() f = new Sink(width=4) g = new Sink(width = {= 5 =})
         s.out -> b.inp
         interleaved(s.out) -> f.inp
         (s.out)+ -> g.inp }""",
    """(0, 0) s[0].reaction_1 out[0]=0 out[1]=1
       (0, 0) s[1].reaction_1 out[0]=10 out[1]=11
       (0, 0) b[0].reaction_1 inp[0]=0 inp[1]=1
       (0, 0) b[1].reaction_1 inp[0]=10 inp[1]=11
       (0, 0) f.reaction_1 inp[0]=0 inp[1]=10 inp[2]=1 inp[3]=11
       (0, 0) g.reaction_1 inp[0]=0 inp[1]=1 inp[2]=10 inp[3]=11 inp[4]=0""",
)
define(
    "some_channels",
    "one channel of a multiport is enough to trigger, once",
    """reactor Src { output[3] out reaction(startup) -> out {= out[0].set(1)
           out[2].set(3) =} }
       reactor Sink { input[3] inp output seen reaction(inp) -> seen {= seen.set((inp.width, inp.present)) =} }
       reactor Box { s = new Src() t = new Sink() s.out -> t.inp }
       main reactor { b = new Box() }""",
    """(0, 0) b.s.reaction_1 out[0]=1 out[2]=3
       (0, 0) b.t.reaction_1 inp[0]=1 inp[2]=3 seen=(3, [0, 2])""",
)
define(
    "container_and_bank_members",
    "a container's reaction sets ports of a bank's members, and reads them",
    """reactor Echo { input inp output out reaction(inp) -> out {= out.set(-inp.value) =} }
       main reactor { e = new[3] Echo()
         reaction(startup) -> e.inp {= for k in (0, 2): e[k].inp.set(k + 1) =}
         reaction(e.out) {= =} }""",
    """(0, 0) reaction_1 e[0].inp=1 e[2].inp=3
       (0, 0) e[0].reaction_1 inp=1 out=-1
       (0, 0) e[2].reaction_1 inp=3 out=-3
       (0, 0) reaction_2 e[0].out=-1 e[2].out=-3""",
)
define(
    "inheritance",
    "what is inherited comes first, once; parameters are overridden; methods and preambles are shared",
    """reactor Base(n=1) { preamble {= import math =} input inp output out
         method twice(x) {= return 2 * x =}
         reaction(inp) -> out {= out.set(self.twice(inp.value) + self.n) =} }
       reactor Left extends Base { } reactor Right(n=100) extends Base { }
       reactor Both extends Left, Right { output more reaction(inp) -> more {= more.set(self.math.floor(2.5)) =} }
       main reactor { b = new Both() reaction(startup) -> b.inp {= b.inp.set(4) =} }""",
    """(0, 0) reaction_1 b.inp=4
       (0, 0) b.reaction_1 inp=4 out=108
       (0, 0) b.reaction_2 inp=4 more=2""",
)
define(
    "deadline_first",
    "of reactions that do not wait for each other, those with the nearer deadline run first, and what they wait for too",
    """reactor Plain { timer t reaction(t) {= =} }
       reactor Near { timer t reaction(t) {= =} reaction(t) {= =} deadline(10 s) {= =} }
       reactor Nearer { timer t reaction(t) {= =} deadline(5 s) {= =} }
       main reactor { a = new Plain() b = new Near() c = new Nearer() }""",
    """(0, 0) c.reaction_1
       (0, 0) b.reaction_1
       (0, 0) b.reaction_2
       (0, 0) a.reaction_1""",
)
define(
    "deadline_zero",
    "a deadline of 0 is always missed: its handler runs in place of the reaction",
    """main reactor { output out timer t(1 s) reaction(t) -> out {= out.set("in time") =} deadline(0) {= out.set("late") =} }""",
    "(1000000000, 0) reaction_1 out='late'",
)
define(
    "deadline_met",
    "a deadline that is met changes nothing",
    """main reactor { output out timer t(1 s) reaction(t) -> out {= out.set("in time") =} deadline(1 ns) {= out.set("late") =} }""",
    "(1000000000, 0) reaction_1 out='in time'",
)
define(
    "tags_in_reactions",
    "a reaction sees its own tag",
    """main reactor { logical action a output out
         reaction(startup, a) -> a, out {= out.set((lf.time.logical_elapsed(), lf.tag().microstep))
           if lf.tag().microstep < 2: a.schedule(0)
           elif lf.time.logical_elapsed() < 3: a.schedule(3) =} }""",
    """(0, 0) reaction_1 out=(0, 0)
       (0, 1) reaction_1 a=None out=(0, 1)
       (0, 2) reaction_1 a=None out=(0, 2)
       (3, 0) reaction_1 a=None out=(3, 0)
       (3, 1) reaction_1 a=None out=(3, 1)
       (3, 2) reaction_1 a=None out=(3, 2)""",
)
define(
    "bank_index",
    "each reactor has a bank_index, 0 outside of banks; expressions for parameters and state can use it",
    """reactor A(x = {= bank_index + 10 =}) { output out state s = {= self.bank_index * 2 =}
         reaction(startup) -> out {= out.set((self.bank_index, self.x, self.s)) =} }
       main reactor { a = new A() b = new[2] A() c = new A(x = {= bank_index =}) d = new[2] A(x = {= bank_index + 5 =}) }""",
    """(0, 0) a.reaction_1 out=(0, 10, 0)
       (0, 0) b[0].reaction_1 out=(0, 10, 0)
       (0, 0) b[1].reaction_1 out=(1, 11, 2)
       (0, 0) c.reaction_1 out=(0, 0, 0)
       (0, 0) d[0].reaction_1 out=(0, 5, 0)
       (0, 0) d[1].reaction_1 out=(1, 6, 2)""",
)
define(
    "underlying_attributes",
    "the attribute of a parameter with _ before its name can be assigned, too, unless the reactor has such a name of its own",
    """reactor A(x=1, y=2) { output out state _y = 7
         reaction(startup) -> out {= self._x += self._bank_index; self._y += 1; out.set((self.x, self._x, self.y, self._y)) =} }
       main reactor { a = new[2] A(x=5) }""",
    """(0, 0) a[0].reaction_1 out=(5, 5, 2, 8)
       (0, 0) a[1].reaction_1 out=(6, 6, 2, 8)""",
)
define(
    "no_triggers",
    "a reaction that names no trigger reacts to each input",
    """reactor R { input a input b reaction() {= =} }
       main reactor { r = new R() timer t(10 ns)
         reaction(startup) -> r.a {= r.a.set(1) =} reaction(t) -> r.b {= r.b.set(2) =} }""",
    """(0, 0) reaction_1 r.a=1
       (0, 0) r.reaction_1 a=1
       (10, 0) reaction_2 r.b=2
       (10, 0) r.reaction_1 b=2""",
)
define(
    "state_beside_a_port",
    "state is an attribute of self, so a port may have its name",
    """main reactor { output n state n = 3 reaction(startup) -> n {= n.set(self.n) =} }""",
    "(0, 0) reaction_1 n=3",
)
define(
    "policies_within_a_microstep",
    "with a spacing of 0, drop keeps the first of several events, replace gives the pending one the last value",
    """main reactor { logical action a(0, 0, "drop") logical action b(0, 0, "replace")
         reaction(startup) -> a, b {= for k in (1, 2, 3):
           a.schedule(0, k)
           b.schedule(0, k) =}
         reaction(a) {= =} reaction(b) {= =} }""",
    """(0, 0) reaction_1
       (0, 1) reaction_2 a=1
       (0, 1) reaction_3 b=3""",
)
define(
    "replace_what_is_pending",
    "replace gives a pending event that is too near the new value; where that was handled, the new event is deferred",
    """main reactor { logical action a(0, 10 ns, "replace") state n = 0
         reaction(startup) -> a {= a.schedule(100, "x")
           a.schedule(99, "y") =}
         reaction(a) -> a {= self.n += 1
           if self.n == 1: a.schedule(5, "z") =} }""",
    """(0, 0) reaction_1
       (100, 0) reaction_2 a='y'
       (110, 0) reaction_2 a='z'""",
)
define(
    "broadcast_of_a_list",
    "(a, interleaved(b))+ repeats the whole list; widthof a port of a bank counts the channels of all members",
    """reactor Src(n=2, base=0) { output[n] out reaction(startup) -> out {= for k, p in enumerate(out): p.set(self.base + k) =} }
       reactor X { output o reaction(startup) -> o {= o.set("x") =} }
       reactor W(width=1) { input[width] inp reaction(inp) {= =} }
       main reactor { s = new[2] Src(base = {= 10 * bank_index =}) x = new X() w = new[2] W(width=5) d = new[widthof(s.out)] W()
         (x.o, interleaved(s.out))+ -> w.inp
         s.out -> d.inp }""",
    """(0, 0) s[0].reaction_1 out[0]=0 out[1]=1
       (0, 0) s[1].reaction_1 out[0]=10 out[1]=11
       (0, 0) x.reaction_1 o='x'
       (0, 0) w[0].reaction_1 inp[0]='x' inp[1]=0 inp[2]=10 inp[3]=1 inp[4]=11
       (0, 0) w[1].reaction_1 inp[0]='x' inp[1]=0 inp[2]=10 inp[3]=1 inp[4]=11
       (0, 0) d[0].reaction_1 inp[0]=0
       (0, 0) d[1].reaction_1 inp[0]=1
       (0, 0) d[2].reaction_1 inp[0]=10
       (0, 0) d[3].reaction_1 inp[0]=11""",
)
define(
    "inheritance_by_two_ways",
    "what comes from a common base comes once; the nearest class gives a method or parameter, and an argument overrides it",
    """reactor A(p = 1) { input i output o state log = [] method say(x) {= return f"A{x}" =}
         reaction(i) -> o {= self.log.append(self.say(self.p)) =} }
       reactor B extends A { reaction(i) -> o {= self.log.append("b") =} }
       reactor C(p = 7) extends A { method say(x) {= return f"C{x}" =} reaction(i) -> o {= self.log.append("c") =} }
       reactor D(p = 9) extends B, C { reaction(i) -> o {= o.set([*self.log, "d"]) =} }
       main reactor { d = new D() e = new D(p = 2) reaction(startup) -> d.i, e.i {= d.i.set(1)
         e.i.set(1) =} reaction(d.o, e.o) {= =} }""",
    """(0, 0) reaction_1 d.i=1 e.i=1
       (0, 0) d.reaction_1 i=1
       (0, 0) e.reaction_1 i=1
       (0, 0) d.reaction_2 i=1
       (0, 0) e.reaction_2 i=1
       (0, 0) d.reaction_3 i=1
       (0, 0) e.reaction_3 i=1
       (0, 0) d.reaction_4 i=1 o=['C9', 'b', 'c', 'd']
       (0, 0) e.reaction_4 i=1 o=['C2', 'b', 'c', 'd']
       (0, 0) reaction_2 d.o=['C9', 'b', 'c', 'd'] e.o=['C2', 'b', 'c', 'd']""",
)
