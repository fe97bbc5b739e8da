"""The logger named "ray" for messages about the session and of Ray's libraries. The import of this module configures it, as `import ray` does."""

from __future__ import annotations

import logging
import sys

FORMAT = "%(asctime)s\t%(levelname)s %(filename)s:%(lineno)s -- %(message)s"
logger: logging.Logger = logging.getLogger("ray")
_of_worker = False  # whether this process is a worker: its lines are the bare messages


class _Stderr(logging.StreamHandler):
    """Writes to the current `sys.stderr`, also after the program has replaced it."""

    def __init__(self):
        logging.Handler.__init__(self)

    @property
    def stream(self):
        return sys.stderr

    def emit(self, record):
        if not any(
            type(handler).__module__ == "ray._private.log" for handler in logger.handlers
        ):  # of real Ray, which writes the line itself
            super().emit(record)


_handler = _Stderr()
_handler.setFormatter(logging.Formatter(FORMAT))
logger.addHandler(_handler)
logger.setLevel(logging.INFO)
logger.propagate = False
logging.getLogger("ray.rllib").setLevel(logging.WARNING)


def configure(level: int | str | None = None, form: str | None = None) -> None:
    """Sets level and format of the logger. `level`: a number or name, default INFO; `form`: a format of `logging`."""
    logger.setLevel(level.upper() if isinstance(level, str) else logging.INFO if level is None else level)
    if not _of_worker:
        _handler.setFormatter(logging.Formatter(form or FORMAT))


def configure_or_silence(wanted: bool, level: int | str | None = None, form: str | None = None) -> None:
    """Carries out `init(configure_logging=wanted)`: configures the logger, or takes its handlers from it."""
    if wanted:
        configure(level, form)
    else:
        logger.handlers.clear()


def begin_worker() -> None:
    """In a worker, or the process that it is forked from: the logger writes bare messages, which the driver shows with the name of the worker."""
    global _of_worker
    _of_worker = True
    _handler.setFormatter(None)
