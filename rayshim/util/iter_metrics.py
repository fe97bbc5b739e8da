"""Figures that the operators of an iterator share."""

from collections import defaultdict

from rayshim.util.timer import _Timer


class MetricsContext:
    """What `LocalIterator.get_metrics()` gives inside an iterator's functions.

    Attributes:
        counters: name -> number, 0 at first.
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
        """The counters and the info as a picklable dict; timers are not kept."""
        return {"counters": dict(self.counters), "info": dict(self.info), "timers": None}

    def restore(self, values):
        """Takes over what `save` gave."""
        self.counters.clear()
        self.counters.update(values["counters"])
        self.timers.clear()
        self.info = values["info"]


class SharedMetrics:
    """A reference to a MetricsContext that can be redirected: a union's parents then all count into one."""

    def __init__(self, metrics=None, parents=None):
        self.parents = parents or []
        self.set(metrics or MetricsContext())

    def set(self, metrics):
        self.metrics = metrics
        for parent in self.parents:
            parent.set(metrics)

    def get(self):
        return self.metrics
