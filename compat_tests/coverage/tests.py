"""Which test of compat_tests uses which name: found in their sources, without running them."""

import ast
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent.parent


@dataclass(frozen=True)
class Test:
    """A test function; `words` are the names that it uses, those of its module's helpers included, `around` all names of its module."""

    name: str
    words: frozenset
    around: frozenset


def all_tests():
    """The Tests of compat_tests and of its text: each in the order of the files."""
    return [test for path in sorted(FOLDER.glob("test_*.py")) for test in _of_module(path)]


def _of_module(path):
    tree = ast.parse(path.read_text())
    around = frozenset(_words(tree))
    helpers = {node.name: set(_words(node)) for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            helpers[node.targets[0].id] = set(_words(node))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            words, todo, done = set(), [node.name], set()
            while todo:
                name = todo.pop()
                if name in done:
                    continue
                done.add(name)
                words |= helpers[name]
                todo += [word for word in helpers[name] if word in helpers]
            yield Test(f"{path.name}::{node.name}", frozenset(words), around)


def _words(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg) or isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield from alias.name.split(".")
            yield from (getattr(node, "module", None) or "").split(".")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from node.value.replace(".", " ").replace("(", " ").split() if "import" in node.value else [node.value]


def best(name, tests, unique=False):
    """The name of the test that uses this Name of a public name and is nearest to it; None if there is none. `unique`: no other class has a
    member of that name, so that who uses it need not name the class."""
    *path, last = name.full.split(".")
    owner = path[-1] if name.full.count(".") > name.module.count(".") + 1 else None
    fits = [test for test in tests if last in test.words and (unique or owner is None or owner in test.around or _snake(owner) in test.name)]
    place = {word for part in name.full.split(".")[1:] for word in _snake(part).split("_") if len(word) > 3}

    def nearness(test):
        of_file, of_test = test.name.split("::")
        return -2 * sum(word in of_test for word in place) - 3 * sum(word in of_file for word in place), len(test.words), test.name

    return min(fits, key=nearness).name if fits else None


def _snake(name):
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name).lstrip("_")
