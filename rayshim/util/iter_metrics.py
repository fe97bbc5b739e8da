"""Metrics that the operators of an iterator share."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from rayshim.util.timer import _Timer


class MetricsContext:
    """The result of `LocalIterator.get_metrics()` inside the functions of an iterator.

    Attributes:
        counters: name -> number, initially 0.
        timers: name -> timer of code blocks: `with metrics.timers["sample"]: ...`.
        info: dict for anything else.
        current_actor: the handle of the actor that made the current item; set by `gather_async`.
    """

    def __init__(self) -> None:
        self.counters = defaultdict(int)
        self.timers = defaultdict(_Timer)
        self.info = {}
        self.current_actor = None

    def save(self) -> Any:
        """The counters and the info as a picklable dict; without timers."""
        return {"counters": dict(self.counters), "info": dict(self.info), "timers": None}

    def restore(self, values: list[Any]) -> None:
        """Sets the counters and the info from the result of `save`."""
        self.counters.clear()
        self.counters.update(values["counters"])  # pyright: ignore[reportArgumentType, reportCallIssue]
        self.timers.clear()
        self.info = values["info"]  # pyright: ignore[reportArgumentType, reportCallIssue]


class SharedMetrics:
    """A reference to a MetricsContext that can be changed, so that all parents of a union use the same one."""

    def __init__(self, metrics: Any = None, parents: Any = None) -> None:
        self.parents = parents or []
        self.set(metrics or MetricsContext())

    def set(self, metrics: Any) -> None:
        self.metrics = metrics
        for parent in self.parents:
            parent.set(metrics)

    def get(self) -> Any:
        return self.metrics
