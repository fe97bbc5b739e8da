"""tqdm for tasks and actors: their progress bars are drawn by the driver, one below the other. Needs the package `tqdm`."""

import builtins
import json
import os
import sys
import threading
import time
import warnings

from rayshim.sites import calling

RAY_TQDM_MAGIC = "__ray_tqdm_magic_token__"
_START = f'{{"__magic_token__": "{RAY_TQDM_MAGIC}"'  # how a worker's line begins that is a bar's state

_print = builtins.print
_manager = None
_lock = threading.Lock()


class tqdm:
    """A progress bar with a part of tqdm's interface, which tells the driver how far it is.

    Arguments:
        iterable: what to iterate over; or None, and call `update`.
        desc: text before the bar.
        total: number of steps; default: the iterable's length if it has one.
        unit: name of a step.
        position: line among this process's bars.
        flush_interval_s: seconds between reports.
    """

    DEFAULT_FLUSH_INTERVAL_SECONDS = 1.0

    def __init__(self, iterable=None, desc=None, total=None, unit=None, position=None, flush_interval_s=None):
        if total is None and iterable is not None:
            try:
                total = len(iterable)
            except (TypeError, AttributeError):
                pass  # of unknown length
        self._iterable = iterable
        self._state = {
            "__magic_token__": RAY_TQDM_MAGIC,
            "x": 0,
            "pos": position or 0,
            "desc": desc or "",
            "total": total,
            "unit": unit or "it",
            "ip": "127.0.0.1",
            "pid": os.getpid(),
            "uuid": os.urandom(16).hex(),
            "closed": False,
        }
        self._interval = self.DEFAULT_FLUSH_INTERVAL_SECONDS if flush_interval_s is None else flush_interval_s
        self._told = 0.0

    def set_description(self, desc):
        self._state["desc"] = desc
        self._tell()

    def update(self, n=1):
        """`n` steps more are done."""
        self._state["x"] += n
        self._tell()

    def refresh(self):
        self._tell()

    def close(self):
        """The bar is done with; its last state is shown whatever the interval."""
        self._state["closed"] = True
        self._tell(now=True)

    @property
    def total(self):
        return self._state["total"]

    @total.setter
    def total(self, total):
        self._state["total"] = total

    @property
    def n(self):
        return self._state["x"]

    @n.setter
    def n(self, n):
        self._state["x"] = n

    def __iter__(self):
        if self._iterable is None:
            raise ValueError(f"No iterable provided (at {calling()}: `tqdm(iterable)`; without one, call update() and do not iterate)")
        for item in self._iterable:
            self.update(1)
            yield item

    def _tell(self, now=False):
        if not now and time.monotonic() - self._told < self._interval:
            return
        self._told = time.monotonic()
        from rayshim import session

        if session.current is not None and session.current.driver is None:
            _print(json.dumps(self._state), flush=True)
        else:
            instance().process_state_update(dict(self._state))


def take_line(line):
    """Whether a worker's line of output is a bar's state; it is then drawn."""
    if not line.startswith(_START):
        return False
    instance().process_state_update(json.loads(line))
    return True


def safe_print(*args, **kwargs):
    """`print` that goes well with the bars. It takes the place of `print` when the first bar is drawn, unless the environment
    has RAY_TQDM_PATCH_PRINT=0."""
    if _manager is None or kwargs.get("file") not in (None, sys.stdout, sys.stderr):
        _print(*args, **kwargs)
        return
    try:
        _manager.hide_bars()
        _print(*args, **kwargs)
    finally:
        _manager.unhide_bars()


def instance():
    """This process's _BarManager."""
    global _manager
    with _lock:
        if _manager is None:
            _manager = _BarManager()
        return _manager


class _BarManager:
    """The driver's side: the bars of all processes, each process's below those of the earlier ones."""

    def __init__(self):
        try:
            from tqdm.auto import tqdm as real
        except ImportError:
            real = None
            warnings.warn("tqdm is not installed. Progress bars will be disabled.", stacklevel=4)
        self._tqdm = real
        self._bars = {}  # uuid -> (state, tqdm's bar), in the order of the lines
        self._hidden = False
        self.num_hides = 0
        self.lock = threading.RLock()
        if real is not None and os.environ.get("RAY_TQDM_PATCH_PRINT", "1") != "0":
            builtins.print = safe_print

    def process_state_update(self, state):
        """Draws the bar of this state anew; makes it when it is new, and ends it when it is closed."""
        if self._tqdm is None:
            return
        with self.lock:
            if state["pid"] != os.getpid():
                state["desc"] = f"(pid={state['pid']}) {state['desc']}"
            _, bar = self._bars.get(state["uuid"]) or (None, None)
            if bar is None:
                bar = self._tqdm(
                    desc=state["desc"], total=state["total"], unit=state["unit"], position=0, dynamic_ncols=True, unit_scale=True
                )
            self._bars[state["uuid"]] = (state, bar)
            bar.set_description(state["desc"], refresh=False)
            bar.total = state["total"]
            bar.update(state["x"] - bar.n)
            if state["closed"]:
                self.hide_bars()
                bar.close()
                del self._bars[state["uuid"]]
            self._arrange()
            self.unhide_bars()

    def _arrange(self):
        lines = {}  # pid -> lines of its bars
        for state, _ in self._bars.values():
            lines[state["pid"]] = max(lines.get(state["pid"], 0), 1 + state["pos"])
        above, place = 0, {}
        for pid, count in lines.items():
            place[pid] = above
            above += count
        for state, bar in self._bars.values():
            wanted = -(place[state["pid"]] + state["pos"])
            if bar.pos != wanted:
                bar.clear()
                bar.pos = wanted
            bar.refresh()

    def hide_bars(self):
        """Takes the bars off the screen while something else is printed."""
        with self.lock:
            if not self._hidden:
                self._hidden = True
                self.num_hides += 1
                for _, bar in self._bars.values():
                    bar.clear()

    def unhide_bars(self):
        with self.lock:
            if self._hidden:
                self._hidden = False
                for _, bar in self._bars.values():
                    bar.refresh()
