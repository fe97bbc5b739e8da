"""The logger named "ray" for messages about the session, configured as in Ray."""

from __future__ import annotations

import logging
import sys

_FORMAT = "%(asctime)s\t%(levelname)s %(filename)s:%(lineno)s -- %(message)s"
logger: logging.Logger = logging.getLogger("ray")
_handler = None  # ours


class _Stderr(logging.StreamHandler):
    """Writes to the current `sys.stderr`, also after the program has replaced it."""

    def __init__(self):
        logging.Handler.__init__(self)

    @property
    def stream(self):
        return sys.stderr


def configure(level: int | str | None = None, form: str | None = None) -> None:
    """Gives the logger its own handler for stderr. `level`: a number or name, default INFO; `form`: a format of `logging`."""
    global _handler
    if _handler is None:
        _handler = _Stderr()
        logger.addHandler(_handler)
        logger.propagate = False
    logger.setLevel(level.upper() if isinstance(level, str) else logging.INFO if level is None else level)
    _handler.setFormatter(logging.Formatter(form or _FORMAT))
