"""Writes COVERAGE.md."""

import os

os.environ["RAY_AUTH_MODE"] = "disabled"

from pathlib import Path

from compat_tests.coverage import table

if __name__ == "__main__":
    (Path(__file__).parent.parent / "COVERAGE.md").write_text(table.text())
