"""The stub of the native module names what the module has."""

import re
from pathlib import Path

from reactor import _core


def test_stub_and_module_have_the_same_names():
    stub = Path(__file__).parents[1] / "_core.pyi"
    named = {a or b for a, b in re.findall(r"^(?:def|class) ([^_]\w*)|^(\w+):", stub.read_text(), re.MULTILINE)}
    assert named == {name for name in dir(_core) if not name.startswith("__")}
