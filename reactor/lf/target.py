"""Target properties: those that have an effect here, those that are ignored, and those that are refused."""

from reactor.lf.errors import LFError
from reactor.model import time

# About C compilation, containers, other machines or clocks of other machines.
IGNORED = frozenset(
    [
        "auth",
        "build",
        "build-type",
        "clock-sync",
        "clock-sync-options",
        "cmake-args",
        "cmake-include",
        "comm-type",
        "compile-definitions",
        "coordination-options",
        "DNET",
        "docker",
        "logging",
        "no-compile",
        "no-source-mapping",
        "python-version",
        "scheduler",
        "single-threaded",
        "sst",
        "threading",  # once the name of single-threaded
        "trace-plugin",
        "tracing",
    ]
)
SETTINGS = ("fast", "keepalive", "timeout", "workers")  # of these the command has options, too
HONOURED = ("coordination", "files", *SETTINGS)
OTHER_TARGETS = frozenset(
    [
        "cargo-dependencies",
        "cargo-features",
        "cmake",
        "cmake-init-include",
        "compiler",
        "compiler-flags",
        "export-dependency-graph",
        "external-runtime-path",
        "flags",
        "no-runtime-validation",
        "platform",
        "print-statistics",
        "ros2",
        "ros2-dependencies",
        "runtime-version",
        "rust-edition",
        "rust-include",
        "single-file-project",
        "verify",
    ]
)
ATTRIBUTES = ("fast", "keepalive", "timeout")


def settings(file):
    """{timeout, fast, keepalive, workers} that a file asks for.

    Raises:
        LFError: another target than Python, or a property that is not known, cannot be honoured, or has a value that it cannot have.
    """
    if file.target != "Python":
        raise LFError(
            f"target {file.target} cannot be run: only target Python can",
            file.path,
            file.text,
            *file.places[None],
        )
    for name in file.properties:
        _check(file, name)
    found = {name: file.properties[name] for name in SETTINGS if name in file.properties}
    for main in file.reactors:
        if main.kinds & {"main", "federated"}:  # "@timeout(1 s)" before it says the same
            found.update({name: main.attributes[name][0] for name in ATTRIBUTES if main.attributes.get(name)})
    if isinstance(found.get("timeout"), str):
        found["timeout"] = time.parse(found["timeout"])
    return found


def _check(file, name):
    value, wrong = file.properties[name], None
    if name in OTHER_TARGETS:
        wrong = f"target property {name} belongs to another target than Python: take it out"
    elif name not in IGNORED and name not in HONOURED:
        wrong = f"target property {name} is not supported: take it out, or run the program with lfc"
    elif name in _VALUES and not _VALUES[name][0](value):
        wrong = f"target property {name} is {value!r}: it must be {_VALUES[name][1]}"
    if wrong:
        raise LFError(wrong, file.path, file.text, *file.places[name])


def _is_time(value):
    try:
        time.parse(str(value))
    except ValueError:
        return False
    return True


def _is_one_of(*names):
    return lambda value: isinstance(value, str) and value.lower() in names


_BOOLEAN = (lambda value: isinstance(value, bool)), "true or false"
_COORDINATIONS, _LEVELS = ("centralized", "decentralized"), ("error", "warn", "warning", "info", "log", "debug")
_VALUES = {  # {property: (whether it can have a value, the values in words)}
    "coordination": (_is_one_of(*_COORDINATIONS), " or ".join(_COORDINATIONS)),
    "fast": _BOOLEAN,
    "files": (lambda value: isinstance(value, (str, list)), "a path, or a list of paths in brackets"),
    "keepalive": _BOOLEAN,
    "logging": (_is_one_of(*_LEVELS), "one of " + ", ".join(_LEVELS)),
    "timeout": (_is_time, "a time value: a number and a unit, such as 10 sec"),
    "workers": (lambda value: type(value) is int and value >= 0, "a whole number, 0 or more"),
}
