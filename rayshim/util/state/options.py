"""The options of the state API: what is asked for, and how it is selected."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from enum import Enum, unique
from typing import TYPE_CHECKING, Any

from rayshim.errors.sites import calling
from rayshim.util.state.exception import RayStateApiException

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    """What can be listed."""

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
    """What can be summarized."""

    ACTORS = "actors"
    TASKS = "tasks"
    OBJECTS = "objects"


@dataclass
class ListApiOptions:
    """What to list. `timeout`, `exclude_driver` and `server_timeout_multiplier` are accepted and have no effect.

    Raises ValueError for a wrong type, or a comparison other than '=' and '!='."""

    limit: int = DEFAULT_LIMIT
    timeout: int = DEFAULT_RPC_TIMEOUT
    detail: bool = False
    filters: list[tuple[str, str, Any]] | None = field(default_factory=list)
    exclude_driver: bool = True
    server_timeout_multiplier: float = 0.8

    def __post_init__(self) -> None:
        self.limit = _whole(self.limit, "limit")
        self.timeout = _whole(self.timeout, "timeout")
        self.filters = _filters(self.filters)

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
        self.timeout = _whole(self.timeout, "timeout")


@dataclass
class SummaryApiOptions:
    """`filters`: which tasks, or actors, to count. Raises what ListApiOptions raises."""

    timeout: int = DEFAULT_RPC_TIMEOUT
    filters: list[tuple[str, str, Any]] | None = field(default_factory=list)
    summary_by: str | None = None

    def __post_init__(self) -> None:
        self.timeout = _whole(self.timeout, "timeout")
        self.filters = _filters(self.filters)


def _whole(value, name):
    try:
        whole = int(value)
        if whole == float(value):
            return whole
    except (TypeError, ValueError):
        pass
    raise ValueError(f"{name}: Input should be a valid integer, got {value!r} (at {calling()})")


def _filters(given):
    if given is None:
        return []
    if not isinstance(given, list):
        raise ValueError(f"filters: Input should be a valid list, got {given!r} (at {calling()})")
    for one in given:
        if not isinstance(one, (tuple, list)) or len(one) != 3:
            raise ValueError(
                f"The given filter has incorrect input type, {one!r}. Provide (key, predicate, value) tuples. (at {calling()})"
            )
        if one[1] not in ("=", "!="):
            raise ValueError(
                f"Unsupported filter predicate {one[1]} is given. Available predicates: =, !=. (at {calling()})"
            )
        if not isinstance(one[2], (str, int, float)):
            raise ValueError(
                f"filters: the value of {one[0]!r} should be a string, a number or a bool, got {one[2]!r} (at {calling()})"
            )
    return given


def selected(found: Iterable[tuple[StateSchema, int]], kind: type[StateSchema], options: ListApiOptions) -> list[Any]:
    """Those of the records that match the filters, `limit` at most; a record with a number n stands for n equal ones.

    Raises RayStateApiException for a field that filters may not name, or a value or limit that cannot be."""
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
    """Those of the records, each with its number, that match all filters. Raises RayStateApiException as `selected` does."""
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
