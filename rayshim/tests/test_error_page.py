"""The headings of docs/errors.md are messages that the code has."""

import ast
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "errors.md").read_text()
OF_OTHERS = {"assignment destination is read-only"}  # of numpy


def texts():
    """All text constants of the Python code, and the C++ code, as one text."""
    found = []
    for path in (path for folder in ("rayshim", "reactor") for path in (REPOSITORY / folder).rglob("*.py")):
        if "tests" not in path.parts:
            tree = ast.parse(path.read_text())
            found += [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    for path in (REPOSITORY / "reactor" / "native").rglob("*.cpp"):
        found.append(re.sub(r'"\s*\n\s*"', "", path.read_text()).replace('\\"', '"'))
    return "\n".join(found)


TEXTS = texts()
MESSAGES = [
    message
    for heading in re.findall(r"^### (.*)$", PAGE, re.MULTILINE)
    for message in re.findall(r"`([^`]+)`", heading)
]


def test_there_are_messages():
    assert len(MESSAGES) > 20


@pytest.mark.parametrize("message", [message for message in MESSAGES if message not in OF_OTHERS])
def test_each_heading_is_a_message(message):
    parts = [part.strip() for part in message.split("…")]
    missing = [part for part in parts if part not in TEXTS]
    assert not missing, f"docs/errors.md: no message has {missing}"
