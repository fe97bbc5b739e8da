"""The options of the state API: what is asked for, and how it is selected."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, unique
from typing import TYPE_CHECKING, Any

from rayshim.errors.user_code import calling
from rayshim.util.state.exception import RayStateApiException

if TYPE_CHECKING:
    from rayshim.util.state.records import StateSchema

DEFAULT_RPC_TIMEOUT = 30
DEFAULT_LIMIT = 100
DEFAULT_LOG_LIMIT = 1000
_MOST = "RAY_MAX_LIMIT_FROM_API_SERVER"


def _limit_of(variable: str) -> int:
    """The number that the environment variable gives, as Ray reads it: digits only, else 10,000."""
    value = os.environ.get(variable, "")
    return int(value) if value.isdigit() else 10_000


RAY_MAX_LIMIT_FROM_API_SERVER = _limit_of(_MOST)
RAY_MAX_LIMIT_FROM_DATA_SOURCE = _limit_of("RAY_MAX_LIMIT_FROM_DATA_SOURCE")


@unique
class StateResource(Enum):
    """The kinds of resources that can be listed."""

    ACTORS = "actors"
    JOBS = "jobs"
    PLACEMENT_GROUPS = "placement_groups"
    NODES = "nodes"
    WORKERS = "workers"
    TASKS = "tasks"
    OBJECTS = "objects"
    RUNTIME_ENVS = "runtime_envs"
    CLUSTER_EVENTS = "cluster_events"


@unique
class SummaryResource(Enum):
    """The kinds of resources that can be summarized."""

    ACTORS = "actors"
    TASKS = "tasks"
    OBJECTS = "objects"


@dataclass
class ListApiOptions:
    """Options of a list. `timeout`, `exclude_driver` and `server_timeout_multiplier` are accepted and have no effect.

    Raises pydantic's ValidationError, a ValueError, for a wrong type, or a comparison other than '=' and '!='; without pydantic ValueError."""

    limit: int = DEFAULT_LIMIT
    timeout: int = DEFAULT_RPC_TIMEOUT
    detail: bool = False
    filters: list[tuple[str, str, Any]] | None = field(default_factory=list)
    exclude_driver: bool = True
    server_timeout_multiplier: float = 0.8

    def __post_init__(self) -> None:
        checks = _Checks(self)
        checks.whole("limit", "timeout")
        checks.truth("detail", "exclude_driver")
        checks.filters()
        checks.operators()
        checks.for_server()

    def has_conflicting_filters(self) -> bool:
        """Whether two filters ask for different values of one field; a warning says so."""
        wanted: dict[str, Any] = {}
        for key, predicate, value in self.filters or ():
            if predicate == "=" and wanted.setdefault(key, value) != value:
                warnings.warn(
                    f"There are multiple '=' filters with the same key '{key}' but different values"
                    f"'{wanted[key]}' & '{value}'. Empty result set will be returned",
                    UserWarning,
                    stacklevel=2,
                )
                return True
        return False


@dataclass
class GetApiOptions:
    """Accepted; has no effect."""

    timeout: int = DEFAULT_RPC_TIMEOUT
    server_timeout_multiplier: float = 0.8

    def __post_init__(self) -> None:
        checks = _Checks(self)
        checks.whole("timeout")
        checks.for_server()


@dataclass
class SummaryApiOptions:
    """`filters`: which tasks, or actors, to count. Raises what ListApiOptions raises for a wrong type."""

    timeout: int = DEFAULT_RPC_TIMEOUT
    filters: list[tuple[str, str, Any]] | None = field(default_factory=list)
    summary_by: str | None = None

    def __post_init__(self) -> None:
        checks = _Checks(self)
        checks.whole("timeout")
        if self.filters is not None:
            checks.filters()
        if self.summary_by is not None and not isinstance(self.summary_by, str):
            checks.refuse("summary_by", self.summary_by, "Input should be a valid string")


_TRUTH = {
    **dict.fromkeys(("1", "t", "true", "on", "y", "yes"), True),
    **dict.fromkeys(("0", "f", "false", "off", "n", "no"), False),
}


