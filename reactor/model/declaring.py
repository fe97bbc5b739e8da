"""Programs declared by Python classes.

A subclass of `Reactor` declares its elements and reactions in its body; what it contains and how that is connected, in `__init__`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from reactor.model import elements as e
from reactor.model.levels import GraphError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, TypeAlias

    from reactor.model.time import Tag
    from typing_extensions import Self

    Readable: TypeAlias = "Input | Action | str"
    Writable: TypeAlias = "Output | Action | Mode | str"
    Ports: TypeAlias = "e.Port | Sequence[Ports]"

F = TypeVar("F", bound="Callable[..., Any]")
_HERE = os.path.dirname(os.path.abspath(__file__))


def _site():
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename.removeprefix(os.getcwd() + os.sep)}:{frame.f_lineno}"


class _Declaration:
    def __init__(self) -> None:
        self.name: str = ""
        self.site: str = _site()

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class Input(_Declaration):
    """An input port. In reactions: `self.name.value`, `self.name.is_present`.

    Arguments:
        type: of its values, for readers and type checkers; not checked.
        width: number of channels; None: a single port. `self.name.resize(n)` in `__init__` gives another.
        mutable: reactions may change the value: each gets a copy of its own.
    """

    def __init__(self, type: Any = None, *, width: int | None = None, mutable: bool = False) -> None:
        super().__init__()
        self.type: Any = type
        self.width: int | None = width
        self.mutable: bool = mutable

    def make(self, instance: e.Instance) -> e.Port | e.Multiport:
        def channel(number: int | None = None) -> e.Port:
            return e.Port(instance, self.name, isinstance(self, Input), self.mutable, self.site, number)

        port = channel() if self.width is None else e.Multiport(self.name, map(channel, range(self.width)), channel)
        instance.ports[self.name] = port
        return port

    if TYPE_CHECKING:  # an attribute of a reactor is what the declaration makes

        @overload
        def __get__(self, instance: None, owner: Any) -> Input: ...
        @overload
        def __get__(self, instance: object, owner: Any) -> Any: ...
        def __get__(self, instance: Any, owner: Any) -> Any: ...


class Output(_Declaration):
    """An output port. In reactions that have it as an effect: `self.name.set(value)`. Arguments as of `Input`."""

    mutable: bool = False

    def __init__(self, type: Any = None, *, width: int | None = None) -> None:
        super().__init__()
        self.type: Any = type
        self.width: int | None = width

    if not TYPE_CHECKING:
        make = Input.make
    else:

        def make(self, instance: e.Instance) -> e.Port | e.Multiport: ...

        # An attribute of a reactor is what the declaration makes.

        @overload
        def __get__(self, instance: None, owner: Any) -> Output: ...
        @overload
        def __get__(self, instance: object, owner: Any) -> Any: ...
        def __get__(self, instance: Any, owner: Any) -> Any: ...


class Timer(_Declaration):
    """Triggers at `offset` nanoseconds after the start, then each `period`; 0: once. `__init__` may set both on `self.name`."""

    def __init__(self, offset: int = 0, period: int = 0, *, mode: Mode | None = None) -> None:
        super().__init__()
        self.offset: int = offset
        self.period: int = period
        self.mode: Mode | None = mode

    def make(self, instance: e.Instance) -> e.Timer:
        mode = _mode(instance, self.mode)
        instance.timers[self.name] = timer = e.Timer(instance, self.name, self.offset, self.period, mode, self.site)
        return timer

    if TYPE_CHECKING:  # an attribute of a reactor is what the declaration makes

        @overload
        def __get__(self, instance: None, owner: Any) -> Timer: ...
        @overload
        def __get__(self, instance: object, owner: Any) -> e.Timer: ...
        def __get__(self, instance: Any, owner: Any) -> Any: ...


class Action(_Declaration):
    """An event that a reaction schedules for its own reactor: `self.name.schedule(extra_delay, value)`.

    Arguments:
        delay: minimum delay in nanoseconds.
        spacing: minimum time between two of its events.
        policy: for an event that is too near to the earlier one: "defer" (it comes later), "drop", "replace" (the earlier event gets its
            value, if that event is still pending) or "update" (the earlier event is removed, if it is still pending).
    """

    physical: bool = False

    def __init__(
        self,
        delay: int = 0,
        spacing: int | None = None,
        policy: Literal["defer", "drop", "replace", "update"] = "defer",
        *,
        mode: Mode | None = None,
    ) -> None:
        super().__init__()
        self.delay: int = delay
        self.spacing: int | None = spacing
        self.policy: str = policy
        self.mode: Mode | None = mode

    def make(self, instance: e.Instance) -> e.Action:
        mode = _mode(instance, self.mode)
        action = e.Action(instance, self.name, self.physical, self.delay, self.spacing, self.policy, mode, self.site)
        instance.actions[self.name] = action
        return action

    if TYPE_CHECKING:  # an attribute of a reactor is what the declaration makes

        @overload
        def __get__(self, instance: None, owner: Any) -> Action: ...
        @overload
        def __get__(self, instance: object, owner: Any) -> e.Action: ...
        def __get__(self, instance: Any, owner: Any) -> Any: ...


class PhysicalAction(Action):
    """An event from outside: any thread may schedule it; its tag is the physical clock's time then. Arguments as of `Action`."""

    physical: bool = True


