"""Figures that the operators of an iterator share."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from rayshim.util.timer import _Timer


class MetricsContext:
    """What `LocalIterator.get_metrics()` gives inside an iterator's functions.

    Attributes:
        counters: name -> number, 0 at first.
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
        """The counters and the info as a picklable dict; timers are not kept."""
        return {"counters": dict(self.counters), "info": dict(self.info), "timers": None}

    def restore(self, values: list[Any]) -> None:
        """Takes over what `save` gave."""
        self.counters.clear()
        self.counters.update(values["counters"])  # pyright: ignore[reportArgumentType, reportCallIssue]
        self.timers.clear()
        self.info = values["info"]  # pyright: ignore[reportArgumentType, reportCallIssue]


class SharedMetrics:
    """A reference to a MetricsContext that can be redirected: a union's parents then all count into one."""

    def __init__(self, metrics: Any = None, parents: Any = None) -> None:
        self.parents = parents or []
        self.set(metrics or MetricsContext())

    def set(self, metrics: Any) -> None:
        self.metrics = metrics
        for parent in self.parents:
            parent.set(metrics)

    def get(self) -> Any:
        return self.metrics
