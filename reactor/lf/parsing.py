"""Parses the text of a file."""

import ast
import difflib
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from reactor.lf import syntax as s
from reactor.lf.errors import LFError
from reactor.model import time as times

try:
    from lark import Lark, Token, Transformer, UnexpectedInput, v_args
except ImportError as error:
    raise ImportError("Lingua Franca files are read with lark: pip install lark") from error


@lru_cache
def _parser():
    return Lark(
        Path(__file__).with_name("grammar.lark").read_text(),
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
    )


def prepare():
    """Makes the parser; a process that is forked afterwards has it."""
    _parser()


def parse(path, text):
    """The File of a text.

    Raises:
        LFError: it is not Lingua Franca.
    """
    file = s.File(path, text)
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise _unexpected(error, path, text) from None
    _ToSyntax(file).transform(tree)
    if file.twice:
        message, line, column = file.twice
        raise LFError(message, path, text, line, column)
    return file


def _unexpected(error, path, text):
    """The LFError for what the grammar does not allow."""
    found = getattr(error, "token", None)
    line, column = error.line, error.column
    if not (found or getattr(error, "char", None)):
        lines = text.splitlines() or [""]
        message = f"the file ends here; expected {_expected(error)}"
        return LFError(message, path, text, len(lines), len(lines[-1]) + 1)
    what = repr(str(found) if found else error.char)
    before, after = text[: error.pos_in_stream], text[error.pos_in_stream :]
    (word,) = re.findall(r"(\w+)\s*$", before) or [""]
    meant = [] if word in _KEYWORDS else difflib.get_close_matches(word, _KEYWORDS, 1)
    if after.startswith("{=") and not _code_pattern().match(after):
        message = "this {= has no =} that ends the code"
    elif after.startswith('"'):
        message = "this text has no double quote that ends it"
    elif after.startswith("'"):
        message = f"unexpected {what}: text stands in double quotes"
    elif re.search(r"\d\s*$", before) and after[:1].isalpha():
        message = f"{what} is not a unit of time; there are {', '.join(times.UNITS)}"
    elif meant:
        message = f"unexpected {what}; did you mean {meant[0]} in place of {word}?"
    else:
        message = f"unexpected {what}; expected {_expected(error)}"
    return LFError(message, path, text, line, column)


def _code_pattern():
    return next(re.compile(terminal.pattern.value) for terminal in _parser().terminals if terminal.name == "CODE")


def _expected(error):
    """The text of the symbols that the grammar allows."""
    names = getattr(error, "expected", None) or getattr(error, "allowed", None) or ()
    if {"REACTION", "REACTOR", "ORIGIN"} & set(names):  # a list of all of it would tell less
        where = (
            "a reactor" if "REACTOR" in names else "a declaration such as input, state, timer, reaction or connection"
        )
        return f"{where}, or {chr(39)}}}{chr(39)}" if "RBRACE" in names else where
    spelled = {
        terminal.name: terminal.pattern.value for terminal in _parser().terminals if terminal.pattern.type == "str"
    }
    words = sorted({repr(spelled[name]) if name in spelled else str(_WORDS.get(name, name.lower())) for name in names})
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


_KEYWORDS = [
    "target",
    "import",
    "from",
    "main",
    "federated",
    "reactor",
    "extends",
    "preamble",
    "input",
    "output",
    "mutable",
    "state",
    "timer",
    "logical",
    "physical",
    "action",
    "watchdog",
    "reaction",
    "method",
    "mode",
    "initial",
    "reset",
    "new",
    "after",
    "deadline",
    "startup",
    "shutdown",
]
_WORDS = {
    "ID": "a name",
    "CODE": "code in {= =}",
    "STRING": "text in double quotes",
    "CHAR": "a character",
    "NUMBER": "a number",
    "TIME": "a time value",
    "BOOLEAN": "true, false",
    "PATH": "a path",
    "PACKAGE": "a package in < >",
    "KEY": "a property",
    "HOST": "a host",
    "EVENT": "startup, shutdown, reset",
    "TRANSITION": "reset, history",
}


class Code(str):
    """A block of code; `line` and `column` are where its text begins."""

    line = column = 1


def _code(token):
    code = Code(token[2:-2])
    code.line, code.column = token.line, token.column
    return code


