"""Text from elsewhere (names, journals, recordings, program texts) in the lines that are printed: it must not control the reader's terminal."""

import re

# Control characters; what separates lines or changes the direction of the text after it; halves of surrogate pairs, which no stream can encode.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object, lines: bool = False) -> str:
    r"""`str(text)`, with characters that control a terminal as escapes such as `\x1b`; `lines`: it may have several lines, and tabs."""
    return _CONTROLS.sub((_escaped_in_lines if lines else _escaped), str(text))


def _escaped(found):
    number = ord(found[0])
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(found[0])
    return short or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")


def _escaped_in_lines(found):
    return found[0] if found[0] in "\n\t" else _escaped(found)


class PrintableStream:
    """A text stream that passes on what is written to it, as `printable` makes it. Its other attributes are the stream's."""

    def __init__(self, stream):
        self._stream = stream

    def write(self, text):
        self._stream.write(printable(text, lines=True))
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self._stream, name)
