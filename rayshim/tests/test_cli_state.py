"""`rayshim list`, `get`, `summary` and `health-check`."""

import contextlib
import json
import os
import re
import subprocess
import sys

import pytest


def rayshim(*arguments, tmp):
    env = {**os.environ, "RAY_TMPDIR": str(tmp)}
    done = subprocess.run(
        [sys.executable, "-m", "rayshim", *arguments], env=env, capture_output=True, text=True, timeout=200, check=False
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


_PROGRAM_OF_ITS_OWN = """
import rayshim as ray
ray.init(num_cpus=1, log_to_driver=False)
@ray.remote
class Store:
    def number(self):
        return 1
store = Store.options(name=NAME).remote()
ray.get(store.number.remote())
print("ready", flush=True)
input()
"""


@contextlib.contextmanager
def program(name, tmp):
    """A program with a session of its own, in which an actor has this name. It ends with the context."""
    text = _PROGRAM_OF_ITS_OWN.replace("NAME", repr(name))
    env = {**os.environ, "RAY_TMPDIR": str(tmp)}
    with subprocess.Popen(
        [sys.executable, "-c", text], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None and started.stdout.readline() == "ready\n"
        yield started.pid
        started.communicate("\n", timeout=200)


def names_of_actors(*more, tmp):
    status, out, error = rayshim("list", "actors", "--format", "json", *more, tmp=tmp)
    assert (status, error) == (0, "")
    return [actor["name"] for actor in json.loads(out)]


def test_the_state_of_a_programs_own_session_is_shown(tmp_path):
    with program("first", tmp_path) as first:
        assert names_of_actors(tmp=tmp_path) == ["first"]
        with program("second", tmp_path) as second:
            status, _, error = rayshim("list", "actors", tmp=tmp_path)
            assert status == 1 and "multiple active Ray instances" in error
            lines = rayshim("status", tmp=tmp_path)[1].splitlines()
            for pid, name in ((first, "first"), (second, "second")):
                (line,) = [line for line in lines if line.startswith(f"driver {pid} ")]
                address = re.search(r"\S+:\d+(?=  \(1 workers\))", line)
                assert address and names_of_actors("--address", address[0], tmp=tmp_path) == [name]
    status, _, error = rayshim("get", "actors", "00", "--address", "127.0.0.1:1", tmp=tmp_path)
    assert status == 1 and "127.0.0.1:1" in error and "rayshim status" in error


def test_without_a_session_the_commands_say_what_to_do(tmp_path):
    assert rayshim("health-check", tmp=tmp_path)[0] == 1
    status, _, error = rayshim("list", "nodes", tmp=tmp_path)
    assert status == 1 and "no session of this user is running" in error
    status, _, error = rayshim("--as-ray", "logs", tmp=tmp_path)
    assert status == 1 and "no log files" in error
    assert rayshim("list", "colours", tmp=tmp_path)[0] == 2
