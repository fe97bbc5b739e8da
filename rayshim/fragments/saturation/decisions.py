"""What the controller has decided, as data: it can be printed, written to a file, and given to another deployment."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rayshim.fragments.saturation.climbing import KNOBS, Setting

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


@dataclass(frozen=True)
class Decision:
    """A change of the setting, or the end of a search.

    frames: sampled frames at that time. setting: from then on. action: "start", "try" a neighbour, "keep" it, "return" to the setting before, "hold" the best
    one, "open" the search again. text: the figures, in a line.
    """

    frames: int
    setting: Setting
    action: str
    text: str = ""


def save(decisions: Iterable[Decision], path: str | os.PathLike[str]) -> None:
    """Writes a line of JSON for each decision."""
    lines = [json.dumps({**asdict(decision), "setting": asdict(decision.setting)}) for decision in decisions]
    Path(path).write_text("".join(line + "\n" for line in lines))


def load(path: str | os.PathLike[str]) -> list[Decision]:
    """Reads what `save` has written. ValueError: the file has something else."""
    found: list[Decision] = []
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        try:
            entry = json.loads(line)
            setting = Setting(**{knob: int(entry["setting"][knob]) for knob in KNOBS})
            found.append(Decision(int(entry["frames"]), setting, str(entry["action"]), str(entry["text"])))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path}, line {number}, is not a decision ({type(error).__name__}: {error}). Use a file that save_decisions() has written."
            ) from None
    if not found:
        raise ValueError(f"{path} has no decision. Use a file that save_decisions() has written.")
    return found