class _Checks:
    """Checks the fields of `options`, and converts them as pydantic does, by which Ray checks them."""

    def __init__(self, options):
        self.options = options

    def refuse(self, name, value, text):
        raise invalid(type(self.options).__name__, name, value, f"{text}, got {value!r:.80} (at {calling()})")

    def whole(self, *names):
        for name in names:
            value = getattr(self.options, name)
            try:
                whole = int(value)
                if whole != float(value):
                    raise ValueError
            except (TypeError, ValueError):
                self.refuse(name, value, f"{name}: Input should be a valid integer")
            else:
                setattr(self.options, name, whole)

    def truth(self, *names):
        for name in names:
            value = getattr(self.options, name)
            known = value in (0, 1) if isinstance(value, (int, float)) else str(value).lower() in _TRUTH
            if not known:
                self.refuse(name, value, f"{name}: Input should be a valid boolean")
            setattr(self.options, name, _TRUTH[value.lower()] if isinstance(value, str) else bool(value))

    def filters(self):
        given = self.options.filters
        if given is None:
            self.options.filters = []
            return
        if isinstance(given, (str, bytes, dict)) or not isinstance(given, Iterable):
            self.refuse("filters", given, "filters: Input should be a valid list")
        self.options.filters = [self._filter(one) for one in given]

    def _filter(self, one):
        if not isinstance(one, (tuple, list)) or len(one) != 3:
            self.refuse(
                "filters",
                one,
                "The given filter has incorrect input type. Provide (key, predicate, value) tuples. "
                "Input should be a valid tuple of three",
            )
        key, predicate, value = one
        if not isinstance(key, str) or not isinstance(predicate, str):
            self.refuse("filters", one, "filters: key and predicate: Input should be a valid string")
        if isinstance(value, bytes):
            value = value.decode()
        if not isinstance(value, (str, int, float)):
            self.refuse(
                "filters", value, f"filters: the value of {key!r}: Input should be a valid string, number or boolean"
            )
        return key, predicate, value

    def operators(self):
        for key, predicate, value in self.options.filters:
            if predicate not in ("=", "!="):
                raise invalid(
                    type(self.options).__name__,
                    "filters",
                    (key, predicate, value),
                    f"Value error, Unsupported filter predicate {predicate} is given. Available predicates: =, !=. (at {calling()})",
                )

    def for_server(self):
        """As on Ray, the time that is left of the timeout for those who are asked."""
        options = self.options
        try:
            options.timeout = max(1, int(options.timeout * float(options.server_timeout_multiplier)))
        except (TypeError, ValueError):
            self.refuse(
                "server_timeout_multiplier",
                options.server_timeout_multiplier,
                "server_timeout_multiplier: Input should be a valid number",
            )


def invalid(title: str, name: str, value: object, text: str) -> ValueError:
    """The error for a wrong field: pydantic's ValidationError, as in Ray. Without pydantic, a ValueError, which is its base class."""
    try:
        from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError
    except ImportError:
        return ValueError(text)
    wrong = PydanticCustomError("value_error", "{text}", {"text": text})  # pyright: ignore[reportArgumentType]
    return ValidationError.from_exception_data(title, [InitErrorDetails(type=wrong, loc=(name,), input=value)])


def selected(found: Iterable[tuple[StateSchema, int]], kind: type[StateSchema], options: ListApiOptions) -> list[Any]:
    """The records that match the filters, at most `limit`. A record with a number n stands for n equal records.

    Raises RayStateApiException if a filter names a field that cannot be filtered, or has an invalid value, and for an invalid limit."""
    most = _limit_of(_MOST)  # now: programs set the variable after this module was imported, and before `init`
    if options.limit < 0 or options.limit > most:
        raise RayStateApiException(
            f"Given limit {options.limit} exceeds the supported limit {most}. Use a lower limit, or set the `{_MOST}` environment variable "
            f"to a larger value. (at {calling()})"
            if options.limit > 0
            else f"The limit must not be negative, got {options.limit}. (at {calling()})"
        )
    out = []
    for record, count in matching(found, kind, options.filters):
        shown = record if options.detail else record.brief()
        out += [shown] * min(count, options.limit - len(out))
    return out


def matching(
    found: Iterable[tuple[StateSchema, int]], kind: type[StateSchema], filters: list[tuple[str, str, Any]] | None
) -> list[tuple[Any, int]]:
    """The records that match all filters, each with its number. Raises RayStateApiException as `selected` does."""
    tests = [_test(kind, *one) for one in filters or ()]
    return [(record, count) for record, count in found if all(test(record) for test in tests)]


def _test(kind, key, predicate, value):
    key = key.lower()
    if key not in kind.filterable_columns():
        raise RayStateApiException(
            f"The given filter column {key} is not supported. Supported filter columns: {', '.join(sorted(kind.filterable_columns()))}. "
            f"(at {calling()})"
        )
    typed = kind.__annotations__[key]  # a string
    if typed.startswith("int"):
        try:
            value = int(value)
        except ValueError:
            raise RayStateApiException(
                f"Failed to convert a value {value} of type {type(value)} to {int} (filter {key!r} at {calling()})"
            ) from None
    elif typed.startswith("bool") and not isinstance(value, bool):
        truth = {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())
        if truth is None:
            raise RayStateApiException(
                f"Invalid filter `--filter {key} {value}` for a boolean type column. Please provide `--filter {key} [True|true|1]` for True "
                f"or `--filter {key} [False|false|0]` for False. (at {calling()})"
            )
        value = truth

    def matches(record):
        have = record[key]
        if isinstance(have, str) and isinstance(value, str):
            return (have.lower() == value.lower()) == (predicate == "=")
        return (have == value) == (predicate == "=")

    return matches


for _class in [value for value in globals().values() if isinstance(value, type) and value.__module__ == __name__]:
    _class.__module__ = "rayshim.util.state.common"  # from where programs import them
del _class
