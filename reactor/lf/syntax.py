"""The syntax tree of a file, as plain data. Every node has its file, line and column."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True, repr=False)
class Node:
    file: Any = None  # File
    line: int = 0
    column: int = 0
    attributes: dict = field(default_factory=dict)

    @property
    def site(self):
        return f"{self.file.path}:{self.line}"


@dataclass
class Expression(Node):
    """`kind`: "value", "time", "name", "code", "list", "tuple" or "set"; `value`: the value, nanoseconds, the name, the text, or Expressions."""

    kind: str
    value: object


@dataclass
class Reference(Node):
    container: str | None
    name: str
    interleaved: bool = False


@dataclass
class Width(Node):
    """`terms`: Expressions, and References of ports whose widths are added."""

    terms: list


@dataclass
class Parameter(Node):
    name: str
    initial: object


@dataclass
class State(Node):
    name: str
    initial: object
    reset: bool


@dataclass
class Method(Node):
    name: str
    arguments: list
    code: object


@dataclass
class Port(Node):
    name: str
    is_input: bool
    width: object
    mutable: bool = False


@dataclass
class Timer(Node):
    name: str
    offset: object
    period: object


@dataclass
class Action(Node):
    name: str
    physical: bool | None  # None: the file does not say
    delay: object
    spacing: object
    policy: str


@dataclass
class Watchdog(Node):
    name: str
    timeout: object
    effects: list
    code: object


@dataclass
class Instantiation(Node):
    name: str
    width: object
    reactor: str
    arguments: dict


@dataclass
class Connection(Node):
    sources: list
    targets: list
    repeated: bool
    physical: bool
    delay: object
    serializer: str | None


@dataclass
class Transition(Node):
    name: str
    history: bool


@dataclass
class Handled(Node):
    """A handler of a reaction: of a deadline, or of values that come late. `code` None: the reaction itself."""

    limit: object
    code: object


@dataclass
class Reaction(Node):
    name: str | None
    triggers: list
    sources: list
    effects: list
    code: object
    late: object
    deadline: object


@dataclass
class Preamble(Node):
    code: object


@dataclass
class Mode(Node):
    name: str
    initial: bool
    members: list


@dataclass
class Reactor(Node):
    name: str
    kinds: set
    parameters: list
    bases: list
    members: list


@dataclass
class Import(Node):
    names: dict
    path: str
    package: bool


@dataclass
class File:
    path: str
    text: str
    target: str = ""
    properties: dict = field(default_factory=dict)
    places: dict = field(
        default_factory=dict
    )  # {property: (line, column)}, and that of the target declaration for None
    imports: list = field(default_factory=list)
    preambles: list = field(default_factory=list)
    reactors: list = field(default_factory=list)
    twice: tuple | None = None  # (message, line, column) of the first property or argument that is given twice
