"""The output of workers, on its way to the driver.

Each worker's stdout and stderr are pipes to the zygote, which cuts them into lines and sends frames to the driver.
"""

import struct

STDOUT, STDERR = 1, 2
_FRAME = struct.Struct("<BIHI")  # stream (STDOUT, STDERR, LOST or COLLECT), pid, length of label, length of line
LOST = 3  # in place of the stream number: the line reports a failed call whose result nobody asked for
COLLECT = 4  # in place of the stream number: the store is full, and the driver has to collect garbage
LONGEST = 1 << 20  # bytes of a line
LABEL = b"\x1e:label:"  # a worker's line with this start renames it; see reactor.runtime.worker


def frame(stream, label, pid, line):
    """The bytes of one line (bytes without newline) of worker `pid`, shown as `label` (str)."""
    name = label.encode()
    return _FRAME.pack(stream, pid, len(name), len(line)) + name + line


class FrameReader:
    """Reads frames from a socket."""

    def __init__(self, sock):
        self._sock = sock
        self._buffer = bytearray()

    def read(self):
        """(stream, label, pid, line as str), or None at the end."""
        head = self._take(_FRAME.size)
        if head is None:
            return None
        stream, pid, label_size, line_size = _FRAME.unpack(head)
        rest = self._take(label_size + line_size)
        if rest is None:
            return None
        return stream, rest[:label_size].decode(), pid, rest[label_size:].decode(errors="replace")

    def _take(self, n):
        while len(self._buffer) < n:
            try:
                data = self._sock.recv(1 << 16)
            except OSError:
                return None
            if not data:
                return None
            self._buffer += data
        part = bytes(self._buffer[:n])
        del self._buffer[:n]
        return part


def read_frames(sock, driver, collect):
    """A driver's reading of what the supervisor sends, until that ends. Calls `driver.show(stream, label, pid, line)` for a line, `driver.lost(line)` for
    the report of a failed call, and `collect()` to collect garbage; `show` and `lost` may be None, and may be set later."""
    reader = FrameReader(sock)
    while (frame := reader.read()) is not None:
        try:
            if frame[0] == COLLECT:
                collect()
            elif frame[0] == LOST:
                if driver.lost is not None:
                    driver.lost(frame[-1])
            elif driver.show is not None:
                driver.show(*frame)
        except Exception:  # noqa: S110
            pass  # the program's own stream is closed or broken; its results are not


class LineCutter:
    """Cuts one pipe's bytes into lines; follows the labels in it."""

    def __init__(self, stream, label, pid, scope=None):
        self.stream, self.label, self.pid, self.scope = stream, label, pid, scope
        self._parts, self._size = [], 0  # of a line that has no end yet
        self._begun = False  # the line's beginning has been shown already

    def feed(self, data):
        """Frames of the lines that `data` completes. A line longer than LONGEST is cut."""
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._parts, lines[0]])
            self._parts, self._size = [], 0
            if self._begun and not lines[0]:
                del lines[0]  # the end alone
            self._begun = False
        self._parts.append(rest)
        self._size += len(rest)
        if self._size > LONGEST:
            lines.append(b"".join(self._parts))
            self._parts, self._size = [], 0
        return [f for f in map(self._frame, lines) if f]

    @property
    def open(self):
        """Whether there is a beginning of a line that has not been shown."""
        return self._size > 0

    def end(self):
        """The frame of an incomplete last line, if there is one. The rest of this line, if it comes later, becomes a line of its own."""
        self._begun = True
        rest, self._parts, self._size = b"".join(self._parts), [], 0
        return [self._frame(rest)] if rest else []

    def _frame(self, line):
        if line.startswith(LABEL):
            self.label = line[len(LABEL) :].decode(errors="replace")
            return None
        return frame(self.stream, self.label, self.pid, line)
