"""The stub of the native module has the names and signatures of the module."""

import ast
import re
from pathlib import Path

from reactor import _core

STUB = ast.parse((Path(__file__).parents[1] / "_core.pyi").read_text())
ONLY_FOR_TESTS = {"futex_ping_pong", "roundtrip", "runs", "stats"}  # where the core is built with REACTOR_TESTING

STRUCT_SEQUENCE = {"n_fields", "n_sequence_fields", "n_unnamed_fields"}  # what Python adds to a tuple with named places


def stubbed(kind):
    return {node.name: node for node in STUB.body if isinstance(node, kind)}


def parameters(function):
    """[(name or None where it is given by place alone, whether it has a default)]"""
    a = function.args
    places = a.posonlyargs + a.args
    defaults = [False] * (len(places) - len(a.defaults)) + [True] * len(a.defaults)
    names = [None] * len(a.posonlyargs) + [x.arg.rstrip("_") for x in a.args]
    named_only = [(x.arg, default is not None) for x, default in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    return list(zip(names, defaults, strict=True)) + named_only


def bound(function):
    """The same of the module's function, as nanobind tells it; None for one that nanobind did not make."""
    signatures = getattr(function, "__nb_signature__", None)
    if signatures is None:
        return None
    text = re.sub(r"\\\d+", "None", signatures[0][0])  # a default is a number there
    return parameters(ast.parse(text + ": ...").body[0])


def test_the_names_are_the_same():
    values = {node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign)}
    named = values | set(stubbed(ast.FunctionDef)) | {n for n in stubbed(ast.ClassDef) if not n.startswith("_")}
    found = {name for name in dir(_core) if not name.startswith("__")}
    assert named - ONLY_FOR_TESTS == found - ONLY_FOR_TESTS


def test_functions_take_the_same_arguments():
    compared = 0
    for name, function in stubbed(ast.FunctionDef).items():
        seen = bound(getattr(_core, name, None))
        if seen is not None:
            compared += 1
            assert parameters(function) == seen, name
    assert compared > 100


def test_classes_have_the_same_attributes():
    compared = 0
    for name, cls in stubbed(ast.ClassDef).items():
        if name.startswith("_"):  # the named numbers, which are tuples
            continue
        told = {
            n.name if isinstance(n, ast.FunctionDef) else n.target.id
            for n in cls.body
            if hasattr(n, "name") or hasattr(n, "target")
        }
        found = {n for n in vars(getattr(_core, name)) if n not in STRUCT_SEQUENCE}
        assert {n for n in told if not n.startswith("__")} == {n for n in found if not n.startswith("__")}, name
        compared += 1
    assert compared > 3


def test_numbers_have_the_same_names():
    compared = 0
    for name, cls in stubbed(ast.ClassDef).items():
        if name.startswith("_"):
            fields = tuple(n.target.id for n in cls.body if isinstance(n, ast.AnnAssign))
            kind = type(getattr(_core, name[1:]))
            assert tuple(n for n in vars(kind) if n.isupper()) == fields, name
            compared += 1
    assert compared > 3
