"""The messages between a session and the programs that ask it something or join it.

A frame is a header and a payload. The header has the same layout in all versions: _MAGIC; the version of what follows; the kind of the payload; its
length; the build (`build()`) of the sender. A JSON payload is a dict with the key "what" or the session's facts; versions only add keys, so each
version reads it. A pickle is read only if it comes from the same build: it describes shared memory, and both sides will use that.
"""

import contextlib
import os
import pickle
import struct
import sys
import time

from reactor import _core

JSON, PICKLE = 1, 2
LARGEST = {JSON: 16 << 20, PICKLE: 64 << 20}  # bytes of a payload
_MAGIC, _VERSION = b"rctr", 1
_HEADER = struct.Struct("<4sHHII")


class FrameError(ConnectionError):
    """The other side has sent bytes that are not a frame of this build."""


def pack(value, kind=JSON):
    """The bytes of a frame. ValueError or TypeError: the value cannot be a payload of that kind."""
    import json  # not at the start of each run, of which few are asked anything

    data = json.dumps(value).encode() if kind == JSON else pickle.dumps(value)
    if len(data) > LARGEST[kind]:
        raise ValueError(f"a message of {len(data)} bytes is too long: at most {LARGEST[kind]} bytes are possible")
    return _HEADER.pack(_MAGIC, _VERSION, kind, len(data), build()) + data


class Incoming:
    """Puts one frame together. FrameError as soon as it is clear that there will be none."""

    def __init__(self):
        self._data, self._length, self._kind = bytearray(), None, None

    @property
    def missing(self):
        """How many bytes to read next at most: none of what follows the frame."""
        whole = _HEADER.size if self._length is None else _HEADER.size + self._length
        return whole - len(self._data)

    def feed(self, part):
        """Takes `part` (bytes, no more than `missing`). Returns (kind, value) when the frame is complete, before that None."""
        if not part:
            raise FrameError("the other side closed the connection before its message was complete")
        self._data += part
        if self._length is None and not self._read_header():
            return None
        return None if self.missing else (self._kind, self._value())

    def _read_header(self):
        start = bytes(self._data[: len(_MAGIC)])
        if start != _MAGIC[: len(start)]:
            raise FrameError(f"this is not a message of a session: it begins with {start!r}")
        if len(self._data) < _HEADER.size:
            return False
        _, version, kind, length, their_build = _HEADER.unpack(self._data)
        if kind not in LARGEST or length > LARGEST[kind]:
            raise FrameError(f"a message has kind {kind} and {length} bytes, which is not possible")
        if kind == PICKLE and (version, their_build) != (_VERSION, build()):
            raise FrameError(
                f"the other side has another build of reactor or another Python than this process ({sys.executable}), so they cannot share memory. "
                "Use the same installation for both"
            )
        self._kind, self._length = kind, length
        return True

    def _value(self):
        import json

        data = bytes(self._data[_HEADER.size :])
        try:
            value = json.loads(data) if self._kind == JSON else pickle.loads(data)
        except (Exception, SystemExit) as error:  # unpickling runs the program's own code
            raise FrameError(f"a message cannot be read: {type(error).__name__}: {error}") from error
        if not isinstance(value, dict):
            raise FrameError(f"a message is {type(value).__name__}, not a dict")
        return value


def _state():
    found = os.stat(_core.__file__)
    return found.st_ino, found.st_mtime_ns, found.st_size


_loaded = _state()
_build = None


def build():
    """A number that two processes have in common if their native core and their Python are the same."""
    global _build
    if _build is None:
        import zlib

        _build = 0
        with contextlib.suppress(OSError):
            if _state() == _loaded:
                with open(_core.__file__, "rb") as file:
                    _build = zlib.crc32(file.read(), zlib.crc32(sys.version.encode()))
        if not _build:  # the file was replaced since this process has loaded it, and so it is like no other
            _build = zlib.crc32(f"{os.getpid()} {time.monotonic_ns()}".encode())
    return _build
