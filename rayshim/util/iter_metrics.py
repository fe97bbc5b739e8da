"""Metrics that the operators of an iterator share."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from rayshim.util.timer import _Timer

if TYPE_CHECKING:
    from rayshim.calls.handle import ActorHandle


class MetricsContext:
    """The result of `LocalIterator.get_metrics()` inside the functions of an iterator.

    Attributes:
        counters: name -> number, initially 0.
        timers: name -> timer of code blocks: `with metrics.timers["sample"]: ...`.
        info: dict for anything else.
        current_actor: the handle of the actor that made the current item; set by `gather_async`.
    """

    def __init__(self) -> None:
        self.counters: defaultdict[str, int] = defaultdict(int)
        self.timers: defaultdict[str, _Timer] = defaultdict(_Timer)
        self.info: dict[str, Any] = {}
        self.current_actor: ActorHandle[Any] | None = None

    def save(self) -> dict[str, Any]:
        """The counters and the info as a picklable dict; without timers."""
        return {"counters": dict(self.counters), "info": dict(self.info), "timers": None}

    def restore(self, values: dict[str, Any]) -> None:
        """Sets the counters and the info from the result of `save`."""
        self.counters.clear()
        self.counters.update(values["counters"])
        self.timers.clear()
        self.info = values["info"]


class SharedMetrics:
    """A reference to a MetricsContext that can be changed, so that all parents of a union use the same one."""

    def __init__(self, metrics: MetricsContext | None = None, parents: list[SharedMetrics] | None = None) -> None:
        self.parents: list[SharedMetrics] = parents or []
        self.set(metrics or MetricsContext())

    def set(self, metrics: MetricsContext) -> None:
        self.metrics: MetricsContext = metrics
        for parent in self.parents:
            parent.set(metrics)

    def get(self) -> MetricsContext:
        return self.metrics
