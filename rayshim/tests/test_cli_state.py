"""`rayshim list`, `get`, `summary` and `health-check`."""

import json
import subprocess
import sys

import pytest


def rayshim(*arguments, tmp):
    import os

    env = {**os.environ, "RAY_TMPDIR": str(tmp)}
    done = subprocess.run(
        [sys.executable, "-m", "rayshim", *arguments], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def head(tmp_path):
    status, _, error = rayshim("start", "--head", "--num-cpus=2", "--port=0", "--include-dashboard=false", tmp=tmp_path)
    assert status == 0, error
    yield tmp_path
    rayshim("stop", "--force", tmp=tmp_path)


_PROGRAM = """
import rayshim as ray
ray.init("auto", namespace="shown")
@ray.remote
class Store:
    def number(self):
        return 1
store = Store.options(name="the store", lifetime="detached").remote()
ray.get(store.number.remote())
"""


def test_the_state_of_a_session_is_shown(head):
    assert rayshim("health-check", tmp=head)[0] == 0
    assert rayshim("-c", _PROGRAM, tmp=head)[0] == 0
    status, out, error = rayshim("list", "actors", "--format", "json", "--filter", "state=ALIVE", tmp=head)
    assert (status, error) == (0, "")
    [actor] = json.loads(out)
    assert (actor["class_name"], actor["name"]) == ("Store", "the store") and "num_restarts" not in actor
    status, out, _ = rayshim("list", "actors", tmp=head)
    assert status == 0 and "Total: 1" in out and "ACTOR_ID" in out and actor["actor_id"] in out
    assert rayshim("list", "placement-groups", tmp=head)[1] == "No resource in the cluster\n"
    status, out, _ = rayshim("get", "actors", actor["actor_id"], tmp=head)
    assert status == 0 and out.startswith("---\n-   actor_id: ") and "    class_name: Store\n" in out
    status, out, _ = rayshim("summary", "actors", tmp=head)
    assert status == 0 and "total_actors: 1" in out and "ALIVE: 1" in out
    status, _, error = rayshim("list", "actors", "--filter", "colour=red", tmp=head)
    assert status == 1 and "filter column colour is not supported" in error
    status, _, error = rayshim("list", "objects", tmp=head)
    assert status == 1 and "keeps no list" in error


def test_without_a_session_the_commands_say_what_to_do(tmp_path):
    assert rayshim("health-check", tmp=tmp_path)[0] == 1
    status, _, error = rayshim("list", "nodes", tmp=tmp_path)
    assert status == 1 and "rayshim status" in error
    status, _, error = rayshim("--as-ray", "logs", tmp=tmp_path)
    assert status == 1 and "no log files" in error
    assert rayshim("list", "colours", tmp=tmp_path)[0] == 2
