"""Runs the frameworks' own tests of their controllers on Ray and on rayshim, and prints the table of docs/notes/programs-of-others.md:

    python -m compat_tests.coverage.controllers verl=DIRECTORY OpenRLHF=DIRECTORY ...

Each directory is a checkout. controllers.txt says which tests run, and docs/notes/programs-of-others.md what has to be installed for them.
"""

import os
import subprocess
import sys
import tempfile
from xml.etree import ElementTree
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("controllers.txt")
BACKENDS = {"Ray": (), "rayshim": ("-m", "rayshim")}
#: Folders of packages within a checkout, beside its root.
PACKAGES = {"SkyRL": ["skyrl-gym"]}
#: A test that needs longer has failed: most take less than a second after the start of a session.
LIMIT_S = 180


def files(framework):
    """The test files of that framework, relative to its checkout, in the order of controllers.txt."""
    lines = (line.split() for line in LIST.read_text().splitlines() if line and not line.startswith("#"))
    return [path for name, path in lines if name == framework]


def outcomes(directory, framework, backend, paths):
    """{path: Counter of "passed", "failed", "skipped"} and {path::test: message} of what failed, of one run of pytest."""
    packages = [ROOT, directory, *(directory / name for name in PACKAGES.get(framework, ()))]
    # Sessions with many CPUs: Ray would start a worker for each at once.
    environment = {**os.environ, "RAY_prestart_worker_first_driver": "0", "PYTHONPATH": os.pathsep.join(map(str, packages)), "RAY_AUTH_MODE": "disabled", "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environment["RAY_TMPDIR"] = folder  # tests that attach to a running session find none but their own
        report = Path(folder) / "report.xml"
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", f"--timeout={LIMIT_S}", f"--junitxml={report}", "-o", "junit_family=xunit1", "-o", "addopts=", "--continue-on-collection-errors"]
        command = [sys.executable, *BACKENDS[backend], "-m", "pytest", *options, *paths]
        made = subprocess.run(command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if not report.exists():
            raise SystemExit(f"{framework} on {backend}: pytest ended with {made.returncode} and without a report:\n{made.stdout[-3000:]}")
        return read(ElementTree.parse(report))


def read(report):
    """The outcomes of a JUnit report."""
    counts, failures = {}, {}
    for case in report.iter("testcase"):
        path = case.get("file") or (case.get("classname") or case.get("name", "")).replace(".", "/") + ".py"
        kinds = {child.tag: child for child in case}
        wrong = kinds.get("failure", kinds.get("error"))
        state = "failed" if wrong is not None else "skipped" if "skipped" in kinds else "passed"
        counts.setdefault(path, Counter())[state] += 1
        if wrong is not None:
            failures[f"{path}::{case.get('name')}"] = f"{wrong.get('message', '')}\n{wrong.text or ''}"
    return counts, failures


def told(counts):
    """Such as "5 of 6"; skipped tests do not count."""
    total = counts["passed"] + counts["failed"]
    return f"{counts['passed']} of {total}" if total else "-"


def rows(framework, directory):
    """The lines of the table for one framework, and the text of the failures that are rayshim's alone."""
    paths = files(framework)
    found = {}
    for backend in BACKENDS:
        counts, failures = found[backend] = {}, {}
        for path in paths:  # each in a process of its own, so that a session that one has left does not fail the next
            more, wrong = outcomes(directory, framework, backend, [path])
            counts.update(more)
            failures.update(wrong)
    lines = [
        f"| {framework} | `{path}` | {' | '.join(told(found[backend][0].get(path, Counter())) for backend in BACKENDS)} |" for path in paths
    ]
    theirs = found["Ray"][1]
    return lines, {name: text for name, text in found["rayshim"][1].items() if name not in theirs}


def main(arguments):
    lines, failures = [], {}
    for framework, directory in (argument.split("=", 1) for argument in arguments):
        more, wrong = rows(framework, Path(directory).resolve())
        lines += more
        failures.update(wrong)
    print("| framework | tests | pass on Ray | pass on rayshim |\n|---|---|---|---|")
    print("\n".join(lines))
    for name, text in failures.items():
        print(f"\n{name} fails on rayshim only:\n{text[-3000:]}", file=sys.stderr)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
