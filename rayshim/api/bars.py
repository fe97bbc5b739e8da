"""The driver's side of `ray.experimental.tqdm_ray`: draws the progress bars of all processes, one below the other."""

from __future__ import annotations

import builtins
import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from rayshim.errors.logs import logger

if TYPE_CHECKING:
    from collections.abc import Callable

RAY_TQDM_MAGIC = "__ray_tqdm_magic_token__"
_START = f'{{"__magic_token__": "{RAY_TQDM_MAGIC}"'  # how a worker's line begins that is a bar's state
plain_print: Callable[..., None] = builtins.print
_manager = None
_lock = threading.Lock()
_reported = False  # that a state could not be read


def take_line(line: str) -> bool:
    """If a worker's line of output is the state of a progress bar, draws the bar and returns True; otherwise returns False."""
    return line.startswith(_START) and text_before(line) == ""


def text_before(line: str) -> str | None:
    """Draws the progress bar whose state is at the end of a worker's line, and returns the text before it, which was printed without an end of
    its line; None if the line has no state. A state that cannot be read is not shown; the first one is reported."""
    global _reported
    place = line.find(_START)
    if place < 0:
        return None
    try:
        instance().process_state_update(json.loads(line[place:]))
    except (ValueError, LookupError, TypeError):  # other threads have printed into it
        if not _reported:
            _reported = True
            logger.warning(
                "[tqdm_ray] Failed to decode %s, this may be due to logging too fast. This warning will not be printed again.",
                line,
            )
    return line[:place]


def safe_print(*args: Any, **kwargs: Any) -> None:
    """`print` that hides the bars while it prints. It replaces the builtin `print` when the first bar is drawn, unless the environment
    has RAY_TQDM_PATCH_PRINT=0."""
    if _manager is None or kwargs.get("file") not in (None, sys.stdout, sys.stderr):
        plain_print(*args, **kwargs)
        return
    try:
        _manager.hide_bars()
        plain_print(*args, **kwargs)
    finally:
        _manager.unhide_bars()


def instance() -> Any:
    """This process's _BarManager."""
    global _manager
    with _lock:
        if _manager is None:
            _manager = _BarManager()
        return _manager


def _origin(pid):
    """The process of a bar, before its description."""
    return colored(f"(pid={pid}) ", "2;36", sys.stderr)


def colored(text, color, screen):
    """`text` in this color, if the stream `screen` is a terminal and NO_COLOR is not set."""
    return f"\x1b[{color}m{text}\x1b[0m" if "NO_COLOR" not in os.environ and _is_terminal(screen) else text


def _is_terminal(screen):
    try:
        return screen.isatty()
    except (AttributeError, ValueError):  # a stream of the program's own, or a closed one
        return False


class _BarManager:
    """The bars of all processes. The bars of each process are below those of the processes that came before it."""

    def __init__(self):
        try:
            from tqdm.auto import tqdm as real
        except ImportError:
            real = None
            logger.warning("tqdm is not installed. Progress bars will be disabled.")
        self._tqdm = real
        self._bars = {}  # uuid -> (state, tqdm's bar), in the order of the lines
        self._hidden = False
        self.num_hides = 0
        self.lock = threading.RLock()
        if real is not None and os.environ.get("RAY_TQDM_PATCH_PRINT", "1") != "0":
            builtins.print = safe_print

    def process_state_update(self, state):
        """Draws the bar with its new state. Creates the bar if it is new, and removes it if the state says that it is closed."""
        if self._tqdm is None:
            return
        with self.lock:
            if state["pid"] != os.getpid():
                state["desc"] = f"{_origin(state['pid'])}{state['desc']}"
            _, bar = self._bars.get(state["uuid"]) or (None, None)
            if bar is None:
                bar = self._tqdm(
                    desc=state["desc"],
                    total=state["total"],
                    unit=state["unit"],
                    position=0,
                    dynamic_ncols=True,
                    unit_scale=True,
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
