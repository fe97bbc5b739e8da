"""The command `rayshim profile`: shows and deletes what `placement="auto"` has measured."""

import os
import statistics

from rayshim.cli import parsers
from rayshim.placement import profile as profiles


def main(argv):
    """Runs `rayshim profile show|clear [SCRIPT...]`. Returns the exit status: 1 if there is no such profile."""
    parser = parsers.Parser(
        prog="rayshim profile",
        description='Shows or deletes the profiles of programs. A profile has the measurements that `init(placement="auto")` made in earlier runs, and '
        f"the placement that it chose. Profiles are files in {profiles.folder()}, each with a file of roles that can be copied, edited and given to --placement.",
        epilog="example:\n  rayshim run --placement auto train.py; rayshim profile show train.py",
    )
    parser.add_argument(
        "action",
        choices=("show", "clear"),
        help="show: print the measurements and the choice; clear: delete them, so that the next run measures again",
    )
    parser.add_argument(
        "scripts", nargs="*", metavar="SCRIPT", help="main scripts of the programs; default: all that have a profile"
    )
    wanted = parser.parse_args(argv)
    if wanted.action == "clear":
        count = profiles.clear(wanted.scripts)
        print(f"{count} profile{'s' * (count != 1)} deleted")
        return 0 if count else 1
    found = profiles.stored(wanted.scripts)
    for profile in found:
        print("\n".join(lines(profile)))
    if not found:
        print(
            f"no profile in {profiles.folder()} for {', '.join(wanted.scripts) or 'any program'}: `rayshim run --placement auto SCRIPT` makes one"
        )
    return 0 if found else 1


def lines(profile):
    """The text for one Profile."""
    state = (
        ""
        if os.path.isfile(profile.program) and profiles.version_of(profile.program) == profile.version
        else "; the script has changed since"
    )
    yield f"{profile.program} ({profiles.path_of(profile.program)}{state})"
    yield f"  last run: {profile.chosen}"
    for placement, runs in profile.runs.items():
        rates = [sum(s for _, s in run.values()) for run in runs if run]
        time = f", {statistics.median(rates):.3g} s in repeated patterns of the driver" if rates else ""
        yield f"  {placement}: {len(runs)} run{'s' * (len(runs) != 1)} measured{time}"
    yield f"  {len(profile.seconds)} actors in the last run"
    if (roles := profiles.roles_path_of(profile.program)).is_file():
        yield f"  its placement as a file of roles, for --placement: {roles}"
    for name, reason in profile.alone.items():
        yield f"  each actor of {name} has a process of its own: it {reason}"
