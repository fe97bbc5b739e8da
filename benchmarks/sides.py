"""The sides of a comparison: which module plays Ray's part, and how its process is started."""

import importlib.util
import os
import sys
from dataclasses import dataclass, field, replace

from rayshim.cli.compare.compare import RAY_ENVIRONMENT, SAME_HASHES


@dataclass(frozen=True)
class Side:
    """One competitor.

    `module` is what `import ray` stands for, `launcher` the interpreter's arguments before an unmodified
    script that says `import ray`, and `init` the keywords of `init` in rows that call it themselves.
    A `brief` side starts quickly, so it is measured in many short processes instead of a few long ones; a
    `compiled` one runs a row's Compiled Graph.
    """

    name: str
    title: str
    module: str
    distribution: str
    launcher: tuple[str, ...] = ()
    init: dict = field(default_factory=dict)
    environment: dict = field(default_factory=dict)
    brief: bool = False
    compiled: bool = False

    def missing(self):
        """Why this side cannot run here, or None."""
        if importlib.util.find_spec(self.module) is None:
            return f"{self.title} is not installed ({sys.executable} finds no module {self.module!r})"
        return None

    def process_environment(self):
        """The environment of a process of this side."""
        return {**os.environ, **SAME_HASHES, **self.environment}


_RAY = Side(
    name="ray",
    title="Ray",
    module="ray",
    distribution="ray",
    init={"include_dashboard": False, "logging_level": "ERROR"},
    environment=RAY_ENVIRONMENT,
)
_RAYSHIM = Side(
    name="rayshim",
    title="rayshim",
    module="rayshim",
    distribution="rayshim",
    launcher=("-m", "rayshim"),
    environment={"RAYSHIM_NO_PATTERNS": ""},
    brief=True,
)

# In the order of the table's columns.
SIDES = {
    side.name: side
    for side in (
        _RAY,
        replace(
            _RAY,
            name="ray-compiled",
            title="Ray Compiled Graph",
            compiled=True,
            # Ten seconds by default, which is soon over on a busy machine when eight actors begin at once.
            environment={**RAY_ENVIRONMENT, "RAY_CGRAPH_get_timeout": "50", "RAY_CGRAPH_submit_timeout": "50"},
        ),
        replace(
            _RAYSHIM, name="rayshim-no-plans", title="rayshim, plans off", environment={"RAYSHIM_NO_PATTERNS": "1"}
        ),
        _RAYSHIM,
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
