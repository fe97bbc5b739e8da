"""The common base class of recorded event loops (rayshim.journal.loop) and recorded threads (rayshim.journal.turns)."""

import time

PATIENCE = 30.0  # seconds that a replay waits for what came in then before it says so
_sleep = time.sleep  # a run that is recorded has another put there


class Inside:
    """The inside of an actor that runs several calls at once. Who inherits it has `_write`, called with a dict for each line of the record, or None
    in a replay, and there `_interrupted`: the tags of the calls that were cancelled before they ended."""

    def was_interrupted(self, tag, unwanted):
        """Whether the call with this tag, which has ended or will not begin, was cancelled; `unwanted()`: whether it is by now."""
        if self._write is not None:  # pyright: ignore[reportAttributeAccessIssue]
            if unwanted():
                self._write({"interrupted": tag})  # pyright: ignore[reportAttributeAccessIssue]
                return True
            return False
        while tag in self._interrupted and not unwanted():  # pyright: ignore[reportAttributeAccessIssue]
            _sleep(0.001)  # who cancels it is on the way
        return tag in self._interrupted  # pyright: ignore[reportAttributeAccessIssue]
