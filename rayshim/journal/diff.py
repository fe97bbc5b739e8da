"""`rayshim diff RUN1 RUN2`: the first operation at which two recorded runs differ."""

from collections import namedtuple

from rayshim.journal import files

Difference = namedtuple("Difference", "tag what site one two")
Difference.__doc__ = """tag: of the call, a tuple; what: "Class.method of actor ORDINAL, call N" or the task's name; site: "file:line" where it was made;
one, two: what the two runs have there, text."""


def first(one, two):
    """The first Difference, in the programs' serial order, between the records at the paths `one` and `two`; None: there is none."""
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
    return Difference(tag, what, a.sites.get(tag) or b.sites.get(tag) or "?", _told(x, a), _told(y, b))


def _when(difference):
    """Where in the serial run it shows: where the call begins if it was given something else, else where it ends, after all that it called."""
    tag, _, x, y = difference
    given = x is None or y is None or (x["name"], x["args"]) != (y["name"], y["args"])
    return tag if given else (*tag, float("inf"))


class _Run:
    def __init__(self, path):
        self.actors, self.tasks, self.sites = {}, {}, {}
        for line in files.lines(path):
            if "made" in line:
                self.sites[tuple(line["made"])] = line["site"]
            elif "ran" in line and line["actor"] is not None:
                self.actors.setdefault(line["actor"], []).append(line)
            elif "ran" in line:
                self.tasks[tuple(line["ran"])] = line


def _told(call, run):
    if call is None:
        return "no such call"
    return f"{call['name']}({', '.join(call['args'])}) -> {call['value']}, made at {run.sites.get(tuple(call['ran']), '?')}"


def main(one, two, out):
    """Prints the first difference to `out`; 0: there is none, 1: there is one, as diff does."""
    found = first(one, two)
    if found is None:
        print("the two runs did the same", file=out)
        return 0
    print(
        f"the runs differ first at {found.what} (made at {found.site}, tag {'.'.join(map(str, found.tag))}):", file=out
    )
    print(f"  {one}: {found.one}\n  {two}: {found.two}", file=out)
    return 1
