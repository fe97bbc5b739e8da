"""The sides of a comparison: which module plays Ray's part, and how its process is started."""

import importlib.util
import os
import sys
from dataclasses import dataclass, field

from benchmarks.processes import MARKER


@dataclass(frozen=True)
class Side:
    """One competitor.

    `module` is what `import ray` stands for, `launcher` the interpreter's arguments before an unmodified
    script that says `import ray`, and `init` the keywords of `init` in rows that call it themselves.
    """

    name: str
    title: str
    module: str
    distribution: str
    launcher: tuple[str, ...] = ()
    init: dict = field(default_factory=dict)
    environment: dict = field(default_factory=dict)

    def missing(self):
        """Why this side cannot run here, or None."""
        if importlib.util.find_spec(self.module) is None:
            return f"{self.title} is not installed ({sys.executable} finds no module {self.module!r})"
        return None

    def process_environment(self, run):
        """The environment of a process of this side; `run` marks it and all its descendants."""
        return {**os.environ, **EQUAL_FOOTING, **self.environment, MARKER: run}


# One thread per process in the numeric libraries of every side: with more actors than cores, more threads
# measure the scheduler.
EQUAL_FOOTING = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}

SIDES = {
    side.name: side
    for side in (
        Side(
            name="ray",
            title="Ray",
            module="ray",
            distribution="ray",
            init={"include_dashboard": False, "logging_level": "ERROR"},
            # Authentication, usage statistics and log deduplication cost Ray time and rayshim has none of
            # them; the accelerator variable only silences a warning.
            environment={
                "RAY_AUTH_MODE": "disabled",
                "RAY_USAGE_STATS_ENABLED": "0",
                "RAY_DEDUP_LOGS": "0",
                "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
            },
        ),
        Side(
            name="rayshim",
            title="rayshim",
            module="rayshim",
            distribution="rayshim",
            launcher=("-m", "rayshim"),
        ),
    )
}


def named(names):
    """The sides of a comma-separated list, in its order; ValueError for an unknown name."""
    chosen = []
    for name in names.split(","):
        if name not in SIDES:
            raise ValueError(f"no side is called {name!r}; there are {', '.join(SIDES)}")
        chosen.append(SIDES[name])
    return chosen
