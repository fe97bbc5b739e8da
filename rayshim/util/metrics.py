"""The program's own metrics: counters, gauges and histograms, with tags. `prometheus_text()` shows those of all processes.

Each process reports its metrics about once per second; the last second of a killed process may be missing.
"""

from __future__ import annotations

import bisect
import os
import re
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

from rayshim.errors.user_code import at, calling
from rayshim.session import session

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Counter", "Gauge", "Histogram", "prometheus_text"]

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_PERIOD = 1.0  # seconds between a process's reports

_lock = threading.Lock()
_series = {}  # (kind, name) -> {"description", "boundaries", "values": {tags as sorted tuple: number or [sum, counts...]}}
_changed = set()  # keys of _series that were not reported yet
_reporter = None  # thread of this process, started by its first metric
_reporter_pid = None


class Metric:
    """Base class of all metrics. `tag_keys` are the names of the tags with which each value is recorded.

    If Prometheus does not allow the name, a warning is logged and no values are recorded.
    """

    def __init__(self, name: str, description: str = "", tag_keys: tuple[str, ...] | None = None) -> None:
        if len(name) == 0:
            raise ValueError(f"Empty name is not allowed. Please provide a metric name. ({at(type(self).__name__)})")
        self._discard_metric = not _NAME.fullmatch(name)
        if self._discard_metric:
            warnings.warn(
                f"Invalid metric name: {name}. Metric will be discarded and data will not be collected or published. Metric names "
                "can only contain letters, numbers, _, and :. Metric names cannot start with numbers.",
                UserWarning,
                stacklevel=3,
            )
        if not isinstance(tag_keys, (tuple, type(None))):
            raise TypeError(
                f'tag_keys should be a tuple type, got: {type(tag_keys)} (metric {name} at {calling()}: write ("key",) for one)'
            )
        for key in tag_keys or ():
            if not isinstance(key, str):
                raise TypeError(f"Tag keys must be str, got {type(key)}. (metric {name} at {calling()}: {key!r})")
        self._name, self._description, self._tag_keys = name, description, tag_keys or ()
        self._key = type(self).__name__, name
        self._default_tags: dict[str, str] = {}
        # The default tags that were checked last, and where values with them alone are recorded: a program may change its dict.
        self._checked: tuple[dict[str, str], tuple[tuple[str, str], ...]] | None = None

    def set_default_tags(self, default_tags: dict[str, str]) -> Self:
        """Sets the tags for values that are recorded without these tags; returns the metric."""
        for key, value in default_tags.items():
            if key not in self._tag_keys:
                raise ValueError(
                    f"Unrecognized tag key {key}. (metric {self._name}, set_default_tags() at {calling()}: its tag_keys are {self._tag_keys})"
                )
            if not isinstance(value, str):
                raise TypeError(
                    f"Tag values must be str, got {type(value)}. (metric {self._name}, set_default_tags() at {calling()}: {key}={value!r})"
                )
        self._default_tags = default_tags
        return self

    @property
    def info(self) -> dict[str, Any]:
        """Its name, description, tag_keys and default_tags as a dict."""
        return {
            "name": self._name,
            "description": self._description,
            "tag_keys": self._tag_keys,
            "default_tags": self._default_tags,
        }

    def _record(self, value, tags, update, boundaries=()):
        if not isinstance(value, (int, float)):
            raise TypeError(f"value must be int or float, got {type(value)}. (metric {self._name} at {calling()})")
        if tags:
            place = self._place(tags)
        elif self._checked is not None and self._checked[0] == self._default_tags:
            place = self._checked[1]
        else:
            place = self._place({})
            self._checked = dict(self._default_tags), place
        if self._discard_metric:
            return
        with _lock:
            series = _series.get(self._key)
            if series is None:
                series = _series[self._key] = {
                    "description": self._description,
                    "boundaries": tuple(boundaries),
                    "values": {},
                }
            series["values"][place] = update(series["values"].get(place))
            _changed.add(self._key)
        _ensure_reporter()

    def _place(self, tags):
        """The tags of a value, given and default ones, as a sorted tuple of items."""
        for tag in tags.values():
            if not isinstance(tag, str):
                raise TypeError(
                    f"Tag values must be str, got {type(tag)}. (metric {self._name} at {calling()}: {tag!r})"
                )
        tags = {**self._default_tags, **tags}
        missing = [key for key in self._tag_keys if key not in tags]
        if missing:
            raise ValueError(
                f"Missing value for tag key(s): {','.join(missing)}. (metric {self._name} at {calling()}: give them in tags=, or once by set_default_tags())"
            )
        return tuple(sorted(tags.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._name, self._description, self._tag_keys)


class Counter(Metric):
    """A number that grows."""

    def inc(self, value: float = 1.0, tags: dict[str, str] | None = None) -> None:
        """Adds `value`, which must be above 0."""
        if isinstance(value, (int, float)) and value <= 0:
            raise ValueError(
                f"value must be >0, got {value} (counter {self._name}, {at('inc')}: for a number that falls, use a Gauge)"
            )
        self._record(value, tags, lambda old: (old or 0) + value)


class Gauge(Metric):
    """A number that is set."""

    def set(self, value: float | None, tags: dict[str, str] | None = None) -> None:
        """Sets the value; None is ignored."""
        if value is not None:
            self._record(value, tags, lambda old: value)


class Histogram(Metric):
    """Counts values by intervals. `boundaries` are the ends of the intervals, ascending positive numbers."""

    def __init__(
        self,
        name: str,
        description: str = "",
        boundaries: list[float] | None = None,
        tag_keys: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__(name, description, tag_keys)
        if not boundaries:
            raise ValueError(
                'boundaries argument should be provided when using the Histogram class. e.g., Histogram("name", boundaries=[1.0, 2.0])'
                f" (histogram {name} at {calling()})"
            )
        for i, boundary in enumerate(boundaries):
            if boundary <= 0:
                raise ValueError(
                    f"Invalid `boundaries` argument at index {i}, {boundaries}. Use positive values for the arguments. (histogram {name} at {calling()})"
                )
        self.boundaries = boundaries

    def observe(self, value: float, tags: dict[str, str] | None = None) -> None:
        """Counts `value`."""

        def update(old):
            found = old or [0.0] * (len(self.boundaries) + 2)
            found[1 + bisect.bisect_left(self.boundaries, value)] += 1
            found[0] += value
            return found

        self._record(value, tags, update, self.boundaries)

    @property
    def info(self) -> dict[str, Any]:
        return {**super().info, "boundaries": self.boundaries}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._name, self._description, self.boundaries, self._tag_keys)


def _ensure_reporter():
    global _reporter, _reporter_pid
    if _reporter_pid == os.getpid():
        return
    _reporter_pid = os.getpid()
    _reporter = threading.Thread(target=_report_for_ever, name="metrics", daemon=True)
    _reporter.start()


def _report_for_ever():
    while True:
        time.sleep(_PERIOD)
        report()


def report() -> None:
    """Sends the changed metrics of this process to the supervisor."""
    s = session.current
    if s is None:
        return
    with _lock:
        changed = {key: _copy(_series[key]) for key in _changed}
        _changed.clear()
    for key, series in changed.items():
        try:
            s.placement.post(("metrics", os.getpid(), *key), series)
        except (RuntimeError, ValueError):
            return  # the session is ending, or one metric has too many tags for one message


def _copy(series):
    values = {place: list(value) if isinstance(value, list) else value for place, value in series["values"].items()}
    return {**series, "values": values}


def prometheus_text() -> str:
    """The metrics of all processes, up to the last second, in Prometheus's text format (str).

    Counters and histograms are summed over the processes; a gauge has one line per process, with its `pid` as a tag.
    """
    s = session.current
    with _lock:
        mine = {("metrics", os.getpid(), *key): _copy(series) for key, series in _series.items()}
    posted = s.placement.posted("metrics") if s is not None else {}
    by_metric = {}
    for (_, pid, kind, name), series in sorted({**posted, **mine}.items(), key=lambda item: item[0][1:]):
        by_metric.setdefault((name, kind), []).append((pid, series))
    return "".join(
        line for (name, kind), found in sorted(by_metric.items()) for line in _FORMATS[kind](f"ray_{name}", found)
    )


def _counter(name, found):
    yield from _head(f"{name}_total", found, "counter")
    for tags, value in _sums(found).items():
        yield f"{name}_total{_tags(tags)} {value:g}\n"


def _gauge(name, found):
    yield from _head(name, found, "gauge")
    for pid, series in found:
        for tags, value in series["values"].items():
            yield f"{name}{_tags((*tags, ('pid', str(pid))))} {value:g}\n"


def _histogram(name, found):
    yield from _head(name, found, "histogram")
    bounds = [*(f"{b:g}" for b in found[0][1]["boundaries"]), "+Inf"]
    for tags, (total, *counts) in _sums(found).items():
        up_to = 0
        for bound, count in zip(bounds, counts):
            up_to += count
            yield f"{name}_bucket{_tags((*tags, ('le', bound)))} {up_to:g}\n"
        yield f"{name}_sum{_tags(tags)} {total:g}\n"
        yield f"{name}_count{_tags(tags)} {up_to:g}\n"


_FORMATS = {"Counter": _counter, "Gauge": _gauge, "Histogram": _histogram}


def _head(name, found, kind):
    text = found[0][1]["description"].replace("\\", "\\\\").replace("\n", "\\n")
    yield f"# HELP {name} {text}\n"
    yield f"# TYPE {name} {kind}\n"


def _sums(found):
    sums = {}
    for _, series in found:
        for tags, value in series["values"].items():
            old = sums.get(tags)
            if old is not None:
                value = [a + b for a, b in zip(old, value)] if isinstance(value, list) else old + value
            sums[tags] = value
    return sums


def _tags(tags):
    quoted = (value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for _, value in tags)
    text = ",".join(f'{key}="{value}"' for (key, _), value in zip(tags, quoted))
    return f"{{{text}}}" if text else ""
