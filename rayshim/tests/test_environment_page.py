"""docs/environment-variables.md has the variables that the code reads, and no others."""

import ast
import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
NAME = re.compile(r"(?:RAY|RAYSHIM|REACTOR|LF)_\w+")
CONFIGURED = {"_configured", "_number", "_setting"}  # functions that read RAY_NAME or RAY_CGRAPH_NAME
NOT_FOR_USERS = {
    "RAYSHIM_BENCHMARK_RUN",  # set by `rayshim compare` and the benchmarks in what they run
    "RAYSHIM_BENCHMARK_STARTED",
    "RAYSHIM_HEAD",  # set by `rayshim start --head` in the process that it starts
    "RAYSHIM_PYTHON",  # set in the programs that a program starts
    "RAY_AUTH_MODE",  # set by `rayshim compare` for real Ray
    "RAY_USAGE_STATS_ENABLED",
    "RAY_KILL",  # a cause of a death
    "RAY_TQDM_MAGIC",  # a name in __all__
    "RAY_CGRAPH_",  # prefix of those in `_setting`
    "RAY_RUNTIME_ENV_LOG_TO_DRIVER_ENABLED",  # names of modules of Ray that have no effect
    "RAY_RUNTIME_ENV_PLUGINS",
}


def names_in_code():
    found = set()
    for path in (path for folder in ("rayshim", "reactor") for path in (REPOSITORY / folder).rglob("*.py")):
        if "tests" in path.parts or "over" in path.parts:  # over/: settings of Ray's libraries
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
                found.add(node.value)
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in CONFIGURED:
                prefix = "RAY_CGRAPH_" if node.func.id == "_setting" else "RAY_"
                found |= {
                    prefix + a.value for a in node.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)
                }
    return found - NOT_FOR_USERS


def test_the_page_has_the_variables_that_the_code_reads():
    page = (REPOSITORY / "docs" / "environment-variables.md").read_text()
    on_page = {name for name in re.findall(rf"`({NAME.pattern})`", page)}
    assert on_page == names_in_code()
