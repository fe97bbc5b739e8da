"""COVERAGE.md has a row for each public name of the installed Ray, and says why a name is missing here."""

import importlib.util
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")


@pytest.fixture(scope="module")
def rows():
    text = (Path(__file__).parent / "COVERAGE.md").read_text()
    return {found.group(1): found.group(2) for found in re.finditer(r"^\| `([^`]+)` (.*)\|$", text, re.MULTILINE)}


@pytest.fixture(scope="module")
def public():
    from compat_tests.coverage import names

    return names.public_names()


@pytest.mark.filterwarnings("ignore")
def test_every_public_name_has_a_row(rows, public):
    again = "run `python -m compat_tests.coverage`"
    assert not set(public) - set(rows), again
    assert not set(rows) - set(public), again


@pytest.mark.filterwarnings("ignore")
def test_a_name_that_is_missing_here_has_its_reason(public):
    from compat_tests.coverage import reasons, table

    assert not [name for name, entry in public.items() if table.compared(entry) == "missing" and reasons.reason(name) is None]


def test_tests_named_in_the_rows_exist(rows):
    named = {found for row in rows.values() for found in re.findall(r"`(test_\w+\.py)::(\w+)`", row)}
    assert len(named) > 100
    assert not [(file, test) for file, test in named if f"def {test}(" not in (Path(__file__).parent / file).read_text()]


@pytest.mark.filterwarnings("ignore")
def test_names_that_frameworks_use_are_all_here():
    from compat_tests.coverage import frameworks

    assert not [name for name in frameworks.read_list() if frameworks.in_ray(name) and frameworks.resolve("rayshim", name)[1]]
