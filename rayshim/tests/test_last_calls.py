"""Calls that nobody waits for when the program ends."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import rayshim as ray
ray.init(num_cpus=2)

@ray.remote
class Speaker:
    def say(self, text):
        print(text, flush=True)

@ray.remote
def speak(text):
    print(text, flush=True)

one, two = Speaker.remote(), Speaker.remote()
one.say.remote("first words")
two.say.remote("other words")
speak.remote("words of a task")
"""

SLOW_FORKS = """
import os, time

os.register_at_fork(after_in_child=lambda: time.sleep(1))
"""

# What a worker does between its place in the session and its first look for work.
SLOW_BEGINNINGS = """
import faulthandler, time

enable = faulthandler.enable
faulthandler.enable = lambda *args, **kwargs: (time.sleep(1), enable(*args, **kwargs))
"""


@pytest.fixture
def said(tmp_path):
    """What the script prints, with `sitecustomize` as a module of that name in each interpreter."""

    def run(sitecustomize):
        (tmp_path / "script.py").write_text(SCRIPT)
        (tmp_path / "sitecustomize.py").write_text(sitecustomize)
        ended = subprocess.run(
            [sys.executable, "script.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return run


def test_calls_of_actors_created_at_the_very_end_still_run(said):
    said = said("")
    assert "first words" in said and "other words" in said and "words of a task" in said


@pytest.mark.parametrize("slow", [SLOW_FORKS, SLOW_BEGINNINGS], ids=["forks", "beginnings"])
@pytest.mark.parametrize("placement", ["isolated", "packed"])
def test_calls_at_the_very_end_run_if_workers_are_slow_to_start(said, slow, placement, monkeypatch):
    monkeypatch.setenv("RAYSHIM_PLACEMENT", placement)
    said = said(slow)
    assert "first words" in said and "other words" in said and "words of a task" in said
