"""The elements of a program, as its executor uses them: ports, actions, timers, modes, watchdogs, reactions, connections.

Reactions see ports, actions, modes and watchdogs directly. An executor sets the methods that reactions call (`set`, `schedule`, `start`, `stop`)
when it loads the program; before that they raise an exception.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

DEFER, DROP, REPLACE, UPDATE = POLICIES = ("defer", "drop", "replace", "update")
STARTUP, SHUTDOWN, RESET = EVENTS = ("startup", "shutdown", "reset")


def _not_running(*_: Any) -> Any:
    raise RuntimeError("This port or action belongs to a program that is not running: use it inside of a reaction")


class Port:
    """One channel of an input or output. A reaction that reads an input which is connected without delay sees the output itself.

    Attributes:
        value: the value that was set last; it stays when the port is absent.
        is_present: whether it was set at the current tag.
        set: called with the value by a reaction that has the port as an effect.
        intended_tag: the tag at which its value should have arrived: the current one, unless the value is tardy.
        physical_time_of_arrival: when it did arrive.
    """

    __slots__ = (
        "_clock",
        "channel",
        "instance",
        "is_input",
        "is_present",
        "mutable",
        "name",
        "set",
        "site",
        "value",
    )
    width: int = 1
    channel: int | None
    instance: Instance
    is_input: bool
    is_present: bool
    mutable: bool
    name: str
    set: Callable[[Any], object]
    site: str
    value: Any

    def __init__(
        self,
        instance: Instance,
        name: str,
        is_input: bool,
        mutable: bool = False,
        site: str = "",
        channel: int | None = None,
    ) -> None:
        self.instance, self.name, self.is_input, self.mutable = instance, name, is_input, mutable
        self.site, self.channel = site, channel
        self.value, self.is_present, self.set = None, False, _not_running
        self._clock: Any = None

    @property
    def path(self) -> str:
        index = "" if self.channel is None else f"[{self.channel}]"
        return f"{self.instance.path}.{self.name}{index}"

    @property
    def intended_tag(self) -> tuple[int, int]:
        return self._clock.tardy.get(self) or self._clock.tag()

    @property
    def physical_time_of_arrival(self) -> int:
        return self._clock.tag_reached

    def __repr__(self) -> str:
        return f"<Port {self.path}: {self.value if self.is_present else 'absent'}>"


class Multiport(list[Port]):
    """The channels of a port of some width."""

    def __init__(self, name: str, channels: Iterable[Port], make: Callable[[int], Port] | None = None) -> None:
        super().__init__(channels)
        self.name: str = name
        self._make = make
        self.found: list[int] | None = None  # the channels that are present, if the executor notes them as they are set

    def resize(self, width: int) -> None:
        """Gives it `width` channels; before the program runs and before the port is connected."""
        self[:] = [self._make(channel) for channel in range(width)]

    @property
    def width(self) -> int:
        return len(self)

    @property
    def is_present(self) -> bool:
        return any(port.is_present for port in self) if self.found is None else bool(self.found)

    @property
    def present(self) -> list[int]:
        """The indices of the channels that are present."""
        if self.found is None:
            return [i for i, port in enumerate(self) if port.is_present]
        return sorted(self.found) if len(self.found) > 1 else self.found[:]

    def set(self, value: Any) -> None:
        """Sets each channel to `value`."""
        for port in self:
            port.set(value)


class Contained:
    """The view that a reaction has of a contained reactor: its ports."""

    def __init__(self, ports: Mapping[str, Any]) -> None:
        vars(self).update(ports)


class Action:
    """A logical or physical action.

    Attributes:
        delay: minimum delay in nanoseconds; `schedule(extra, value)` adds to it.
        spacing: minimum time between two of its events, None for no minimum; `policy` says what becomes of an event that is too near.
    """

    __slots__ = (
        "delay", "fire", "index", "instance", "is_present", "last", "mode", "modes", "name",
        "pending", "physical", "policy", "schedule", "site", "spacing", "targets", "value",
    )  # fmt: skip

    delay: int
    fire: Callable[..., object]
    index: int
    instance: Instance
    is_present: bool
    last: tuple[int, int] | None
    mode: Mode | None
    modes: tuple[Mode, ...]
    name: str
    pending: dict[Any, Any]
    physical: bool
    policy: str
    schedule: Callable[..., Any]
    site: str
    spacing: int | None
    targets: Any
    value: Any

    def __init__(
        self,
        instance: Instance,
        name: str,
        physical: bool = False,
        delay: int = 0,
        spacing: int | None = None,
        policy: str = DEFER,
        mode: Mode | None = None,
        site: str = "",
    ) -> None:
        if policy not in POLICIES:
            raise ValueError(f"Action {name} ({site}) has policy {policy!r}: use one of {', '.join(POLICIES)}")
        self.instance, self.name, self.physical, self.mode, self.site = instance, name, physical, mode, site
        self.delay, self.spacing, self.policy = delay, spacing, policy
        self.value, self.is_present, self.schedule = None, False, _not_running
        self.pending, self.last, self.targets, self.modes, self.index = {}, None, (), (), -1

    @property
    def path(self) -> str:
        return f"{self.instance.path}.{self.name}"

    def __repr__(self) -> str:
        return f"<Action {self.path}: {self.value if self.is_present else 'absent'}>"


@dataclass(eq=False, slots=True)
class Timer:
    """Fires at `offset`, then each `period`; a period of 0: once."""

    instance: Instance
    name: str
    offset: int = 0
    period: int = 0
    mode: Mode | None = None
    site: str = ""
    modes: tuple[Mode, ...] = ()
    fire: Callable[[], None] | None = None

    @property
    def path(self) -> str:
        return f"{self.instance.path}.{self.name}"


class Watchdog:
    """A timer of the physical clock: its handler runs when `timeout` has passed since `start` and nobody called `stop`."""

    __slots__ = ("arguments", "deadline", "fire", "handler", "instance", "is_present", "mode", "modes", "name", "site", "start", "stop", "targets", "timeout", "value")  # fmt: skip

    arguments: tuple[Any, ...]
    deadline: int | None
    fire: Callable[..., object]
    handler: Callable[..., Any]
    instance: Instance
    is_present: bool
    mode: Mode | None
    modes: tuple[Mode, ...]
    name: str
    site: str
    start: Callable[..., Any]
    stop: Callable[..., Any]
    targets: Any
    timeout: int
    value: Any

    def __init__(
        self,
        instance: Instance,
        name: str,
        timeout: int,
        handler: Callable[..., Any],
        arguments: tuple[Any, ...] = (),
        mode: Mode | None = None,
        site: str = "",
    ) -> None:
        self.instance, self.name, self.timeout, self.handler = instance, name, timeout, handler
        self.arguments, self.mode, self.site = arguments, mode, site
        self.start = self.stop = _not_running
        self.deadline, self.targets, self.modes, self.is_present, self.value = None, (), (), False, None

    @property
    def path(self) -> str:
        return f"{self.instance.path}.{self.name}"


class Mode:
    """A mode of a reactor. A reaction that has it as an effect gets a `Transition`.

    Attributes:
        started: it was active once.
        needs_reset: it was reset, and its reactions to reset have not been triggered since.
        suspended: (nanoseconds left, microsteps left, event) of what waits until it is active.
    """

    __slots__ = ("active", "initial", "instance", "name", "needs_reset", "site", "started", "suspended")

    active: bool
    initial: bool
    instance: Instance
    name: str
    needs_reset: bool
    site: str
    started: bool
    suspended: list[Any]

    def __init__(self, instance: Instance, name: str, initial: bool = False, site: str = "") -> None:
        self.instance, self.name, self.initial, self.site = instance, name, initial, site
        self.active, self.started, self.needs_reset, self.suspended = initial, False, False, []

    @property
    def path(self) -> str:
        return f"{self.instance.path}.{self.name}"

    def __repr__(self) -> str:
        return f"<Mode {self.path}{', active' if self.active else ''}>"


class Transition:
    """Enters a mode, with or without its history; reactions call it."""

    __slots__ = ("history", "mode", "set")

    history: bool
    mode: Mode

    def __init__(self, mode: Mode, history: bool = False) -> None:
        self.mode, self.history = mode, history
        self.set: Callable[..., Any] = _not_running

    @property
    def path(self) -> str:
        return self.mode.path


@dataclass(eq=False, slots=True)
class Handler:
    """The method that runs instead of a reaction that is `limit` nanoseconds of physical time late."""

    function: Callable[..., Any]
    limit: int = 0
    site: str = ""


@dataclass(eq=False, slots=True)
class Federate:
    """A federate of a program: a reactor of the topmost one, with all that it contains. It may leave and join while the program runs.

    Attributes:
        maxwait: nanoseconds of physical time that it waits for inputs; FOREVER: until it has them; None: coordination is centralised.
        transient: it may be started again from outside when it has left.
        present: it takes part now.
        start: time at which it joined, or None: with the program.
        leaves: the tag at which it leaves, or None.
        reached: the last tag at which it ran a reaction.
    """

    instance: Instance | None = None
    maxwait: int | None = None
    transient: bool = False
    present: bool = True
    start: int | None = None
    leaves: tuple[int, int] | None = None
    reached: tuple[int, int] | None = None
    fire: Callable[[Any], None] | None = None
    modes: tuple[Mode, ...] = ()


@dataclass(eq=False, slots=True)
class Reaction:
    """Code of a reactor. `function(object, *arguments)` is called when one of `triggers` is present.

    Attributes:
        triggers: Ports, Actions, Timers, Watchdogs, and names out of EVENTS.
        sources: Ports and Actions that it reads besides.
        effects: Ports, Actions, Transitions and Watchdogs that it may use.
        arguments: what the function gets after the object; Ports and Multiports and what contains them are those of `names`.
        deadline: a Handler or None.
        tardy: what runs in its place when a value that it reads is tardy, or None; the reaction itself, if that handles it.
        tardy_limit: nanoseconds of physical time that its inputs are waited for beyond the federate's own `maxwait`.
    """

    instance: Instance
    name: str
    function: Callable[..., Any]
    triggers: list[Any] = field(default_factory=list)
    sources: list[Any] = field(default_factory=list)
    effects: list[Any] = field(default_factory=list)
    arguments: tuple[Any, ...] = ()
    mode: Mode | None = None
    deadline: Handler | None = None
    tardy: Callable[..., Any] | None = None
    tardy_limit: int = 0
    site: str = ""
    mutable: tuple[Port, ...] = ()
    modes: tuple[Mode, ...] = ()
    index: int = -1

    @property
    def path(self) -> str:
        return f"{self.instance.path}.{self.name}"


@dataclass(eq=False, slots=True)
class Connection:
    """From one port channel to another.

    Attributes:
        delay: None: at the same tag. Nanoseconds otherwise, 0 being the next microstep.
        physical: the value gets the tag of the physical clock.
        convert: called with each value; what it returns arrives. None: the value itself.
        wait: nanoseconds of physical time that its target is waited for beyond the federate's own `maxwait`.
    """

    source: Port
    target: Port
    delay: int | None = None
    physical: bool = False
    mode: Mode | None = None
    site: str = ""
    convert: Callable[[Any], Any] | None = None
    wait: int = 0
    modes: tuple[Mode, ...] = ()

    @property
    def federate(self) -> Federate | None:
        """The Federate that it leads to from another one, or None."""
        there = self.target.instance.federate
        return there if there is not self.source.instance.federate else None


@dataclass(eq=False, slots=True)
class Instance:
    """A reactor of a program, with what it contains. `object` is the `self` of its reactions.

    Attributes:
        make_state: called with the executor before the program starts, where this reactor is placed: makes its state.
        reset_state: called with a mode of this reactor that a reset enters, and with None when a mode is that the reactor lies in:
            resets the state that lies in this mode, or in none.
        mode: the Mode of `parent` that it lies in.
        federate: the Federate that it belongs to, or None.
        shares: it has an object that another reactor has and may change, so both run in the process of the program.
    """

    name: str
    parent: Instance | None = None
    object: Any = None
    mode: Mode | None = None
    kind: str = ""
    site: str = ""
    ports: dict[str, Any] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)
    timers: dict[str, Timer] = field(default_factory=dict)
    watchdogs: dict[str, Watchdog] = field(default_factory=dict)
    modes: dict[str, Mode] = field(default_factory=dict)
    reactions: list[Reaction] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    children: list[Instance] = field(default_factory=list)
    make_state: Callable[[Any], None] | None = None
    reset_state: Callable[[Mode | None], None] | None = None
    federate: Federate | None = None
    shares: bool = False

    @property
    def path(self) -> str:
        return f"{self.parent.path}.{self.name}" if self.parent else self.name

    def walk(self) -> Iterator[Instance]:
        """This reactor and all within it, each before what it contains."""
        yield self
        for child in self.children:
            yield from child.walk()

    def enclosing_modes(self) -> tuple[Mode, ...]:
        """The modes that must be active for what lies in this reactor, outermost first."""
        if self.parent is None:
            return ()
        return (*self.parent.enclosing_modes(), self.mode) if self.mode else self.parent.enclosing_modes()

    def channels(self) -> Iterator[Port]:
        for port in self.ports.values():
            yield from port if isinstance(port, Multiport) else (port,)


def channels(element: Port | Multiport) -> list[Port]:
    """The Ports of a Port or Multiport."""
    return list(element) if isinstance(element, Multiport) else [element]