class Mode(_Declaration):
    """A mode of a reactor, entered by `self.name.set()` or `self.name.set(history=True)` in a reaction that has it as an effect."""

    def __init__(self, *, initial: bool = False) -> None:
        super().__init__()
        self.initial: bool = initial

    def make(self, instance: e.Instance) -> e.Transition:
        instance.modes[self.name] = mode = e.Mode(instance, self.name, self.initial, self.site)
        return e.Transition(mode)

    if TYPE_CHECKING:  # an attribute of a reactor is what the declaration makes

        @overload
        def __get__(self, instance: None, owner: Any) -> Mode: ...
        @overload
        def __get__(self, instance: object, owner: Any) -> e.Transition: ...
        def __get__(self, instance: Any, owner: Any) -> Any: ...


class _Reaction(_Declaration):
    def __init__(
        self,
        function: Callable[..., Any],
        triggers: tuple[Any, ...],
        uses: Any,
        effects: Any,
        mode: Mode | None,
    ) -> None:
        super().__init__()
        code = function.__code__
        path = code.co_filename
        here = os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path
        self.site: str = f"{here}:{code.co_firstlineno}"
        self.function: Callable[..., Any] = function
        self.triggers: tuple[Any, ...] = triggers
        self.uses: tuple[Any, ...] = _several(uses)
        self.effects: tuple[Any, ...] = _several(effects)
        self.mode: Mode | None = mode
        self.deadline: e.Handler | None = None

    def late(self, limit: int) -> Callable[[F], F]:
        """Decorator of the method that runs in its place when it is `limit` nanoseconds of physical time late."""

        def decorate(function: F) -> F:
            self.deadline = e.Handler(function, limit, self.site)
            return function

        return decorate

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def reaction(
    *triggers: Input | Action | Timer | str,
    uses: Readable | Sequence[Readable] = (),
    effects: Writable | Sequence[Writable] = (),
    mode: Mode | None = None,
) -> Callable[[Callable[..., Any]], _Reaction]:
    """Decorator of a method that runs when one of `triggers` is present.

    Arguments:
        triggers: inputs, actions and timers of the class, STARTUP, SHUTDOWN, RESET, or a port of a contained reactor as
            "attribute.port".
        uses: ports that it reads besides.
        effects: outputs, actions, modes, and inputs of contained reactors that it may set.
        mode: it runs only while this mode is active.
    """
    return lambda function: _Reaction(function, triggers, uses, effects, mode)


class Reactor:
    """Base class of reactors. State is ordinary attributes. Contained reactors are attributes too, or lists of them."""

    _declared: ClassVar[dict[str, Any]] = {}
    _instance: e.Instance
    _in_mode: dict[Reactor, e.Mode]
    _clock: Any  # reactor.execution.loop.Loop, set when the program is loaded

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._declared = {
            name: value
            for c in reversed(cls.__mro__)
            for name, value in vars(c).items()
            if isinstance(value, _Declaration)
        }

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        self._instance = e.Instance(cls.__name__, object=self, kind=cls.__name__, site=_site())
        self._in_mode = {}
        declared = cls._declared.items()
        for name, declaration in sorted(declared, key=lambda item: not isinstance(item[1], Mode)):
            if not isinstance(declaration, _Reaction):
                self.__dict__[name] = declaration.make(self._instance)
        return self

    def connect(
        self,
        source: Ports,
        target: Ports,
        *,
        after: int | None = None,
        physical: bool = False,
        mode: Mode | e.Transition | None = None,
    ) -> None:
        """Connects ports of this reactor and of those that it contains.

        Arguments:
            source, target: ports, multiports, or lists of them; they must have equally many channels, or one source feeds all.
            after: None: at the same tag. Nanoseconds: that much later; 0 is the next microstep.
            physical: the value gets the time of the physical clock as its tag.
            mode: only while this mode is active.
        """
        site = _site()
        sources, targets = list(_flat(source, site)), list(_flat(target, site))
        if len(sources) == 1:
            sources *= len(targets)
        if len(sources) != len(targets):
            raise GraphError(
                f"Connection ({site}) has {len(sources)} sources and {len(targets)} targets: connect equal numbers of both"
            )
        where = self._instance.modes[mode.name] if isinstance(mode, Mode) else mode and mode.mode
        for one, other in zip(sources, targets):
            self._instance.connections.append(e.Connection(one, other, after, physical, where, site))

    def within(self, mode: e.Transition, *contained: Reactor) -> None:
        """Puts contained reactors into a mode."""
        for one in contained:
            self._in_mode[one] = mode.mode

    @property
    def tag(self) -> Tag:
        """The current Tag."""
        return self._clock.tag()

    @property
    def elapsed(self) -> int:
        """Nanoseconds of logical time since the start."""
        return self._clock.elapsed()

    @property
    def physical_elapsed(self) -> int:
        """Nanoseconds of physical time since the start."""
        return self._clock.physical() - self._clock.start

    def request_stop(self) -> None:
        """Ends the program: reactions to SHUTDOWN run at the next microstep."""
        self._clock.request_stop()


