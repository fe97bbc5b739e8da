"""Blocks of Python in a file, compiled so that tracebacks show the file's own lines."""

import ast
import re

from reactor.lf.errors import LFError, running


def _compiled(node, code, lines, first, read_only=frozenset()):
    """A code object for `lines`, whose first is line `first` of the file. It must not assign attributes of `self` that are in `read_only`."""
    try:
        tree = ast.parse("\n".join(lines), node.file.path)
    except SyntaxError as error:
        line, column = (error.lineno or 1) + first - 1, error.offset or 1
        column += _moved(node, code, line, lines[line - first] if line - first < len(lines) else "")
        raise LFError(f"Python: {error.msg}", node.file.path, node.file.text, line, column) from None
    ast.increment_lineno(tree, first - 1)
    moved = _moved(node, code, code.line, lines[code.line - first])
    for found in ast.walk(tree):
        if moved and isinstance(found, (ast.expr, ast.stmt)) and found.lineno == code.line:  # carets in tracebacks
            found.col_offset += moved
            if found.end_lineno == code.line and found.end_col_offset is not None:
                found.end_col_offset += moved
        if isinstance(found, ast.Attribute) and found.attr in read_only and _changes_self(found):
            message = f"{found.attr} is a parameter, which keeps its value: declare a state variable and change that"
            raise LFError(
                message, node.file.path, node.file.text, found.lineno, _column(node, found.lineno, found.attr)
            )
    return compile(tree, node.file.path, "exec")


def _moved(node, code, line, compiled):
    """How many columns further right a line of the file has what was compiled as the line `compiled`."""
    (*_, original) = node.file.text.splitlines()[line - 1 : line] or [""]
    at = original.find(compiled.strip(), code.column + 1 if line == code.line else 0)
    return at - (len(compiled) - len(compiled.lstrip())) if compiled.strip() and at >= 0 else 0


def _changes_self(attribute):
    return (
        isinstance(attribute.value, ast.Name)
        and attribute.value.id == "self"
        and not isinstance(attribute.ctx, ast.Load)
    )


def _column(node, line, name):
    return max(0, node.file.text.splitlines()[line - 1].find(f"self.{name}")) + 1


def function(node, code, name, arguments, scope, read_only=frozenset()):
    """The function of a block of code with these arguments. `read_only`: attributes of `self` that it must not assign."""
    return _define_function(node, _function_code(node, code, name, arguments, read_only), name, scope)


def _function_code(node, code, name, arguments, read_only):
    head = f"def {name}({', '.join(arguments)}):"
    lines = code.split("\n")
    if all(not line.strip() or line.strip().startswith("#") for line in lines):
        return _compiled(node, code, [f"{head} pass"], code.line, read_only)
    if lines[0].strip():  # code on the line of {=
        body = [lines[0].strip(), *_below(lines[0], lines[1:])]
        return _compiled(node, code, [head, *(" " + line for line in body)], code.line - 1, read_only)
    return _compiled(node, code, [head, *_indented(lines[1:])], code.line, read_only)


def _define_function(node, code, name, scope):
    defined = {}
    exec(code, scope, defined)
    return defined[name]


def block(node, code, scope, names):
    """Runs a block of code; what it defines comes into `names`."""
    lines = code.split("\n")
    if lines[0].strip():
        lines = [lines[0].strip(), *_below(lines[0], lines[1:])]
    else:
        lines = ["", *_outdented(lines[1:])]
    compiled = _compiled(node, code, lines, code.line)
    with running(node, "this preamble"):
        exec(compiled, scope, names)


def value(node, code, scope, names):
    """The value of an expression in a block of code."""
    text = f"({code.strip()}\n)"
    try:
        tree = ast.parse(text, node.file.path, "eval")
    except SyntaxError as error:
        raise LFError(f"Python: {error.msg}", node.file.path, node.file.text, node.line, node.column) from None
    ast.increment_lineno(tree, code.line - 1)
    compiled = compile(tree, node.file.path, "eval")
    with running(node, "this expression"):
        return eval(compiled, scope, names)


def _least(lines):
    return min(
        (len(line) - len(line.lstrip()) for line in lines if line.strip() and not line.lstrip().startswith("#")),
        default=0,
    )


def _below(first, lines):
    """The lines after `first`, which stands on the line of {=, indented as belongs below it: within it if it ends in a colon."""
    lines = _outdented(lines)
    following = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    within = _OPENS.search(first) and not following[:1].isspace()
    return [" " + line for line in lines] if within else lines


_OPENS = re.compile(r":\s*(#[^\"']*)?$")


def _indented(lines):
    return lines if _least(lines) else [" " + line for line in lines]


def _outdented(lines):
    least = _least(lines)
    return [line[least:] if line[:least].isspace() or not least else line.lstrip() for line in lines]
