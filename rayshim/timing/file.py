"""The timing file of a program: how long each stretch of its calls took, in one measured run.

A *series* is the calls that one caller makes of one method of one actor, or of one function. Each call has a list of durations: of its stretches of code
between two operations (calls, `get`, `wait`, its end), in ticks of a microsecond.

The file is `MAGIC`, the checksum (CRC-32) of what follows, and that compressed by deflate: a line of JSON with the names of the series and the sizes of the
arrays, then the arrays. An array of numbers is stored as its bytes of weight 1, then those of weight 256, and so on: the high bytes are nearly all zero, and
of the low ones, which are noise, deflate with run lengths and Huffman codes alone needs as little as slower methods do. Reading a file executes nothing.
"""

import itertools
import json
import os
import struct
import tempfile
import zlib
from typing import NamedTuple

import numpy as np

VERSION = 3
MAGIC = b"rayshim timing %d\n" % VERSION
# Words of a record, after two of its series (Timed::record in reactor/native/timed/timed.cpp).
_NUMBER, _COUNT, _DURATIONS = 2, 3, 4
_ALIKE, _WINDOW = (
    16,
    1 << 16,
)  # records of one length, words: from how many on, and how far, `_starts` looks for more of them at once


class Timings(NamedTuple):
    """What a timing file holds.

    Attributes:
        names: of each series, the name of its method or function.
        series: array of uint64, the numbers of the series, ascending.
        first_call: array; the calls of series i are first_call[i] to first_call[i + 1].
        first_duration: array; the durations of call k are first_duration[k] to first_duration[k + 1].
        durations: array of uint32, in ticks. A call that did not end in the measured run has none.
        began: ns of (`time.time`, `time.monotonic`) at the begin of the measured run.
        clock: "logical" if the program saw the time of the order (`init(clock="logical")`), else "physical".
    """

    names: list[str]
    series: np.ndarray
    first_call: np.ndarray
    first_duration: np.ndarray
    durations: np.ndarray
    began: tuple[int, int] = (0, 0)
    clock: str = "physical"

    @property
    def calls(self):
        """The number of calls."""
        return len(self.first_duration) - 1

    def of(self, i):
        """The calls of series i: of each, an array of durations."""
        ends = self.first_duration[self.first_call[i] : self.first_call[i + 1] + 1]
        return [self.durations[begin:end] for begin, end in itertools.pairwise(ends)]


def made(names, calls):
    """The Timings of these series. `names`: {number of a series: name}, `calls`: {number of a series: list of arrays of durations}."""
    series = sorted(calls)
    all_calls = [np.asarray(call, "<u4") for number in series for call in calls[number]]
    return Timings(
        [names.get(number, "") for number in series],
        np.array(series, "<u8"),
        _sums([len(calls[number]) for number in series]),
        _sums([len(call) for call in all_calls]),
        np.concatenate([np.zeros(0, "<u4"), *all_calls]),
    )


def _sums(counts):
    return np.concatenate([[0], np.cumsum(np.asarray(counts, np.int64))])


def parse(records):
    """The Timings in the bytes that `_core.timed_records` gives."""
    words = np.frombuffer(records, "<u4")
    starts, of_names = _starts(words)
    names = {}
    for at in of_names.tolist():
        text = 4 * (at + _DURATIONS)
        names[int(_series(words, at))] = records[text : text + int(words[at + _NUMBER])].decode("utf-8", "replace")
    series = _series(words, starts)
    numbers = words[starts + _NUMBER]
    order = np.lexsort((words[starts + _COUNT], numbers, series))
    starts, series, numbers = starts[order], series[order], numbers[order]
    if len(order):  # of a call that was recorded before its end, or made again, the longest record counts
        last = np.append((series[1:] != series[:-1]) | (numbers[1:] != numbers[:-1]), True)
        starts, series, numbers = starts[last], series[last], numbers[last]
    found, first, of = np.unique(series, return_index=True, return_inverse=True)
    ends = np.append(first[1:], len(series)) - 1
    first_call = _sums(numbers[ends].astype(np.int64) + 1 if len(series) else [])
    # A call without a record has not ended: it has its place in the series, and no durations.
    lengths = np.zeros(first_call[-1], np.int64)
    counts = words[starts + _COUNT].astype(np.int64)
    lengths[first_call[of] + numbers] = counts
    at = np.repeat(starts + _DURATIONS - _sums(counts)[:-1], counts) + np.arange(counts.sum())
    return Timings([names.get(int(n), "") for n in found], found, first_call, _sums(lengths), words[at])


def _series(words, at):
    return words[at].astype("<u8") | words[at + 1].astype("<u8") << np.uint64(32)


