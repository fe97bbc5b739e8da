"""The names of Ray that frameworks' sources use: `python -m compat_tests.coverage.frameworks DIRECTORY...` writes frameworks.txt.

Each directory is a checkout, its name the framework's. Read without being imported: `import ray.x`, `from ray.x import y`, and chains such as `ray.x.y`.
"""

import ast
import importlib
import sys
import types
from pathlib import Path

LIST = Path(__file__).with_name("frameworks.txt")
#: What is not of Ray's core: its libraries, and a cluster's own parts.
OUTSIDE = ("ray.data", "ray.train", "ray.tune", "ray.serve", "ray.rllib", "ray.air", "ray.llm", "ray.workflow", "ray.autoscaler")


def used(text):
    """The names under `ray` that a source text uses."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()
    found, local = set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "ray":
                    found.add(alias.name)
                    local[alias.asname or "ray"] = alias.name if alias.asname else "ray"
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "ray":
            for alias in node.names:
                found.add(f"{node.module}.{alias.name}")
                local[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (chain := _chain(node, local)):
            found.add(chain)
    return {name for name in found if "*" not in name}


def _chain(node, local):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in local:
        return ".".join([local[node.id], *reversed(parts)])
    return None


def resolve(package, name):
    """(what the longest part of the name that `package` has leads to, the parts that are left). A module goes before a function of its name."""
    parts, done = name.split(".")[1:], package
    thing = importlib.import_module(package)
    while parts and isinstance(thing, types.ModuleType):
        try:
            thing = _module(done, parts[0])
        except ImportError:
            break
        done = f"{done}.{parts.pop(0)}"
    while parts:
        try:
            thing = getattr(thing, parts[0])
        except AttributeError:
            break
        parts.pop(0)
    return thing, parts


def _module(package, name):
    """The module of that name in `package`. Those that stand for internals of Ray lie in rayshim.over, where `import ray.x` finds them, too."""
    try:
        return importlib.import_module(f"{package}.{name}")
    except ImportError:
        if not package.startswith("rayshim"):
            raise
        return importlib.import_module(f"rayshim.over{package.removeprefix('rayshim')}.{name}")


def in_ray(name):
    """Whether the installed Ray has the name, and it is one of its own (and not, say, of a dict that it has)."""
    return not resolve("ray", name)[1]


def read_list():
    """{name: [framework, ...]} of frameworks.txt."""
    lines = LIST.read_text().splitlines()
    return {line.split(":")[0]: line.split(":")[1].split() for line in lines if ":" in line}


def scan(directories):
    """{name: {framework}} of these checkouts."""
    found = {}
    for directory in map(Path, directories):
        for path in directory.rglob("*.py"):
            for name in used(path.read_text(errors="replace")):
                if not name.startswith(OUTSIDE):
                    found.setdefault(name, set()).add(directory.name)
    return found


if __name__ == "__main__":
    names = scan(sys.argv[1:])
    LIST.write_text("".join(f"{name}: {' '.join(sorted(names[name]))}\n" for name in sorted(names)))
