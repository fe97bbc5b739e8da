"""`placement="auto"`: the placement that was faster in earlier runs of the program. The choice is a pure function of the program's profile.

The first run is isolated. The second is packed, if many actors can share processes. Later runs have the placement in which the driver's patterns took
less time. Results do not depend on the choice, because actors that others in their process could notice get their own process (habits.py).
Beside the profile is a file of roles, with which another run has the placement of the last one.
"""

import os
import statistics
import sys
from dataclasses import dataclass

from reactor.runtime.processes import control_groups

from rayshim.placement import profile as profiles
from rayshim.placement import roles_text
from rayshim.placement.packed import packed
from rayshim.session import session
from rayshim.session.settings import Automatic

_GAIN = 1.03  # packed is chosen only if it was faster by this
_LAST_ANSWER_SECONDS = 0.3  # for which a busy worker may delay the end, until it hands over its recording


@dataclass(frozen=True)
class Choice:
    """The choice for a run: `placement` is "isolated" or a Shared; `why` is for the user."""

    placement: object
    why: str


@dataclass(frozen=True)
class Shared(packed):
    """Packed placement with groups from a profile."""

    profile: profiles.Profile | None = None

    def plan(self):
        from reactor.placement import Measured, group

        assert self.profile is not None
        workers = self.workers or control_groups.cores()
        traffic = {(a, b): size for a, b, size in self.profile.traffic}
        alone = [a for a in self.profile.seconds if not _may_share(self.profile, a)]
        groups = group(Measured(self.profile.seconds, traffic), workers, alone)
        return {"workers": workers, "groups": groups, "alone": alone}


def choose(profile, cores):
    """The Choice for the next run of a program with this Profile on a machine with so many cores."""
    if not profile.runs.get("isolated"):
        return Choice("isolated", "nothing is known of this program yet; this run measures it")
    able = [actor for actor in profile.seconds if _may_share(profile, actor)]
    if len(able) <= cores:
        return Choice("isolated", f"{len(able)} actors can share a process, which is not more than the {cores} cores")
    shared = Shared(cores, profile=profile)
    if not profile.runs.get("packed"):
        return Choice(shared, f"{len(able)} actors can share {cores} processes; this run measures how fast that is")
    found = compare(profile.runs["isolated"], profile.runs["packed"])
    if found is None:
        return Choice("isolated", "earlier runs have no repeated pattern of the driver in common")
    gain, patterns = found
    text = f"in {patterns} repeated patterns of the driver, packed was {gain:.2f} times as fast as isolated"
    return Choice(shared if gain > _GAIN else "isolated", text)


def compare(isolated, packed):
    """(how many times as fast packed runs were, number of patterns compared); None without a pattern that both have.

    Each pattern's time is the median over the runs of its mean; patterns count by their times and how often they ran.
    """
    a, b = _means(isolated), _means(packed)
    both = a.keys() & b.keys()
    if not both:
        return None
    first, second = (sum(means[key][1] * a[key][0] for key in both) for means in (a, b))
    return (first / second if second else 1.0), len(both)


def _means(runs):
    found = {}
    for run in runs:
        for key, (times, seconds) in run.items():
            found.setdefault(key, []).append((times, seconds / times))
    return {
        key: (max(t for t, _ in samples), statistics.median(m for _, m in samples)) for key, samples in found.items()
    }


def _may_share(profile, actor):
    return actor.rpartition("#")[0] not in profile.alone and actor not in profile.unreturned


# ---- effects


def begin():
    """At `init`: (placement for this run, the session's Automatic)."""
    program = profiles.main_script()
    if program is None:
        return "isolated", Automatic(None, "the program has no file by which a profile could be found again")
    profile = profiles.load(program)
    global _plan
    choice = choose(profile, control_groups.cores())
    _plan = choice.placement.plan() if isinstance(choice.placement, Shared) else None
    return choice.placement, Automatic(program, choice.why, dict(profile.alone))


_plan = None  # of the packed workers of the session; None: it is isolated


def learn():
    """At the end of the driver's session: adds what was measured to the profile."""
    s = session.current
    if s is None or s.driver is None or not s.settings.auto or not s.settings.recording:
        return
    program = s.settings.auto.program
    if program is None:
        return
    try:
        profile = profiles.load(program)
        measure(profile, s)
        profile.chosen = f"{s.placement.name}: {s.settings.auto.why}"
        profiles.save(profile, roles_text.text(profile, s.settings.auto.why, _plan))
    except OSError as error:
        print(
            f"rayshim: the profile of {program} cannot be written ({error}). The next run measures again",
            file=sys.stderr,
        )


def measure(profile, s):
    """Adds the measurements of the session `s`, before it ends."""
    from reactor.placement import measured, unreturned

    from rayshim.recording.recorder import recording

    found = recording(s, _LAST_ANSWER_SECONDS)
    run = {}
    for pattern in found.patterns:
        if pattern.caller == "driver" and pattern.runs > 1:
            operations = {f"{os.path.basename(operation.site)} {operation.method}" for operation in pattern.operations}
            key = f"{os.path.basename(pattern.end_site)} {len(pattern.operations)} {' '.join(sorted(operations))}"
            times, seconds = run.get(key, (0, 0.0))
            run[key] = [times + pattern.runs, seconds + pattern.seconds]
    profile.add(s.placement.name, run)
    actors = measured(found)
    profile.seconds = actors.seconds
    profile.traffic = [[a, b, size] for (a, b), size in actors.traffic.items()]
    profile.unreturned = unreturned(found)
    profile.alone.update({name: reason for (_, name), reason in s.placement.posted("alone", timeout=5).items()})
