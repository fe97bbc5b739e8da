"""Messages between a session and the programs that ask it something."""

import os
import pickle
import struct

import pytest
from reactor.runtime.messages import frames


def received(data, piece=1 << 16):
    """What a reader makes of these bytes, which arrive in pieces."""
    incoming = frames.Incoming()
    while data:
        size = min(incoming.missing, piece)
        part, data = data[:size], data[size:]
        if (frame := incoming.feed(part)) is not None:
            return frame
    return incoming.feed(b"")


@pytest.mark.parametrize("piece", [1, 3, 1 << 16])
@pytest.mark.parametrize("kind", [frames.JSON, frames.PICKLE])
def test_a_message_arrives_as_it_was_sent_in_pieces_of_any_size(kind, piece):
    message = {"what": "facts", "list": [1, 2.5, None, "ü"], "empty": {}}
    assert received(frames.pack(message, kind), piece) == (kind, message)


def test_a_tuple_travels_only_in_a_pickle():
    assert received(frames.pack({"a": (1, 2)}, frames.PICKLE))[1] == {"a": (1, 2)}
    with pytest.raises(TypeError):
        frames.pack({"a": object()})


def header(magic=b"rctr", version=1, kind=frames.JSON, length=2, build=None):
    return struct.pack("<4sHHII", magic, version, kind, length, frames.build() if build is None else build)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "closed the connection before"),
        (header()[:7], "closed the connection before"),
        (header(length=100) + b"{}", "closed the connection before"),
        (b"garbage", "begins with b'garb'"),
        (b"g", "begins with b'g'"),
        (struct.pack("<I", 7) + b"garbage", "not a message of a session"),
        (header(kind=3), "not possible"),
        (header(kind=0), "not possible"),
        (header(length=(1 << 32) - 1), "not possible"),
        (header(kind=frames.PICKLE, length=(1 << 32) - 1), "not possible"),
        (header(kind=frames.PICKLE, build=1), "another build of reactor or another Python"),
        (header(kind=frames.PICKLE, version=2), "another build of reactor or another Python"),
        (header(length=7) + b"garbage", "cannot be read: JSONDecodeError"),
        (header(length=1) + b"0", "is int, not a dict"),
        (header(length=2) + b"\xff\xfe", "cannot be read"),
        (header(length=200_000) + b"[" * 200_000, "cannot be read: RecursionError"),
        (header(kind=frames.PICKLE, length=7) + b"garbage", "cannot be read: UnpicklingError"),
        (header(kind=frames.PICKLE, length=0), "cannot be read: EOFError"),
        (frames.pack({}, frames.PICKLE)[:16] + pickle.dumps({})[:-1] + b"0", "cannot be read"),
    ],
)
def test_what_is_no_message_is_an_error_that_says_why(data, error):
    with pytest.raises(frames.FrameError, match=error):
        received(data)


def test_an_announced_length_is_checked_before_anything_is_stored_or_unpickled():
    incoming = frames.Incoming()
    with pytest.raises(frames.FrameError):
        incoming.feed(header(kind=frames.PICKLE, length=frames.LARGEST[frames.PICKLE] + 1))


class Trace:
    """Leaves a directory where it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_pickle_of_another_build_is_not_unpickled(tmp_path):
    data = bytearray(frames.pack({"a": Trace(tmp_path / "there")}, frames.PICKLE))
    with pytest.raises(frames.FrameError):
        received(bytes(data[:12]) + bytes([data[12] ^ 1]) + bytes(data[13:]))
    assert not (tmp_path / "there").exists()
    received(bytes(data))
    assert (tmp_path / "there").exists()


def test_json_of_another_version_is_read():
    assert received(header(version=9, build=5) + b"{}") == (frames.JSON, {})


def test_a_message_that_the_other_side_would_refuse_is_not_sent():
    with pytest.raises(ValueError, match="too long"):
        frames.pack({"a": "x" * frames.LARGEST[frames.JSON]})
