"""Calls that nobody waits for when the program ends."""

import subprocess
import sys

SCRIPT = """
import rayshim as ray
ray.init(num_cpus=2)

@ray.remote
class Speaker:
    def say(self, text):
        print(text, flush=True)

one, two = Speaker.remote(), Speaker.remote()
one.say.remote("first words")
two.say.remote("other words")
"""


def test_calls_of_actors_created_at_the_very_end_still_run(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "first words" in ended.stdout and "other words" in ended.stdout
