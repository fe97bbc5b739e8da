"""Writes files of roles: the text of what `placement="auto"` has chosen, with its measurements. rayshim.placement.roles_file reads it."""

import glob
import json
import os
import re
from collections import defaultdict

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def text(profile, why, plan):
    """The file of roles for a run of the program of this Profile.

    Arguments: profile, with the measurements of the run; why, the reason of its placement; plan, that of its packed workers, None: it was isolated.
    Gives "" if there were no actors.
    """
    seconds = defaultdict(dict)  # class -> {actor: seconds that its methods ran}
    for actor, time in profile.seconds.items():
        seconds[actor.rpartition("#")[0]][actor] = time
    plan = plan or {"workers": 0, "groups": [], "alone": []}
    shared = {actor.rpartition("#")[0] for group in plan["groups"] for actor in group} - profile.alone.keys()
    classes = [*seconds, *(name for name in profile.alone if name not in seconds)]
    tables = [_alone(name, seconds[name], profile.alone.get(name)) for name in classes if name not in shared]
    if shared:
        tables.insert(0, _shared(sorted(shared), plan, profile, classes))
    if not tables:
        return ""
    return "\n".join([*_head(profile, why), *(line for table in tables for line in ("", *table)), ""])


def _head(profile, why):
    yield f"# Roles of {os.path.basename(profile.program)}: which actors share processes. `rayshim run --placement FILE SCRIPT` and"
    yield '# init(placement="FILE") read it, the name of which ends with .toml. docs/placement.md has the keys.'
    yield '# placement="auto" writes it at the end of each run. Copy it to edit or commit it.'
    yield f"# The placement of the last run, {_line(profile.chosen or why)}"


def _shared(classes, plan, profile, taken):
    name = "shared"
    while name in taken:
        name += "_"
    apart = [actor for actor in plan["alone"] if actor.rpartition("#")[0] in classes]
    yield f"[roles.{name}]"
    yield f"actors = {_list([glob.escape(one) for one in classes])}"
    yield f"workers = {plan['workers']}"
    yield "together = ["
    for actors in plan["groups"]:
        group = [actor for actor in actors if actor.rpartition("#")[0] in classes]
        yield f"  {_list(group)},  # {_time(sum(profile.seconds.get(actor, 0.0) for actor in group))} in methods"
    yield "]"
    if apart:
        yield f"apart = {_list(apart)}  # a method of theirs was called and did not return"


def _alone(name, seconds, reason):
    actors = f"{len(seconds)} actor{'s' * (len(seconds) != 1)}, {_time(sum(seconds.values()))} in methods"
    yield f"[roles.{name if _BARE.fullmatch(name) else _quoted(name)}]  # {actors}"
    yield f"actors = {_quoted(glob.escape(name))}"
    yield f"alone = true{f'  # it {_line(reason)}' if reason else ''}"


def _time(seconds):
    return f"{seconds:.3g} s"


def _list(names):
    return f"[{', '.join(map(_quoted, names))}]"


def _quoted(name):
    return json.dumps(name, ensure_ascii=False)  # strings of JSON are strings of TOML


def _line(text):
    return " ".join(text.split())
