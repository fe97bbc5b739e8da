"""Why a value cannot be pickled."""

from __future__ import annotations

import re
import sys
from typing import IO, TYPE_CHECKING, Any

from reactor.picklability import REMEDY

if TYPE_CHECKING:
    from collections.abc import Sequence


class FailureTuple:
    """A value that cannot be pickled: `obj`, the `path` of names that leads to it from the inspected value, and its `parent`."""

    __module__ = "rayshim.util.check_serialize"

    def __init__(self, obj: Any, path: Sequence[Any], parent: Any) -> None:
        self.obj = obj
        self.path = path
        self.parent = parent

    def __repr__(self) -> str:
        names = ["unknown" if name is None else str(name) for name in self.path]
        last = names[-1] if names else "unknown"
        return f"FailTuple({last} [path={' -> '.join(names)}, obj={self.obj}, parent={self.parent}])"


def inspect_serializability(
    base_obj: Any, name: str | None = None, depth: int = 3, print_file: IO[str] | None = None
) -> tuple[bool, set[FailureTuple]]:
    """Finds the parts of `base_obj` that cannot be pickled, and prints the search.

    Arguments:
        base_obj: the value.
        name: a name for the value in the output (str).
        depth: how many levels to descend.
        print_file: where to print; default stdout.

    Returns (whether the value can be pickled, set of FailureTuple).
    """
    title = f"Checking Serializability of {base_obj}"
    rule = "=" * min(len(title), 80)
    search = _Search(print_file)
    for line in (rule, title, rule):
        search.say(0, line)
    good = search.visit(base_obj, name, depth, 0, None, ())
    if not good and depth > 0:
        search.conclude(rule)
    return good, search.failures


def serialization_error(error, what, where):
    """The TypeError for `what` (a str) that could not be pickled, `where` in the program. `error`: reactor's NotPicklable. The text begins and ends as on
    Ray, where programs and tests look for its first line and for some of its words."""
    rule, reason = "=" * 80, getattr(error, "reason", str(error))
    return TypeError(
        f"Could not serialize {what}:\n{rule}\n{reason}. {REMEDY} ({where})\nThis part was found to be non-serializable. "
        f"`ray.util.inspect_serializability(value)` shows the parts of a value that can be pickled and those that cannot.\n{rule}"
    )


class _Search:
    def __init__(self, file):
        self.file = file
        self.failures = set()

    def say(self, level, text):
        if self.file is None and not sys.stdout.isatty():
            text = re.sub(r"\x1b\[[0-9]+m", "", text)  # a file that the caller gives has the colors, as on Ray
        print("    " * level + text, file=self.file)

    def visit(self, obj, name, depth, level, parent, path):
        """Whether `obj` can be pickled. If not, adds the first part found that cannot be pickled to the failures."""
        import inspect

        import cloudpickle

        if parent is not None:
            self.say(level, f"Serializing '{name}' {obj}...")
        try:
            cloudpickle.dumps(obj)
            return True
        except Exception as error:
            self.say(level, f"\x1b[31m!!! FAIL\x1b[39m serialization: {error}")
        path = path if name is None else (*path, name)
        if depth > 0:
            if inspect.isfunction(obj):
                self.enter_function(obj, depth, level, path)
            else:
                self.enter_object(obj, depth, level, path)
        if depth <= 0 or not self.failures:
            self.failures.add(FailureTuple(obj, path, parent))
        return False

    def enter_function(self, function, depth, level, path):
        import inspect

        self.say(level, f"Inspecting closure of '{function.__qualname__}':")
        closure = inspect.getclosurevars(function)
        found = False
        for kind, variables in (("global", closure.globals), ("nonlocal", closure.nonlocals)):
            if not variables:
                continue
            self.say(level, f"Detected {len(variables)} {kind} variables. Checking serializability...")
            for name, value in variables.items():
                if not self.visit(value, name, depth - 1, level + 1, function, path):
                    found = True
                    break
        if not found:
            self.say(
                level, f"WARNING: Did not find non-serializable object in {function.__qualname__}{_ADVICE_FUNCTION}"
            )

    def enter_object(self, obj, depth, level, path):
        import inspect

        functions = inspect.getmembers(obj, predicate=inspect.isfunction)
        others = [
            (name, value)
            for name, value in inspect.getmembers(obj)
            if not (name.startswith("__") and name.endswith("__")) and not inspect.isbuiltin(value)
        ]
        for members in (functions, others):
            for name, value in members:
                if not self.visit(value, name, depth - 1, level + 1, obj, path):
                    return
        what = obj.__name__ if inspect.isclass(obj) else f"{type(obj).__name__} instance"
        self.say(level, f"WARNING: Did not find non-serializable object in {what}{_ADVICE}")

    def conclude(self, rule):
        shown = "\n".join(str(failure) for failure in self.failures)
        for line in (
            rule,
            f"Variable: \n\n\t\x1b[1m{shown}\x1b[0m\n\nwas found to be non-serializable. There may be multiple other "  # noqa: ISC004
            "undetected variables that were non-serializable. ",
            "Consider either removing the instantiation/imports of these variables or moving the instantiation into "  # noqa: ISC004
            "the scope of the function/class. ",
            rule,
            "Check https://docs.ray.io/en/master/ray-core/objects/serialization.html#troubleshooting for more information.",
            rule,
        ):
            self.say(0, line)


_CAUSE = " This may be because the object is only non-serializable when combined with other objects, or because cloudpickle and the traversal disagree"
_ADVICE_FUNCTION = (
    f".{_CAUSE} on which object causes the failure. Try calling `ray.util.inspect_serializability` directly on the suspected object, or "
    "simplify the closure to isolate the cause."
)
_ADVICE = f".{_CAUSE}. Try calling `ray.util.inspect_serializability` on individual attributes to isolate the cause."
