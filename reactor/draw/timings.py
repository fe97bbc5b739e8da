"""Measurements for the drawings: how often, how long and in which worker each reaction ran."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from reactor.recording.graph import activity
from reactor.recording.patterns import Timing

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reactor.recording.patterns import Recording


@dataclass(frozen=True)
class Timings:
    """Timings by qualified name of the reaction, for a run of `wall` seconds (0: unknown). `workers`: {reactor: number of its worker}, for reactors
    that share a process."""

    wall: float = 0.0
    reactions: dict[str, Timing] = field(default_factory=dict)
    workers: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_recording(
        cls, recording: Recording, seconds: Mapping[str, float] | None = None, wall: float | None = None
    ) -> Timings:
        """The Timings of a recording: calls and time of each reaction, and the callers' own time.

        Arguments:
            seconds: {qualified name: seconds that it ran}, which override those of the recording.
            wall: seconds of the whole run; default: the time of the busiest caller.
        """
        runs, spent = activity(recording)
        by_caller = Counter()
        for pattern in recording.patterns:
            by_caller[pattern.caller] += pattern.seconds  # pyright: ignore[reportArgumentType]  a Counter takes floats, too
        for name, timing in recording.measured.items():
            if name in runs:
                runs[name], spent[name] = timing.calls, timing.seconds  # pyright: ignore[reportArgumentType]  None: not known
        spent.update(seconds or {})
        wall = max(by_caller.values(), default=0.0) if wall is None else wall
        return cls(wall, {name: Timing(n, spent.get(name)) for name, n in runs.items()}, dict(recording.workers))

    def of(self, names: Iterable[str]) -> Timing | None:
        """The Timing of several reactions as if they were one: their calls summed, their seconds the mean. None: not known."""
        known = [self.reactions[name] for name in names if name in self.reactions]
        seconds = [timing.seconds for timing in known if timing.seconds is not None]
        mean = sum(seconds) / len(seconds) if seconds else None
        return Timing(sum(timing.calls for timing in known), mean) if known else None

    def place(self, reactors: Iterable[str]) -> str:
        """ "worker 0", "workers 0, 2"; "" for reactors with processes of their own."""
        numbers = sorted({self.workers[name] for name in reactors if name in self.workers})
        return f"worker{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}" if numbers else ""

    def share(self, timing: Timing | None) -> float | None:
        """The share of the wall time, a float; None when not known."""
        known = timing and timing.seconds is not None and self.wall
        return timing.seconds / self.wall if known else None

    def label(self, timing: Timing | None) -> str:
        """ "1,234/s · 34%"; "" for None."""
        if not timing:
            return ""
        rate = (
            per_second(timing.calls / self.wall) if self.wall else f"{timing.calls:,} call{'s' * (timing.calls != 1)}"
        )
        share = self.share(timing)
        return rate if share is None else f"{rate} · {percent(share)}"


def per_second(rate: float) -> str:
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"


def percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "<1%"


def size(count: float) -> str:  # pyright: ignore[reportReturnType]  the last unit returns
    """1536 -> "1.5 KB": bytes as a person reads them; "" for 0, which means unknown."""
    if not count:
        return ""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024 or unit == "GB":
            return f"{count:.3g} {unit}" if unit != "B" else f"{count} B"
        count /= 1024


def duration(seconds: float) -> str:
    """0.0015 -> "1.5 ms"."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.2g} µs"
