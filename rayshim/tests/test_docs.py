"""The Python blocks of README.md and docs/ run, and print what the block after them says.

A block is a program of its own; one whose title ends with "continued" goes on with the program of the blocks before it. A fence `text title="output"`
right after a block has its output. A block that cannot run says so in its info string: `python title="not run: REASON"`.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
_FENCE = re.compile(
    r"^```(\w+)([^\n]*)\n(.*?)^```\n(?:\n*```text title=\"output\"\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
_FOR_EXAMPLE = re.compile(r"generation \d")  # lines with figures that differ between processors
_NOT_RUN = re.compile(r'title="not run: (.+)"')


def blocks(text):
    """(line, info string, program, output or None) of each Python program of a page; those of a program in several blocks are joined."""
    found = []
    for block in _FENCE.finditer(text):
        language, info, program, output = block.groups()
        if language != "python":
            continue
        if info.endswith('continued"'):
            line, first, before, printed = found.pop()
            found.append((line, first, before + program, (printed or "") + (output or "")))
        else:
            found.append((text.count("\n", 0, block.start()) + 2, info, program, output))
    return found


def programs():
    for page in PAGES:
        for line, info, program, output in blocks(page.read_text()):
            yield pytest.param(
                program,
                output,
                marks=[pytest.mark.skip(m[1])] if (m := _NOT_RUN.search(info)) else [],
                id=f"{page.relative_to(REPOSITORY)}:{line}",
            )


@pytest.mark.parametrize(("program", "output"), [*programs()])
def test_block(program, output, tmp_path):
    for package in ("gymnasium", "torch"):
        if f"import {package}" in program:
            pytest.importorskip(package)
    (tmp_path / "block.py").write_text(program)
    done = subprocess.run([sys.executable, "block.py"], cwd=tmp_path, text=True, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr
    if output is not None:
        lines = [line for line in done.stdout.splitlines(keepends=True) if not _FOR_EXAMPLE.match(line)]
        assert "".join(lines) == output


def test_blocks_of_one_program_are_joined():
    first, second = "```python\na = 1\n```\n", '```python title="f.py, continued"\nprint(a)\n```\n'
    page = f'{first}\n{second}\n```text title="output"\n1\n```\n\n{first}'
    assert blocks(page) == [(2, "", "a = 1\nprint(a)\n", "1\n"), (14, "", "a = 1\n", None)]


def links():
    for page in (*PAGES, *(REPOSITORY / name for name in ("CHANGELOG.md", "CONTRIBUTING.md"))):
        for target in re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", page.read_text()):
            yield page, target


def test_programs_and_links_are_found():
    assert len([*programs()]) > 15
    assert len([*links()]) > 50


def test_links_lead_somewhere():
    assert not [(page.name, target) for page, target in links() if not (page.parent / target).exists()]


def test_each_name_of_the_map_of_a_call_stands_in_its_file():
    table = (REPOSITORY / "docs" / "how-a-call-travels.md").read_text().partition("## Where it is in the code")[2]
    rows = re.findall(r"^\| (.+) \| `([^`|]+)` \|$", table, re.MULTILINE)
    assert len(rows) > 20
    for names, path in rows:
        text = (REPOSITORY / path).read_text()
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"\b{name}\b", text), (
                f"{name} is not in {path}: correct the table in docs/how-a-call-travels.md"
            )


def test_each_folder_stands_in_the_map():
    map_ = (REPOSITORY / "CONTRIBUTING.md").read_text().partition("## Map")[2].partition("## How a call travels")[0]
    for package in ("rayshim", "reactor"):
        listed = map_.partition(f"\n{package}/ ")[2].partition("\n\n")[0]
        listed = re.split(r"\n(?=\w)", listed)[0]
        named = set(re.findall(r"(\w+)/", "\n".join(line[:32] for line in listed.splitlines()[1:])))
        files = [path.relative_to(REPOSITORY / package) for path in (REPOSITORY / package).rglob("*.*")]
        folders = {path.parts[0] for path in files if len(path.parts) > 1 and "__pycache__" not in path.parts}
        assert named == folders, package


def test_each_answer_of_the_map_names_a_file_that_has_it():
    table = (
        (REPOSITORY / "CONTRIBUTING.md").read_text().partition("| question | where to look |")[2].partition("\n\n")[0]
    )
    rows = table.strip().splitlines()[1:]
    assert len(rows) >= 7
    for row in rows:
        found = re.findall(r"((?:`[\w.]+`(?:, | and )?)+) in `([\w/.]+/[\w.]+)`", row)
        assert found, row
        for names, path in found:
            text = (REPOSITORY / path).read_text()
            for name in re.findall(r"(\w+)`", names):
                assert re.search(rf"\b{name}\b", text), f"{name} is not in {path}: correct the table in CONTRIBUTING.md"


def test_the_page_about_reports_has_their_keys():
    import rayshim.recording.reporting

    page = (REPOSITORY / "docs" / "reports-and-graphs.md").read_text()
    keys = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert set(keys) == set(rayshim.recording.reporting.Report({}).to_dict())
