"""Imports go one way: what lies above may import what lies below, and no two modules import each other, not even inside of functions."""

import ast
import itertools
from pathlib import Path

import pytest

from rayshim.tests.late_bound import SLOTS, STATE

ROOT = Path(__file__).parent.parent.parent

# From top to bottom. A module belongs to the longest name here that begins its own; what is in one row may import each other.
LAYERS = (
    ("rayshim.fragments",),  # a program on Ray's API
    ("rayshim", "rayshim.runtime_env", "rayshim.as_ray.path"),  # the modules under Ray's own names, which hand on
    ("rayshim.cli",),
    ("rayshim._private", "rayshim.internal", "rayshim.over", "rayshim.scripts"),
    ("rayshim.util", "rayshim.dag", "rayshim.experimental", "rayshim.cloudpickle", "rayshim.jobs"),
    ("rayshim.api", "rayshim.as_ray.on_ray"),  # on_ray hands `init` and the remote classes over to real Ray
    ("rayshim.worker",),
    ("rayshim.calls",),
    ("rayshim.placement",),
    ("rayshim.environments",),
    ("rayshim.resources",),
    ("rayshim.recording",),
    ("rayshim.ordering",),
    ("rayshim.timing",),
    ("rayshim.journal",),
    ("rayshim.as_ray",),
    ("rayshim.session",),
    ("rayshim.errors",),
    ("reactor.__main__",),
    ("reactor.program",),
    ("reactor.execution",),
    ("reactor.lf",),
    ("reactor.runtime.driver",),
    ("reactor.runtime.zygote",),
    ("reactor.runtime.supervisor",),
    ("reactor.runtime.worker",),
    ("reactor.runtime.resources",),
    ("reactor.runtime.seeding",),
    ("reactor.runtime.spawning",),
    ("reactor.runtime.messages",),
    ("reactor.runtime.processes",),
    ("reactor.draw",),
    ("reactor.declared",),
    ("reactor.placement",),
    ("reactor.recording",),
    ("reactor",),
    ("reactor.model",),
)

# Each package in one of these has a row of its own, or a place in one.
HOUSES = ("rayshim", "reactor.runtime")

# (module, what it looks up in sys.modules although that lies above it): the package itself, which is there before any of its modules.
LOOKUPS = {
    ("rayshim.as_ray.on_ray", "rayshim"),  # whether the module `ray` is real Ray
    ("rayshim.as_ray.two_rays", "rayshim"),  # likewise
    ("rayshim.util.client.ray_client_helpers", "rayshim"),  # hands it on to the program
}


def modules(root, *packages):
    """{name: path} of the modules of these packages, tests left out."""
    found = {}
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            if "tests" not in parts:
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(found):
    """{module: {module that it imports: line}}, among these modules."""
    return _graph(found, _imported)


def lookups(found):
    """{module: {module that it looks up in sys.modules by a constant name: line}}, among these modules."""
    return _graph(found, _looked_up)


def _graph(found, targets_of):
    graph = {}
    for name, path in found.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        graph[name] = {
            target: node.lineno
            for node in _that_run(ast.parse(path.read_text()))
            for target in targets_of(node, package, found)
            if target in found and target != name
        }
    return graph


def _that_run(tree):
    """The nodes, those for type checkers alone left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from _that_run(node)


def _imported(node, package, found):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*above, *filter(None, [node.module])])
        return [f"{base}.{alias.name}" if f"{base}.{alias.name}" in found else base for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("import_module", "importlib.import_module"):
        return _texts(node.args)
    return ()


def _looked_up(node, package, found):
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
        return _texts([node.slice])
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.modules.get":
        return _texts(node.args)
    if isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]) == "sys.modules":
        return _texts([node.left])
    return ()


def assignments(found):
    """{name of a module's attribute: modules, other than its own, that assign to it}, among these modules."""
    setters = {}
    for name, path in found.items():
        tree = ast.parse(path.read_text())
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        bound = {}
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                targets = _imported(node, package, found)
                for alias, target in zip(node.names, targets):
                    if target.endswith(alias.name):  # else it is something in that module
                        bound[alias.asname or alias.name] = target
        for node in ast.walk(tree):
            for target in _assigned(node):
                module = bound.get(ast.unparse(target.value)) if isinstance(target, ast.Attribute) else None
                if module in found and module != name:
                    setters.setdefault(f"{module}.{target.attr}", set()).add(name)
    return setters


def _assigned(node):
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) else ():
        yield from target.elts if isinstance(target, ast.Tuple) else [target]


