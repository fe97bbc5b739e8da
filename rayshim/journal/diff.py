"""`rayshim diff RUN1 RUN2`: the first call that differs between two recorded runs."""

from collections import namedtuple

from reactor.printable import printable

from rayshim.journal import files
from rayshim.journal.checking import call_text

Difference = namedtuple("Difference", "tag what site one two")
Difference.__doc__ = """tag: of the call, a tuple; what: "Class.method of actor ORDINAL, call N" or the task's name; site: "file:line" where it was made;
one, two: what the two runs have there, text."""


def first(one, two):
    """The first Difference, in the program's serial order, between the journals at the paths `one` and `two`; None if there is none."""
    a, b = _Run(one), _Run(two)
    found = []
    for actor in {*a.actors, *b.actors}:
        mine, other = a.actors.get(actor, []), b.actors.get(actor, [])
        for n in range(max(len(mine), len(other))):
            x, y = (calls[n] if n < len(calls) else None for calls in (mine, other))
            if x is None or y is None or (x["name"], x["digest"]) != (y["name"], y["digest"]):
                call = x or y
                found.append((tuple(call["ran"]), f"{call['class']}.{call['name']} of actor {actor}, call {n}", x, y))
                break
    for tag in {*a.tasks, *b.tasks}:
        x, y = a.tasks.get(tag), b.tasks.get(tag)
        if x is None or y is None or (x["name"], x["digest"]) != (y["name"], y["digest"]):
            found.append((tag, f"task {(x or y)['name']}", x, y))
    if not found:
        return None
    tag, what, x, y = min(found, key=_when)
    return Difference(
        tag, what, a.call_sites.get(tag) or b.call_sites.get(tag) or "?", _text_with_site(x, a), _text_with_site(y, b)
    )


def _when(difference):
    """The place of a difference in the serial run: the start of the call if its arguments differ, otherwise its end, after all calls that it made."""
    tag, _, x, y = difference
    given = x is None or y is None or (x["name"], x["args"]) != (y["name"], y["args"])
    return tag if given else (*tag, float("inf"))


class _Run:
    def __init__(self, path):
        self.actors, self.tasks, self.call_sites = {}, {}, {}
        for line in files.lines(path):
            if "made" in line:
                self.call_sites[tuple(line["made"])] = line["site"]
            elif "ran" in line and line["actor"] is not None:
                self.actors.setdefault(line["actor"], []).append(line)
            elif "ran" in line:
                self.tasks[tuple(line["ran"])] = line


def _text_with_site(call, run):
    if call is None:
        return "no such call"
    return f"{call_text(call)}, called at {run.call_sites.get(tuple(call['ran']), '?')}"


def main(one, two, out):
    """Prints the first difference to `out`. Returns the exit status, as diff does: 0 if there is no difference, else 1."""
    found = first(one, two)
    if found is None:
        print("the two runs are equal", file=out)
        return 0
    print(
        f"the first difference is at {printable(found.what)} (called at {printable(found.site)}, tag {'.'.join(map(str, found.tag))}):",
        file=out,
    )
    print(f"  {printable(one)}: {printable(found.one)}\n  {printable(two)}: {printable(found.two)}", file=out)
    return 1
