"""Metrics that the operators of an iterator share."""

from collections import defaultdict

from rayshim.util.timer import _Timer


class MetricsContext:
    """The result of `LocalIterator.get_metrics()` inside the functions of an iterator.

    Attributes:
        counters: name -> number, initially 0.
        timers: name -> timer of code blocks: `with metrics.timers["sample"]: ...`.
        info: dict for anything else.
        current_actor: the handle of the actor that made the current item; set by `gather_async`.
    """

    def __init__(self):
        self.counters = defaultdict(int)
        self.timers = defaultdict(_Timer)
        self.info = {}
        self.current_actor = None

    def save(self):
        """The counters and the info as a picklable dict; without timers."""
        return {"counters": dict(self.counters), "info": dict(self.info), "timers": None}

    def restore(self, values):
        """Sets the counters and the info from the result of `save`."""
        self.counters.clear()
        self.counters.update(values["counters"])
        self.timers.clear()
        self.info = values["info"]


class SharedMetrics:
    """A reference to a MetricsContext that can be changed, so that all parents of a union use the same one."""

    def __init__(self, metrics=None, parents=None):
        self.parents = parents or []
        self.set(metrics or MetricsContext())

    def set(self, metrics):
        self.metrics = metrics
        for parent in self.parents:
            parent.set(metrics)

    def get(self):
        return self.metrics
