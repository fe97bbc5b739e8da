"""An actor whose `repr` has several lines: the first one is its name in the output, the others are output."""

import re

import pytest

from compat_tests.test_output import line, shown

pytestmark = pytest.mark.needs_processes

SOURCE = """
        import sys
        import ray
        INIT

        @ray.remote
        class Buffer:
            def __repr__(self):
                return "Buffer(\\n  size=3)"

            def speak(self):
                print("out")
                print("err", file=sys.stderr)

        buffer = Buffer.remote()
        ray.get(buffer.speak.remote())
"""


@pytest.mark.parametrize(("stream", "word"), [("out", "out"), ("err", "err")])
def test_the_first_line_is_the_name_and_the_others_are_printed(scripts, stream, word):
    name = re.escape("Buffer(")
    shown(scripts, SOURCE, line(name, re.escape("  size=3)")), line(name, word), stream=stream)
