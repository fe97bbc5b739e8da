"""The competitors in the experiments besides Ray and rayshim with default settings, and the program's options for each."""

import os
from dataclasses import dataclass, field, replace

from benchmarks.sides import SIDES, Side

CORES = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Competitor:
    """One row of a table.

    `options` go to the program; `program` is its own where it is not the workload's. Its cost counts 1/`shared` of what it
    measures. A `slow` one runs fewer rounds. `same` is whether what it computes must agree with the others. `learns` is the number of
    runs before the measured ones, by which rayshim chooses the placement; they have a folder of profiles of their own.
    """

    name: str
    title: str
    side: Side
    options: dict = field(default_factory=dict)
    program: str | None = None
    shared: int = 1
    slow: bool = False
    same: bool = True
    learns: int = 0

    def missing(self):
        """Why it cannot take part here, or None."""
        if reason := self.side.missing():
            return reason
        placement = self.side.launcher[-1] if "--placement" in self.side.launcher else "isolated"
        from rayshim.placement.kinds import AUTO, NAMES

        return None if placement in (*NAMES, AUTO) else f"rayshim has no placement {placement!r} yet"


def placed(placement):
    """rayshim with another placement than its own default, as a Side."""
    side = SIDES["rayshim"]
    return replace(side, launcher=(*side.launcher, "--placement", placement))


def rays(*styles):
    """Ray in the program's styles, the first of which is called just Ray."""
    found = []
    for style in styles:
        side, name = (SIDES["ray-compiled"], "ray-compiled") if style == "compiled" else (SIDES["ray"], f"ray-{style}")
        title = "Ray Compiled Graph" if style == "compiled" else f"Ray, {style}"
        if style == styles[0]:
            name, title = "ray", "Ray" if len(styles) == 1 else title
        found.append(Competitor(name, title, side, {"style": style}, slow=True))
    return found


# Of `placement="auto"`: one run in each placement.
LEARNING_RUNS = 2


def rayshims(*styles):
    """rayshim in the program's styles, the first of which in every placement and without plans too."""
    first, *others = styles
    options = {"style": first}
    return [
        Competitor("rayshim", "rayshim" if not others else f"rayshim, {first}", SIDES["rayshim"], options),
        *(Competitor(f"rayshim-{style}", f"rayshim, {style}", SIDES["rayshim"], {"style": style}) for style in others),
        Competitor("rayshim-packed", "rayshim, packed", placed("packed"), options),
        Competitor("rayshim-auto", "rayshim, auto", placed("auto"), options, learns=LEARNING_RUNS),
        Competitor("rayshim-no-plans", "rayshim, plans off", SIDES["rayshim-no-plans"], options),
        Competitor("rayshim-inline", "rayshim, inline", placed("inline"), options),
    ]


# The program's work without a runtime. It imports `ray` and makes no use of it, so the quicker one is imported.
BARE = Competitor("bare", "bare loop in one process", SIDES["rayshim"], {"style": "bare"})
LIMIT = Competitor(
    "limit",
    "limit: bare loops on all cores",
    SIDES["rayshim"],
    {"style": "bare", "neighbours": CORES - 1},
    shared=CORES,
)
CONTROLS = [BARE, LIMIT]


PYTHON = Side(name="python", title="plain Python", module="numpy", distribution="numpy")


def vector_environment(name, title, same=True):
    """A library that steps many environments at once, by `programs/vector_environments.py`."""
    return Competitor(name, title, PYTHON, {"library": name}, "vector_environments", same=same)


VECTOR_ENVIRONMENTS = [
    vector_environment("AsyncVectorEnv", "gymnasium AsyncVectorEnv"),
    vector_environment("SyncVectorEnv", "gymnasium SyncVectorEnv"),
    vector_environment("SubprocVecEnv", "stable-baselines3 SubprocVecEnv"),
    vector_environment("PufferLib", "PufferLib multiprocessing"),
    # Its environments are its own, in C++, with their own random numbers.
    vector_environment("EnvPool", "EnvPool", same=False),
]
PROCESSES = vector_environment("processes", "a process each, woken by a pipe, no data")
