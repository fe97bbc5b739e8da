"""Target properties: those that mean something here, those that do not matter here, and those that are refused."""

from reactor.lf.errors import LFError
from reactor.model import time

# About C compilation, containers, other machines or clocks of other machines.
IGNORED = frozenset(
    [
        "auth",
        "build",
        "build-type",
        "cargo-dependencies",
        "cargo-features",
        "clock-sync",
        "clock-sync-options",
        "cmake",
        "cmake-args",
        "cmake-include",
        "cmake-init-include",
        "compile-definitions",
        "compiler",
        "comm-type",
        "coordination",
        "coordination-options",
        "DNET",
        "docker",
        "export-dependency-graph",
        "external-runtime-path",
        "logging",
        "no-compile",
        "no-runtime-validation",
        "no-source-mapping",
        "platform",
        "print-statistics",
        "python-version",
        "runtime-version",
        "rust-include",
        "scheduler",
        "single-file-project",
        "single-threaded",
        "sst",
        "threading",
        "trace-plugin",
        "tracing",
        "verify",
    ]
)
HONOURED = ("fast", "files", "keepalive", "timeout", "workers")
ATTRIBUTES = ("fast", "keepalive", "timeout")


def settings(file):
    """{timeout, fast, keepalive, workers} that a file asks for.

    Raises:
        LFError: another target than Python, or a property that is not known or cannot be honoured.
    """
    if file.target != "Python":
        raise LFError(
            f"target {file.target} cannot be run: only target Python can", file.path, file.text, *_place(file, "target")
        )
    for name in file.properties:
        if name not in IGNORED and name not in HONOURED:
            message = f"target property {name} is not supported: take it out, or run the program with lfc"
            raise LFError(message, file.path, file.text, *_place(file, name))
    found = {
        name: file.properties[name] for name in ("fast", "keepalive", "timeout", "workers") if name in file.properties
    }
    for main in file.reactors:
        if main.kinds & {"main", "federated"}:  # "@timeout(1 s)" before it says the same
            found.update({name: main.attributes[name][0] for name in ATTRIBUTES if main.attributes.get(name)})
    if isinstance(found.get("timeout"), str):
        found["timeout"] = time.parse(found["timeout"])
    return found


def _place(file, word):
    for number, line in enumerate(file.text.splitlines(), 1):
        if (column := line.find(word)) >= 0:
            return number, column + 1
    return 0, 0
