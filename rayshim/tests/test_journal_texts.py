"""Texts of values in a journal, and the files that its lines are written to."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from reactor import _core

from rayshim.journal import files
from rayshim.journal.texts import error_text, given_texts, short_text


class NeverShown(np.ndarray):
    def __repr__(self):
        raise AssertionError("an array is not formatted")


@dataclasses.dataclass
class Transition:
    state: object
    reward: float


def test_arrays_are_named_by_type_shape_first_items_and_a_hash_of_all_bytes():
    one, other = np.arange(1000.0), np.arange(1000.0)
    other[999] = 0
    assert short_text(one).startswith("float64[1000] [0, 1, 2, 3, ...] #")
    assert short_text(one) == short_text(one.copy()) != short_text(other)
    assert short_text(np.zeros((2, 1), "uint8")) == "uint8[2, 1] [0, 0]"
    assert short_text(np.arange(12).reshape(3, 4)[:, ::2]).startswith("int64[3, 2] [0, 2, 4, 6, ...] #")
    assert short_text(np.array(["2026-01-01"] * 9, "datetime64[D]")).startswith("datetime64[D][9] [")
    assert short_text(np.float32(1.5)) == "float32[] [1.5]"


def test_arrays_within_other_values_are_not_formatted_either():
    array = np.zeros(100).view(NeverShown)
    for value in ([array], {"a": array}, (1, {"b": [array]}), Transition(array, 1.0)):
        assert "float64[100]" in short_text(value), value
    assert short_text(Transition(1, 2.0)) == "Transition(state=1, reward=2.0)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        ([1, "a", 2.5], "[1, 'a', 2.5]"),
        ((1,), "(1,)"),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, ... 100 in all]"),
        ({"b", "a"}, "{'a', 'b'}"),
        ([[[[1]]]], "[[[[...]]]]"),
        pytest.param(10**5000, "<int of 16610 bits>", id="large int"),
        (object(), "<object object>"),
    ],
)
def test_texts_are_short_and_the_same_in_each_run(value, text):
    assert short_text(value) == text


def test_a_repr_that_raises_is_named():
    class Broken:
        def __repr__(self):
            raise KeyError

    assert short_text(Broken()) == "<Broken: its repr raises KeyError>"
    assert len(short_text("x" * 10**6)) <= 400
    assert given_texts(((1, "a"), {"k": 2})) == ["1", "'a'", "k=2"]


def test_lines_longer_than_what_is_mapped_at_a_time_are_read_again(tmp_path):
    writer = files.Writer(tmp_path / "1.jsonl")
    entries = [{"died": "x" * size, "life": 0, "killed": None, "status": 9} for size in (10, 300_000, 5, 600_000)] * 3
    for entry in entries:
        writer.write(entry)
    files.end(tmp_path)
    assert [{key: line[key] for key in entries[0]} for line in files.lines(tmp_path)] == entries
    assert (tmp_path / "1.jsonl").read_bytes().endswith(b"}\n")


def test_what_a_killed_process_has_written_is_read(tmp_path):
    code = (
        "import os, sys\nfrom rayshim.journal import files\nw = files.Writer(sys.argv[1])\n"
        "for k in range(3): w.write({'died': str(k), 'life': 0, 'killed': None, 'status': 9})\nos.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "1.jsonl")], check=False)
    assert [line["died"] for line in files.lines(tmp_path)] == ["0", "1", "2"]


def text_of_core(value, path):
    """What the core writes for a value; "asked" if it asks `short_text`."""
    writer = files.Writer(path)
    whose = '"actor": null, "life": null', "null", True
    lines = _core.CallLines(writer.file, lambda number: whose, lambda value: "asked", error_text, bool)
    lines.executed(0, test_a_repr_that_raises_is_named, (1, 2), 3, 4, ((value,), None), None, None, False, True)
    files.end(path.parent)
    (line,) = files.lines(path.parent)
    assert (line["ran"], line["given"], line["several"]) == ([1, 2], f"{3:016x}", True)
    return line["args"][0]


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -(2**62), 0.1, 1e300, float("inf"), float("-nan"), "a\n\"b\\'"),
        *(np.arange(n, dtype=kind) for n in (0, 3, 4, 5000) for kind in ("f4", "f8", "u1", "i2", "i8", "u8")),
        *(np.zeros((84, 84, 4), "uint8"), np.array([True] * 9), np.float32([[1 / 3] * 9]), np.array(1.5)),
        np.array([float("-nan"), -np.inf, 1e-300, 1e17, 0]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_the_core_makes_the_same_texts(value, tmp_path):
    assert text_of_core(value, tmp_path / "1.jsonl") == short_text(value)


@pytest.mark.parametrize(
    "value",
    [2**70, "é", [1], {1: 2}, np.zeros(9, "f2"), np.zeros(9, ">f8"), np.zeros((9, 9)).T[1:], np.float32(1)],
    ids=lambda value: str(value)[:20],
)
def test_the_core_asks_for_the_texts_of_other_values(value, tmp_path):
    assert text_of_core(value, tmp_path / "1.jsonl") == "asked"
