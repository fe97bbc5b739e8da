"""The runtime and the library know nothing of the API that is built on them: none of its words is here."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUFFIXES = {".py", ".pyi", ".cpp", ".h", ".c", ".html", ".sh"}
WORDS = re.compile(
    r"\bray\b|\bray_\w*|rayshim|raylet|placement.?group|num_returns|num_cpus|num_gpus|runtime_env|starlette|\bObjectRef\b"
    r"|max_task_retries|max_concurrency|object_store_memory",
    re.IGNORECASE,
)
ALLOWED = {
    # The names by which users set or install something that lies here.
    ("draw/html.py", "rayshim"),  # the distribution that has both packages
    ("tests/test_draw.py", "rayshim"),
    ("unbuilt.py", "rayshim"),  # likewise
    ("tests/apart.sh", "rayshim"),  # runs tests of both packages
}


def found_words():
    for path in sorted(ROOT.rglob("*")):
        if path.suffix in SUFFIXES and path.name != Path(__file__).name:
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for word in WORDS.findall(line):
                    yield str(path.relative_to(ROOT)), number, word


def test_no_word_of_the_api_above_is_in_the_runtime():
    wrong = [f"reactor/{path}:{number}: {word}" for path, number, word in found_words() if (path, word) not in ALLOWED]
    assert not wrong, "say it in the runtime's own words, or move it up to rayshim:\n" + "\n".join(wrong)


def test_each_exception_is_used():
    assert {(path, word) for path, _, word in found_words()} >= ALLOWED