def _texts(nodes):
    return [node.value for node in nodes if isinstance(node, ast.Constant)]


def layer(name):
    """The number of the layer of a module, 0 at the top."""
    names = {prefix: number for number, row in enumerate(LAYERS) for prefix in row}
    while name not in names:
        name = name.rpartition(".")[0]
    return names[name]


def upward(graph):
    """What is imported against the direction: a line of text each."""
    return [
        f"{name} imports {target} in line {line}, which lies above it"
        for name, targets in graph.items()
        for target, line in targets.items()
        if layer(target) < layer(name)
    ]


def circles(graph):
    """Modules that import each other, over others or not: a line of text for each circle."""
    told, done, way = [], set(), []

    def visit(name):
        if name in way:
            circle = [*way[way.index(name) :], name]
            told.append(
                ", ".join(
                    f"{one} imports {other} in line {graph[one][other]}" for one, other in itertools.pairwise(circle)
                )
            )
        elif name not in done:
            way.append(name)
            for target in graph[name]:
                visit(target)
            done.add(way.pop())

    for name in graph:
        visit(name)
    return told


@pytest.fixture(scope="module")
def graph():
    return imports(modules(ROOT, "rayshim", "reactor"))


def test_imports_go_downwards(graph):
    assert not upward(graph)


def test_lookups_of_modules_go_downwards():
    found = lookups(modules(ROOT, "rayshim", "reactor"))
    assert not upward(
        {name: {t: line for t, line in ts.items() if (name, t) not in LOOKUPS} for name, ts in found.items()}
    )
    assert {(name, target) for name, targets in found.items() for target in targets} >= LOOKUPS


def test_no_modules_import_each_other(graph):
    assert not circles(graph)


def test_names_that_are_bound_late_are_declared():
    assert assignments(modules(ROOT, "rayshim", "reactor")) == {**SLOTS, **STATE}


def test_each_package_has_its_layer(graph):
    packages = {
        name for name in graph if name.rpartition(".")[0] in HOUSES and (ROOT / name.replace(".", "/")).is_dir()
    }
    assert packages == {name for row in LAYERS for name in row if name.rpartition(".")[0] in HOUSES}


def test_it_sees_what_is_wrong(tmp_path):
    for name, text in {
        "rayshim/__init__.py": "",
        "rayshim/cli/__init__.py": "from rayshim.api import start",
        "rayshim/api/__init__.py": "",
        "rayshim/api/start.py": "def f():\n    from rayshim.cli import main\n",
        "rayshim/cli/main.py": "from . import other",
        "rayshim/cli/other.py": "def f():\n    def g():\n        import rayshim.cli.main\n",
        "rayshim/session/__init__.py": "import rayshim",
        "rayshim/session/by_name.py": "import_module('rayshim.api')",
        "rayshim/api/binding.py": "from rayshim.session import by_name, looking as other\nby_name.load, other.n = print, 1\nother.n += 1",
        "rayshim/session/looking.py": "sys.modules['rayshim.api']\nsys.modules.get('rayshim.cli')\n'rayshim' in sys.modules",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = imports(modules(tmp_path, "rayshim"))
    assert sorted(upward(found)) == [
        "rayshim.api.start imports rayshim.cli.main in line 2, which lies above it",
        "rayshim.session imports rayshim in line 1, which lies above it",
        "rayshim.session.by_name imports rayshim.api in line 1, which lies above it",
    ]
    assert [line.split()[2] for line in upward(lookups(modules(tmp_path, "rayshim")))] == [
        "rayshim.api",
        "rayshim.cli",
        "rayshim",
    ]
    assert circles(found) == [
        "rayshim.cli.main imports rayshim.cli.other in line 1, rayshim.cli.other imports rayshim.cli.main in line 3"
    ]
    assert assignments(modules(tmp_path, "rayshim")) == {
        "rayshim.session.by_name.load": {"rayshim.api.binding"},
        "rayshim.session.looking.n": {"rayshim.api.binding"},
    }
