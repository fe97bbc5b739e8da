"""Where and how often warnings of deprecated functions are shown."""

import pytest

WORDS = "RayDeprecationWarning: This API is deprecated and may be removed in future Ray releases. You could suppress this warning by setting env variable"

PROGRAM = """
import sys, warnings
import ray
from ray.util.annotations import Deprecated, RayDeprecationWarning

FILTER

@Deprecated(message="old", warning=True)
def f():
    return 1


@Deprecated(warning=True)
class C:
    pass


assert f() == f() == 1
C()
f()
import other


@ray.remote
def g():
    f()
    f()


INIT
ray.get(g.remote())
"""


@pytest.fixture
def shown(scripts):
    """The lines on stderr of a program that uses what is deprecated several times, in two modules and in a task: (place, its text)."""

    def lines(wanted=""):
        scripts.write("other.py", "from __main__ import f\nf()\nf()\n")
        scripts.write("script.py", PROGRAM.replace("FILTER", wanted))
        driver = scripts.start("script.py")
        scripts.finished(driver)
        return [line for line in driver.err.split("\n") if "RayDeprecationWarning" in line or line == "old"]

    return lines


def places(lines):
    """What the lines of the driver tell of."""
    return sorted("other" if "other.py" in line else "script" if line != "old" else line for line in lines if "pid=" not in line)


def test_a_warning_is_shown_once_for_each_module_and_text(shown, backend):
    if backend.name == "inline":
        pytest.skip("tasks run in the driver")
    lines = shown()
    assert places(lines) == ["old", "old", "other", "script", "script"]
    assert all(WORDS in line for line in lines if line != "old")
    assert sum("pid=" in line for line in lines) == 1


@pytest.mark.parametrize("wanted", ["warnings.simplefilter('ignore')", "warnings.filterwarnings('ignore', category=DeprecationWarning)"])
def test_a_filter_of_the_program_comes_first(shown, wanted):
    assert places(shown(wanted)) == []


def test_warnings_can_be_turned_off_from_outside(shown, monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "ignore::DeprecationWarning")
    assert shown() == []


ERROR = """
warnings.simplefilter("error", RayDeprecationWarning)
@Deprecated(warning=True)
def h():
    pass

try:
    h()
except RayDeprecationWarning:
    sys.exit()
"""


def test_a_warning_can_be_made_an_error(shown):
    assert shown(ERROR) == []
