"""Timing files: what is written is read again, and what is no whole timing file is refused."""

import os
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reactor import _core

from rayshim.timing import file, timing

_durations = st.lists(st.integers(0, 2**32 - 1), max_size=5)
_series = st.dictionaries(st.integers(0, 2**64 - 1), st.lists(_durations, max_size=4), max_size=5)


def timings_of(calls):
    return file.made({number: f"m{number % 3}" for number in calls}, calls)


def plain(timings):
    """{number of a series: (name, its calls as lists)}"""
    return {
        number: (timings.names[i], [call.tolist() for call in timings.of(i)])
        for i, number in enumerate(timings.series.tolist())
    }


def record(series, number, durations):
    return struct.pack("<QII", series, number, len(durations)) + np.array(durations, "<u4").tobytes()


def name_record(series, name):
    text = name.encode()
    return struct.pack("<QII", series, len(text), 0) + text.ljust((len(text) + 3) & ~3, b"\0")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "program.timing"


@settings(deadline=None)
@given(_series)
def test_a_file_has_what_was_written(tmp_path_factory, calls):
    path = tmp_path_factory.mktemp("timing") / "program.timing"
    timings = timings_of(calls)
    file.write(path, timings)
    assert plain(file.read(path)) == plain(timings) == {n: (f"m{n % 3}", found) for n, found in calls.items()}


@settings(deadline=None)
@given(
    st.dictionaries(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 5)), st.lists(st.integers(1, 9), min_size=1)),
    st.randoms(),
)
def test_records_are_read_in_any_order(records, random):
    parts = [record(*key, durations) for key, durations in records.items()]
    parts += [name_record(series, f"name of {series}") for series in {series for series, _ in records}]
    random.shuffle(parts)
    for number, (name, calls) in plain(file.parse(b"".join(parts))).items():
        assert name == f"name of {number}"
        last = max(k for series, k in records if series == number)
        assert calls == [records.get((number, k), []) for k in range(last + 1)]


def test_long_rows_of_records_of_one_length_are_read():
    lengths = [1] * 30_000 + [2] + [1] * 20 + [3, 1, 2] * 50 + [5] * 9_000
    calls = [[k % 7 + 1] * n for k, n in enumerate(lengths)]
    parts = [record(3, k, call) for k, call in enumerate(calls)]
    parts[200:200] = parts[29_000:29_000] = [name_record(3, "step")]
    assert plain(file.parse(b"".join(parts))) == {3: ("step", calls)}


def test_a_call_that_has_not_ended_keeps_its_place():
    timings = file.parse(record(7, 0, [5]) + record(7, 2, [6, 7]))
    assert plain(timings) == {7: ("", [[5], [], [6, 7]])}


def test_a_call_that_was_made_again_counts_once():
    assert plain(file.parse(record(7, 0, [5]) + record(7, 0, [6]))) == {7: ("", [[6]])}


def test_a_call_takes_at_most_four_bytes(path):
    """Each call with a stretch of 3 ms that varies by 30%, and three short stretches of its caller, that vary by 50%."""
    rng = np.random.default_rng(0)
    number = 50_000
    calls = np.rint(3000 * np.exp(rng.normal(0, 0.3, (number, 1)))).astype("<u4")
    caller = np.rint([20, 8, 30] * np.exp(rng.normal(0, 0.5, (number, 3)))).astype("<u4")
    file.write(path, timings_of({1: [caller.ravel()], 2: list(calls)}))
    assert path.stat().st_size <= 4 * number


def test_a_damaged_file_is_refused_wherever_the_damage_is(path):
    file.write(path, timings_of({1: [[1, 2], [3]]}))
    whole = path.read_bytes()
    for at in range(len(file.MAGIC), len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ValueError, match="damaged"):
            file.read(path)
        path.write_bytes(whole[:at])
        with pytest.raises(ValueError, match="damaged"):
            file.read(path)


def test_a_file_of_another_version_says_so(path):
    path.write_bytes(b"rayshim timing 999\n1234")
    with pytest.raises(ValueError, match="program.timing was written by another version of rayshim: remove it"):
        file.read(path)
    assert file.is_one(path)


@pytest.mark.parametrize("data", [b"", b"print('a program')\n", b"rayshim"])
def test_another_file_is_no_timing_file(path, data):
    path.write_bytes(data)
    with pytest.raises(ValueError, match="program.timing is no timing file of rayshim"):
        file.read(path)
    assert not file.is_one(path)


def test_a_write_that_fails_leaves_the_file_as_it_was(path, monkeypatch):
    file.write(path, timings_of({1: [[1]]}))

    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="full"):
        file.write(path, timings_of({1: [[2]]}))
    assert plain(file.read(path)) == {1: ("m1", [[1]])}
    assert os.listdir(path.parent) == [path.name]


def test_an_extended_file_keeps_what_it_has():
    old = timings_of({1: [[1, 2], [3]], 2: [[4]], 4: [[]]})
    new = timings_of({1: [[9, 9, 9]], 2: [[8], [7]], 3: [[6]], 4: [[5]]})
    assert plain(file.extended(old, new)) == plain(timings_of({1: [[1, 2, 9], [3]], 2: [[4], [7]], 3: [[6]], 4: [[5]]}))


def test_a_seed_varies_each_duration_alike_in_each_run():
    timings = timings_of({1: [np.full(10_000, 1000)]})
    one, again, two = (timing.varied(timings, seed).durations for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != two).any()
    logarithms = np.log(one / 1000)
    assert abs(np.median(logarithms)) < 0.02
    assert abs(np.std(logarithms) - timing.SIGMA) < 0.02


def test_without_a_seed_durations_are_as_recorded():
    timings = timings_of({1: [[1, 2**32 - 1]]})
    for seed in (None, 0):
        assert timing.varied(timings, seed) is timings
    assert (timing.varied(timings, 5).durations >= 1).all()


def test_a_name_has_the_durations_of_all_calls_of_that_name():
    timings = file.made({5: "step", 3: "add", 9: "step"}, {5: [[1], [2, 3]], 3: [[4]], 9: [[5]]})
    found = timing.with_names(timings)
    assert found.series.tolist() == sorted([3, 5, 9, _core.timed_name("add"), _core.timed_name("step")])
    calls = {number: [call.tolist() for call in found.of(i)] for i, number in enumerate(found.series.tolist())}
    assert calls[_core.timed_name("step")] == [[1], [2, 3], [5]]
    assert calls[_core.timed_name("add")] == calls[3] == [[4]]
    assert calls[5] == [[1], [2, 3]]
