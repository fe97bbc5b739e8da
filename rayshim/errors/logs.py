"""The logger named "ray", which tells the user of the session; set up as Ray does."""

from __future__ import annotations

import logging
import sys

_FORMAT = "%(asctime)s\t%(levelname)s %(filename)s:%(lineno)s -- %(message)s"
logger = logging.getLogger("ray")
_handler = None  # ours


class _Stderr(logging.StreamHandler):
    """Writes to what `sys.stderr` is at the time."""

    def __init__(self):
        logging.Handler.__init__(self)

    @property
    def stream(self):
        return sys.stderr


def configure(level: int | str | None = None, form: str | None = None) -> None:
    """Gives the logger a handler for stderr of its own. `level`: a number or name, default INFO; `form`: as logging's."""
    global _handler
    if _handler is None:
        _handler = _Stderr()
        logger.addHandler(_handler)
        logger.propagate = False
    logger.setLevel(level.upper() if isinstance(level, str) else logging.INFO if level is None else level)
    _handler.setFormatter(logging.Formatter(form or _FORMAT))