def _starts(words):
    """(array of the words at which records of calls begin, the same for records of names)"""
    all_words = memoryview(words)
    counts, texts = all_words[_COUNT:], all_words[_NUMBER:]
    starts, parts, at, end = [], [], 0, len(words)
    count, alike = 0, 0  # of the record before; records before it with the same count
    while at < end:
        starts.append(at)
        alike = alike + 1 if counts[at] == count else 0
        count = counts[at]
        at += _DURATIONS + (count or (texts[at] + 3) // 4)
        if alike > _ALIKE and count:  # probably more of the same length follow
            lengths = words[at + _COUNT : at + _WINDOW : _DURATIONS + count]
            more = int(np.argmax(np.append(lengths != count, True)))
            parts += [starts, at + (_DURATIONS + count) * np.arange(more)]
            starts, alike = [], 0 if more < _ALIKE else _ALIKE
            at += (_DURATIONS + count) * more
    starts = np.concatenate([*parts, starts]).astype(np.int64)
    is_call = words[starts + _COUNT] > 0
    return starts[is_call], starts[~is_call]


def extended(old, new):
    """The Timings `old`, with what only `new` has: its other series, further calls of a series, and further stretches of a call."""
    calls, names = {}, {}
    for timings in (new, old):
        for i, number in enumerate(timings.series.tolist()):
            names[number] = timings.names[i]
            mine, theirs = timings.of(i), calls.get(number, [])
            calls[number] = [
                np.concatenate([call, other[len(call) :]]) if len(other) > len(call) else call
                for call, other in zip(mine, theirs, strict=False)
            ] + (mine[len(theirs) :] or theirs[len(mine) :])
    return made(names, calls)._replace(began=old.began, clock=old.clock)


def write(path, timings):
    """Writes the file at once: it is there whole, or as it was before."""
    head = {
        "names": timings.names,
        "calls": timings.calls,
        "durations": len(timings.durations),
        "began": timings.began,
        "clock": timings.clock,
    }
    arrays = (
        timings.series.astype("<u8"),
        np.diff(timings.first_call).astype("<u4"),
        np.diff(timings.first_duration).astype("<u4"),
        timings.durations.astype("<u4"),
    )
    deflate = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_RLE)
    parts = [deflate.compress(json.dumps(head).encode() + b"\n"), *(deflate.compress(_planes(a)) for a in arrays)]
    packed = b"".join([*parts, deflate.flush()])
    path = os.fspath(path)
    fd, part = tempfile.mkstemp(prefix=os.path.basename(path), dir=os.path.dirname(os.path.abspath(path)))
    try:
        with open(fd, "wb") as file:
            file.write(MAGIC + struct.pack("<I", zlib.crc32(packed)) + packed)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def _planes(array):
    return array.view("u1").reshape(len(array), array.itemsize).T.tobytes()


def read(path):
    """The Timings of a file. ValueError if it is no timing file, or a damaged one, or one of another version."""
    with open(path, "rb") as file:
        data = file.read()
    if not data.startswith(MAGIC):
        word = "was written by another version of rayshim" if _has_magic(data) else "is no timing file of rayshim"
        raise ValueError(
            f"{os.fspath(path)} {word}: remove it, or name another file, and a run will measure the program again"
        )
    try:
        return _unpacked(data)
    except (ValueError, KeyError, TypeError, OverflowError, struct.error, zlib.error) as error:
        raise ValueError(
            f"the timing file {os.fspath(path)} is damaged ({error}): remove it, and a run will measure the program again"
        ) from None


def _has_magic(data):
    return data.startswith(MAGIC.rpartition(b" ")[0] + b" ")


def is_one(path):
    """Whether the file is a timing file, of any version, whole or damaged."""
    with open(path, "rb") as file:
        return _has_magic(file.read(len(MAGIC)))


def _unpacked(data):
    packed = data[len(MAGIC) + 4 :]
    if struct.unpack_from("<I", data, len(MAGIC))[0] != zlib.crc32(packed):
        raise ValueError("its checksum differs")
    line, _, body = zlib.decompress(packed).partition(b"\n")
    head, at = json.loads(line), 0

    def array(dtype, count):
        nonlocal at
        size = np.dtype(dtype).itemsize
        planes = np.frombuffer(body, "u1", size * count, at).reshape(size, count)
        at += planes.nbytes
        return np.frombuffer(planes.T.tobytes(), dtype)

    names = head["names"]
    series, counts = array("<u8", len(names)), array("<u4", len(names))
    lengths, durations = array("<u4", head["calls"]), array("<u4", head["durations"])
    first_call, first_duration = _sums(counts), _sums(lengths)
    if first_call[-1] != len(lengths) or first_duration[-1] != len(durations) or at != len(body):
        raise ValueError("its sizes differ")
    wall, monotonic = head["began"]
    return Timings(names, series, first_call, first_duration, durations, (wall, monotonic), str(head["clock"]))
