"""Which test modules real Ray has passed as they are now.

Real Ray takes twice as long over these tests as rayshim's placements together, and on a busy machine one of its own fails
now and then. So a module that it has passed is run on it again only when the module, a helper of the tests or Ray's
release has changed. `seen_on_ray.txt` is the record; `make test-ray` runs everything on Ray and writes it.
"""

import hashlib
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RECORD = HERE / "seen_on_ray.txt"


def fingerprint(module):
    """Of the test module with that file name, all helpers and Ray's release: a short hash."""
    helpers = sorted(path for path in HERE.glob("*.py") if not path.name.startswith("test_"))
    digest = hashlib.sha256(version("ray").encode())
    for path in [*helpers, HERE / module]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def modules():
    """File names of the modules that Ray has passed as they are now."""
    return {module for module, seen in _read().items() if (HERE / module).exists() and seen == fingerprint(module)}


class Recorder:
    """Plugin of a run of whole modules: afterwards the record has those that Ray passed, and no longer those it did not."""

    def __init__(self):
        self.passed, self.failed = set(), set()

    def pytest_runtest_logreport(self, report):
        if ("backend", "ray") in map(tuple, report.user_properties):
            module = report.nodeid.split("::")[0].rpartition("/")[2]
            (self.failed if report.failed else self.passed).add(module)

    def pytest_sessionfinish(self, exitstatus):
        if exitstatus > 1:
            return  # not everything was run
        record = {module: seen for module, seen in _read().items() if module not in self.failed and (HERE / module).exists()}
        record.update((module, fingerprint(module)) for module in self.passed - self.failed)
        RECORD.write_text("".join(f"{seen} {module}\n" for module, seen in sorted(record.items())))


def _read():
    if not RECORD.exists():
        return {}
    return {module: seen for seen, module in map(str.split, RECORD.read_text().splitlines())}