def elaborate(top: Reactor) -> e.Instance:
    """The Instance of a Reactor, with everything in it.

    Raises:
        GraphError: what does not fit together, with the declaring lines.
    """
    _elaborate(top)
    problems = [problem for instance in top._instance.walk() for problem in _problems(instance)]
    if problems:
        raise GraphError("\n".join(problems))
    return top._instance


def _elaborate(self):
    instance = self._instance
    for name, value in vars(self).items():
        if name.startswith("_"):
            continue
        several = isinstance(value, (list, tuple))
        for k, child in enumerate(value if several else (value,)):
            if isinstance(child, Reactor) and child._instance.parent is None and child is not self:
                child._instance.name = f"{name}[{k}]" if several else name
                child._instance.parent, child._instance.mode = instance, self._in_mode.get(child)
                instance.children.append(child._instance)
                _elaborate(child)
    for name, declared in type(self)._declared.items():
        if isinstance(declared, _Reaction):
            instance.reactions.append(_reaction(self, name, declared))


def _reaction(self, name, declared):
    found = {kind: _resolved(self, getattr(declared, kind), declared) for kind in ("triggers", "uses", "effects")}
    reaction = e.Reaction(self._instance, name, declared.function, found["triggers"], found["uses"], found["effects"])
    reaction.site, reaction.deadline, reaction.mode = (
        declared.site,
        declared.deadline,
        _mode(self._instance, declared.mode),
    )
    reaction.mutable = tuple(p for p in (*reaction.triggers, *reaction.sources) if isinstance(p, e.Port) and p.mutable)
    return reaction


def _resolved(self, names, declared):
    found = []
    for name in names:
        if name in e.EVENTS:
            found.append(name)
            continue
        path = name.name if isinstance(name, _Declaration) else name
        elements = [self]
        for part in path.split("."):
            elements = [getattr(one, part, None) for element in elements for one in _listed(element)]
        for element in elements:
            if not isinstance(element, (e.Port, e.Multiport, e.Action, e.Timer, e.Transition)):
                what = f"Reaction {self._instance.path}.{declared.name} ({declared.site})"
                raise GraphError(
                    f"{what} names {path!r}, which {type(self).__name__} does not declare: declare it in the class"
                )
            found.extend(element if isinstance(element, e.Multiport) else [element])
    return found


def _problems(instance):
    for reaction_ in instance.reactions:
        what = f"Reaction {reaction_.path} ({reaction_.site})"
        for port in (*reaction_.triggers, *reaction_.sources):
            if isinstance(port, e.Port) and not (port.is_input if port.instance is instance else not port.is_input):
                yield f"{what} reads {port.path} ({port.site}): it can read own inputs and outputs of contained reactors"
        for port in reaction_.effects:
            if isinstance(port, e.Port) and (port.is_input if port.instance is instance else not port.is_input):
                yield f"{what} writes {port.path} ({port.site}): it can write own outputs and inputs of contained reactors"
    fed = {}
    for connection in instance.connections:

        def joins(connection=connection):
            return f"Connection {connection.source.path} -> {connection.target.path} ({connection.site})"

        for port, inner in ((connection.source, False), (connection.target, True)):
            owner = port.instance
            if owner is not instance and owner.parent is not instance:
                yield f"{joins()}: {port.path} belongs neither to {instance.path} nor to a reactor in it: connect it there"
            elif port.is_input == ((owner is instance) == inner):
                yield f"{joins()}: {port.path} ({port.site}) is an {'input' if port.is_input else 'output'} and stands on the wrong side"
        other = fed.setdefault((connection.target, connection.mode), connection)
        if other is not connection and connection.delay is None and other.delay is None:
            yield f"{joins()}: {connection.target.path} is connected already ({other.site}): give it an input of its own"
        if connection.delay is not None and connection.delay < 0:
            yield f"{joins()} has delay {connection.delay} ns: a delay is None, 0 or more"
    if instance.modes and sum(mode.initial for mode in instance.modes.values()) != 1:
        yield f"Reactor {instance.path} ({instance.site}) has modes: make exactly one of them initial"


def _listed(element):
    return element if isinstance(element, (list, tuple)) and not isinstance(element, e.Multiport) else [element]


def _several(names):
    return tuple(names) if isinstance(names, (list, tuple)) else (names,)


def _flat(ports, site):
    if isinstance(ports, (list, tuple)):
        for one in ports:
            yield from _flat(one, site)
    elif isinstance(ports, e.Port):
        yield ports
    else:
        raise GraphError(f"Connection ({site}) names {ports!r}, which is not a port: give ports of reactors")


def _mode(instance, declared):
    return instance.modes[declared.name] if declared is not None else None
