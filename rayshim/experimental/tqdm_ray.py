"""tqdm for tasks and actors: the driver draws their progress bars, one below the other. Needs the package `tqdm`."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from rayshim.api.bars import RAY_TQDM_MAGIC, _BarManager, instance, plain_print, safe_print, take_line  # noqa: F401
from rayshim.errors.address import get_node_ip_address
from rayshim.errors.user_code import calling
from rayshim.session import session

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["RAY_TQDM_MAGIC", "instance", "plain_print", "safe_print", "take_line", "tqdm"]


class tqdm:
    """A progress bar with a part of tqdm's interface, which the driver draws.

    Arguments:
        iterable: the iterable to iterate over; or None, then call `update`.
        desc: text before the bar.
        total: number of steps; default: the iterable's length if it has one.
        unit: name of a step.
        position: line of the bar among those of this process.
        flush_interval_s: seconds between reports to the driver.
    """

    DEFAULT_FLUSH_INTERVAL_SECONDS = 1.0

    def __init__(
        self,
        iterable: Iterable[Any] | None = None,
        desc: str | None = None,
        total: int | None = None,
        unit: str | None = None,
        position: int | None = None,
        flush_interval_s: float | None = None,
    ) -> None:
        if total is None and iterable is not None:
            try:
                total = len(iterable)  # pyright: ignore[reportArgumentType]
            except (TypeError, AttributeError):
                pass  # of unknown length
        self._iterable = iterable
        self._state: dict[str, Any] = {
            "__magic_token__": RAY_TQDM_MAGIC,
            "x": 0,
            "pos": position or 0,
            "desc": desc or "",
            "total": total,
            "unit": unit or "it",
            "ip": get_node_ip_address(),
            "pid": os.getpid(),
            "uuid": os.urandom(16).hex(),
            "closed": False,
        }
        self._interval = self.DEFAULT_FLUSH_INTERVAL_SECONDS if flush_interval_s is None else flush_interval_s
        self._reported = 0.0

    def set_description(self, desc: str) -> None:
        self._state["desc"] = desc
        self._tell()

    def update(self, n: int = 1) -> None:
        """Adds `n` steps to the finished ones."""
        self._state["x"] += n
        self._tell()

    def refresh(self) -> None:
        self._tell()

    def close(self) -> None:
        """Closes the bar. Its last state is shown at once."""
        self._state["closed"] = True
        self._tell(now=True)

    @property
    def total(self) -> int | None:
        return self._state["total"]

    @total.setter
    def total(self, total: int | None) -> None:
        self._state["total"] = total

    @property
    def n(self) -> int:
        return self._state["x"]

    @n.setter
    def n(self, n: int) -> None:
        self._state["x"] = n

    def __iter__(self) -> Iterator[Any]:
        if self._iterable is None:
            raise ValueError(
                f"No iterable provided (at {calling()}: `tqdm(iterable)`; without one, call update() and do not iterate)"
            )
        for item in self._iterable:
            self.update(1)
            yield item

    def _tell(self, now=False):
        if not now and time.monotonic() - self._reported < self._interval:
            return
        self._reported = time.monotonic()
        if session.in_worker():
            plain_print(json.dumps(self._state), flush=True)
        else:
            instance().process_state_update(dict(self._state))