@v_args(meta=True)
class _ToSyntax(Transformer):
    def __init__(self, file):
        super().__init__()
        self.file = file

    def _node(self, kind, meta, *values, **named):
        return kind(*values, **named, file=self.file, line=meta.line, column=meta.column)

    def _members(self, children):
        """Members with the attributes that stand before them."""
        members, attributes = [], {}
        for child in children:
            if type(child) is tuple:
                attributes[child[1]] = child[2]
            else:
                child.attributes, attributes = attributes, {}
                members.append(child)
        return members

    # ---- the file

    def start(self, meta, children):
        for child in self._members(filter(None, children)):
            if isinstance(child, s.Import):
                self.file.imports.append(child)
            elif isinstance(child, s.Preamble):
                self.file.preambles.append(child)
            elif isinstance(child, s.Reactor):
                self.file.reactors.append(child)

    def target(self, meta, children):
        pairs = children[1] if len(children) > 1 and children[1] else {}
        self.file.target = str(children[0])
        self.file.properties = {key: value for key, (value, _) in pairs.items()}
        self.file.places = {None: (meta.line, meta.column), **{key: place for key, (_, place) in pairs.items()}}

    def pairs(self, meta, children):
        found = {}
        for key, value in filter(None, children):
            if key in found:
                self._twice(key, *value[1])
            found[key] = value
        return found

    def _twice(self, name, line, column):
        """Notes a property or an argument that is given twice, for `parse` to refuse: lark would wrap an exception."""
        self.file.twice = self.file.twice or (f"{name} is given already: take one of the two out", line, column)

    def pair(self, meta, children):
        key, value = children
        return _unquoted(key), (_property(value), (key.line, key.column))

    def array(self, meta, children):
        return [_property(child) for child in children if child is not None]

    def imported(self, meta, children):
        *names, path = children
        package = path.type == "PACKAGE"
        path = path[1:-1] if package else _unquoted(path)
        return self._node(s.Import, meta, dict(names), path, package)

    def import_name(self, meta, children):
        name, alias = children
        return str(alias or name), str(name)

    def attribute(self, meta, children):
        name, *values = children
        return "@", str(name), [value for value in values if value is not None]

    def attribute_value(self, meta, children):
        return _property(children[-1])

    # ---- reactors

    def reactor(self, meta, children):
        parts, kinds, members = {"name": None, "parameters": [], "bases": []}, set(), []
        for child in children:
            if isinstance(child, Token):
                kinds.add(str(child))
            elif isinstance(child, _Part):
                parts[child.what] = child.value
            elif child is not _IGNORED:
                members.append(child)
        return self._node(
            s.Reactor, meta, parts["name"], kinds, parts["parameters"], parts["bases"], self._members(members)
        )

    def reactor_name(self, meta, children):
        return _Part("name", str(children[0]))

    def _ignored(self, meta, children):
        return _IGNORED

    type_parameters = type_arguments = host = type_of = type = alias = _ignored

    def parameters(self, meta, children):
        return _Part("parameters", [child for child in children if child is not None])

    def parameter(self, meta, children):
        name, initial = (child for child in _known(children) if type(child) is not tuple)
        return self._node(s.Parameter, meta, str(name), initial)

    def bases(self, meta, children):
        return _Part("bases", [str(child) for child in children])

    def mode(self, meta, children):
        initial, name, *members = children
        return self._node(s.Mode, meta, str(name or ""), initial is not None, self._members(members))

    def preamble(self, meta, children):
        return self._node(s.Preamble, meta, _code(children[-1]))

    def state(self, meta, children):
        reset, name, initial = _known(children)
        return self._node(s.State, meta, str(name), initial, reset is not None)

    def method(self, meta, children):
        name, arguments, code = _known(children)
        return self._node(s.Method, meta, str(name), arguments, _code(code))

    def arguments(self, meta, children):
        return [str(child) for child in children if child is not None]

    def argument(self, meta, children):
        return children[0]

    def input(self, meta, children):
        mutable, width, name = _known(children)
        return self._node(s.Port, meta, str(name), True, width, mutable is not None)

    def output(self, meta, children):
        width, name = _known(children)
        return self._node(s.Port, meta, str(name), False, width)

    def timer(self, meta, children):
        name, offset, period = children
        return self._node(s.Timer, meta, str(name), self._expression(offset), self._expression(period))

    def action(self, meta, children):
        origin, name, delay, spacing, policy = _known(children)
        expressions = self._expression(delay), self._expression(spacing)
        policy = _unquoted(policy) if policy else "defer"
        physical = None if origin is None else origin == "physical"
        return self._node(s.Action, meta, str(name), physical, *expressions, policy)

    def watchdog(self, meta, children):
        name, timeout, effects, code = children
        return self._node(s.Watchdog, meta, str(name), self._expression(timeout), effects or [], _code(code))

    def instantiation(self, meta, children):
        name, width, reactor, *arguments = _known(children)
        given = {}
        for argument in filter(None, arguments):
            if argument.name in given:
                self._twice(argument.name, argument.line, argument.column)
            given[argument.name] = argument.initial
        node = self._node(s.Instantiation, meta, str(name), width, str(reactor), given)
        return node

    assignment = parameter

    def width(self, meta, children):
        return self._node(s.Width, meta, [child for child in children if child is not None])

    def width_term(self, meta, children):
        return self._expression(children[0])

    def width_of(self, meta, children):
        return children[0]

    def connection(self, meta, children):
        sources, *children = children
        repeated = isinstance(children[0], Token) and children[0].type == "PLUS"
        if repeated or children[0] is None:
            children = children[1:]
        arrow, targets, delay, serializer = children
        delay = self._expression(delay)
        node = self._node(s.Connection, meta, sources, targets, repeated, arrow == "~>", delay, serializer)
        return node

    def serializer(self, meta, children):
        return _unquoted(children[0])

    def references(self, meta, children):
        return children

    sources = triggers = references

    def effects(self, meta, children):
        return children[1:]

    def reference(self, meta, children, interleaved=False):
        container, name = _known(children)
        if name is None:
            container, name = None, container
        return self._node(s.Reference, meta, container and str(container), str(name), interleaved)

    def interleaved(self, meta, children):
        return self.reference(meta, children, True)

    def transition(self, meta, children):
        kind, name = children
        return self._node(s.Transition, meta, str(name), kind == "history")

    def reaction(self, meta, children):
        name, triggers, sources, effects, code, *handlers = children
        parts = triggers or [], sources or [], effects or [], _code(code) if code else Code()
        named = {handler.what: handler.value for handler in handlers}
        return self._node(s.Reaction, meta, name and str(name), *parts, named.get("late"), named.get("deadline"))

    def late(self, meta, children, what="late"):
        return _Part(what, self._node(s.Handled, meta, self._expression(children[0]), _code(children[1])))

    def deadline(self, meta, children):
        return self.late(meta, children, "deadline")

    def tardy(self, meta, children):
        return _Part("late", self._node(s.Handled, meta, None, _code(children[0]) if children[0] else None))

    # ---- expressions

    def initial(self, meta, children):
        return self._expression(children[0])

    def initial_items(self, meta, children):
        """`x(1, 2)`, as older programs have it, is a list; `x = (1, 2)` is Python's tuple."""
        (expression,) = children
        if isinstance(expression, s.Expression) and expression.kind in ("tuple", "set"):
            expression.kind = "list"
        return expression

    def list_brackets(self, meta, children, kind="list"):
        items = [self._expression(child) for child in children if child is not None]
        return self._node(s.Expression, meta, kind, items)

    def list_braces(self, meta, children):
        return self.list_brackets(meta, children, "set")

    def list_parens(self, meta, children):
        items = [child for child in children if child is not None]
        return self._expression(items[0]) if len(items) == 1 else self.list_brackets(meta, items, "tuple")

    def _expression(self, value):
        if value is None or isinstance(value, s.Expression):
            return value
        if value.type == "CODE":
            return self._node(s.Expression, value, "code", _code(value))
        if value.type == "ID":
            return self._node(s.Expression, value, "name", str(value))
        return self._node(s.Expression, value, "time" if value.type in _TIMES else "value", _literal(value))


_IGNORED = object()
_TIMES = ("TIME", "FOREVER")


class _Part(NamedTuple):
    what: str
    value: object


def _known(children):
    return [child for child in children if child is not _IGNORED]


def _unquoted(token):
    return ast.literal_eval(str(token)) if str(token)[:1] in "\"'" else str(token)


def _literal(token):
    if token.type in _TIMES:
        return -times.parse(token[1:]) if token.startswith("-") else times.parse(str(token))
    if token.type == "NUMBER":
        return float(token) if set(token) & set(".eE") else int(token)
    if token.type == "BOOLEAN":
        return token.lower() == "true"
    return _unquoted(token)


def _property(value):
    """The value of a property or attribute; a time value is text."""
    if isinstance(value, dict):
        return {key: inner for key, (inner, _) in value.items()}
    if isinstance(value, list):
        return value
    if value.type in _TIMES:
        return str(value)
    if value.type == "PATH":
        return {"true": True, "True": True, "false": False, "False": False}.get(str(value), str(value))
    return _literal(value)
