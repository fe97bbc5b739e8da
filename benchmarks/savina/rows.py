"""The rows: their published parameters, and small ones that an actor system with a process per actor finishes in seconds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One program. `parallel`: its work is computing, which workers can share, and not messages."""

    name: str
    title: str
    module: str
    published: dict
    small: dict
    parallel: bool = False

    @property
    def function(self):
        return self.name.replace("-", "_")


_MICRO, _SHARED, _WORK = "micro", "concurrency", "parallelism"

ROWS = {
    row.name: row
    for row in (
        Row("ping-pong", "ping pong", _MICRO, {"pings": 1_000_000}, {"pings": 3000}),
        Row("counting", "counting actor", _MICRO, {"messages": 1_000_000}, {"messages": 10_000}),
        Row("fork-join", "fork join, throughput", _MICRO, {"messages": 10_000, "actors": 60}, {"messages": 1000, "actors": 6}),
        Row("creation", "fork join, creation", _MICRO, {"actors": 40_000}, {"actors": 8}),
        Row("thread-ring", "thread ring", _MICRO, {"actors": 100, "hops": 100_000}, {"actors": 8, "hops": 4003}),
        Row("big", "big", _MICRO, {"actors": 120, "pings": 20_000}, {"actors": 6, "pings": 400}),
        Row("chameneos", "chameneos", _MICRO, {"chameneos": 100, "meetings": 200_000}, {"chameneos": 6, "meetings": 1500}),
        Row("smokers", "cigarette smokers", _SHARED, {"smokers": 200, "rounds": 1000}, {"smokers": 6, "rounds": 1000}),
        Row("philosophers", "dining philosophers", _SHARED, {"philosophers": 20, "rounds": 10_000}, {"philosophers": 6, "rounds": 200}),
        Row("dictionary", "concurrent dictionary", _SHARED, {"workers": 20, "messages": 10_000, "writes": 10}, {"workers": 6, "messages": 500, "writes": 10}),
        Row("sorted-list", "concurrent sorted list", _SHARED, {"workers": 20, "messages": 8000, "writes": 10, "sizes": 1}, {"workers": 6, "messages": 500, "writes": 10, "sizes": 1}),
        Row("bounded-buffer", "bounded buffer", _SHARED, {"buffer": 50, "producers": 40, "consumers": 40, "items": 1000, "cost": 25}, {"buffer": 8, "producers": 4, "consumers": 4, "items": 300, "cost": 25}),
        Row("bank", "bank transaction", _SHARED, {"accounts": 1000, "count": 50_000}, {"accounts": 10, "count": 2000}),
        Row("logistic-map", "logistic map series", _SHARED, {"terms": 25_000, "series": 10, "start_rate": 3.46}, {"terms": 800, "series": 3, "start_rate": 3.46}),
        Row("trapezoid", "trapezoid", _WORK, {"pieces": 10_000_000, "workers": 100, "left": 1.0, "right": 5.0}, {"pieces": 1_000_000, "workers": 8, "left": 1.0, "right": 5.0}, True),
        Row("queens", "N-queens", _WORK, {"workers": 20, "size": 12, "threshold": 4}, {"workers": 4, "size": 10, "threshold": 2}, True),
        Row("pi", "precise pi", _WORK, {"workers": 20, "precision": 5000}, {"workers": 4, "precision": 2000}, True),
        Row("matrix", "recursive matrix multiplication", _WORK, {"workers": 20, "length": 1024, "threshold": 16384}, {"workers": 4, "length": 512, "threshold": 16384}, True),
        Row("shortest-paths", "all-pairs shortest path", _WORK, {"nodes": 300, "block": 50}, {"nodes": 60, "block": 30}, True),
        Row("radix-sort", "radix sort", _WORK, {"size": 100_000, "limit": 1 << 60, "seed": 2048}, {"size": 1000, "limit": 1 << 8, "seed": 2048}),
        Row("filter-bank", "filter bank", _WORK, {"columns": 16_384, "simulations": 34_816, "channels": 8}, {"columns": 100, "simulations": 400, "channels": 2}),
    )
}  # fmt: skip
