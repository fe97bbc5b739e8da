"""The common base class of event loops (rayshim.journal.loop) and threads (rayshim.journal.turns) in a run with a journal."""

import time
from typing import Any

REPLAY_SECONDS = 30.0  # for which a replay waits for something in the journal before it reports that
_sleep = time.sleep  # a run with a journal replaces time.sleep


class Interleaving:
    """The order of events within an actor that runs several calls at once.

    Attributes that subclasses set:
        _write: in a recorded run, called with a dict for each line of the journal; None in a replay.
        _interrupted: in a replay, the tags of the calls that were cancelled before they ended.
    """

    _write: Any
    _interrupted: Any

    def was_interrupted(self, tag, cancelled):
        """Whether the call with this tag was cancelled before it ended. `cancelled()`: whether it has been cancelled by now."""
        if self._write is not None:
            if cancelled():
                self._write({"interrupted": tag})
                return True
            return False
        while tag in self._interrupted and not cancelled():
            _sleep(0.001)  # the cancellation is on its way
        return tag in self._interrupted
