"""The rows of COVERAGE.md: each public name of the installed Ray, what rayshim has of it, and the test that states its rule."""

import warnings
from collections import Counter
from dataclasses import dataclass

from compat_tests.coverage import frameworks, names, reasons, tests


@dataclass(frozen=True)
class Row:
    """`state` is "same", "missing" or what differs in the parameters; `test` the test that uses the name, None without; `reason` why it is
    missing or has none, None where nobody has said."""

    name: names.Name
    state: str
    test: str | None
    reason: str | None


def rows():
    """The Rows, in the order of Ray's modules."""
    found, of_tests = [], tests.all_tests()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        public = names.public_names()
        times = Counter(full.rpartition(".")[2] for full, name in public.items() if not name.same_as)
        for name in public.values():
            state = compared(name)
            unique = times[name.full.rpartition(".")[2]] == 1 and "_" in name.full.rpartition(".")[2]
            test = None if state == "missing" else tests.best(name, of_tests, unique)
            same = name.same_as and state != "missing" and f"the same as `{name.same_as}`"
            found.append(Row(name, state, None if same else test, same or (None if test else reasons.reason(name.full))))
    return found


def compared(name):
    """What rayshim has of a Name: see Row.state."""
    try:
        ours = names.counterpart(name)
    except (ImportError, AttributeError):
        return "missing"
    if not name.parameters or not callable(ours):
        return "same"
    own = names.parameters(ours)
    if own is None:
        return "same"  # native: it does not tell
    given = {parameter: default for parameter, _, default in own}
    takes_all = {kind for _, kind, _ in own}
    absent = [
        parameter
        for parameter, kind, _ in name.parameters
        if parameter not in given and kind not in ("VAR_KEYWORD", "VAR_POSITIONAL") and "VAR_KEYWORD" not in takes_all
    ]
    if name.kind == "class" and absent:
        return f"made by rayshim itself; its own constructor has no {', '.join(absent)}"
    return f"without {', '.join(absent)}" if absent else "same"


def text():
    """COVERAGE.md."""
    found = rows()
    missing = [row for row in found if row.state == "missing"]
    tested = [row for row in found if row.test]
    used = {name: who for name, who in frameworks.read_list().items() if frameworks.in_ray(name)}
    lacking = {name: who for name, who in used.items() if frameworks.resolve("rayshim", name)[1]}
    lines = [
        "# Coverage of Ray's reference",
        "",
        "Made by `python -m compat_tests.coverage` from the installed Ray; test_coverage.py fails where a name has no row. The test of a row is the one of",
        "compat_tests that uses the name and is nearest to it by name; its parameters are compared by name and stand in the row of their function.",
        "",
        (f"{len(found)} public names; rayshim has {len(found) - len(missing)}; {len(tested)} are used in a test; "
        f"{sum(not row.test and row.reason is None for row in found)} have neither a test nor a reason."),
        "",
        f"Of the {len(used)} names of Ray's that nine frameworks for reinforcement learning use (verl, OpenRLHF, slime, SkyRL, ROLL, NeMo-RL, AReaL, RLinf,",
        f"xtuner; frameworks.txt), rayshim has {len(used) - len(lacking)}. "
        + ("It lacks:" if lacking else ""),
        "",
        *(f"- `{name}` ({', '.join(who)}): {reasons.of_frameworks(name)}" for name, who in sorted(lacking.items())),
    ]
    module = None
    for row in found:
        if row.name.module != module:
            module = row.name.module
            lines += ["", f"## {module}", "", "| name | parameters | here | test, or why there is none |", "|---|---|---|---|"]
        parameters = ", ".join(parameter for parameter, _, _ in row.name.parameters or ())
        told = f"`{row.test}`" if row.test else row.reason or "none yet"
        lines.append(f"| `{row.name.full}` | {parameters} | {row.state} | {told} |")
    return "\n".join(lines) + "\n"
