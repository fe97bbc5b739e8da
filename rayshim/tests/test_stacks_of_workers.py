"""`rayshim stack` shows the program's code in each worker, and which workers are idle."""

import json
import os
import subprocess
import sys

import rayshim as ray
from rayshim.cli import running
from rayshim.errors import tracebacks


def stacks():
    """{title of each worker of this process's session: its text}"""
    [own] = [found for found in running.sessions() if found.driver.pid == os.getpid()]
    return {worker.what: tracebacks.of_process(worker.pid) for worker in own.workers}


def shows(condition):
    """Waits until `condition` of the stacks holds, and gives them."""
    while not condition(found := stacks()):
        pass
    return found


def test_idle_actors_say_so(tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    @ray.remote
    class Idle:
        def call(self):
            return 1

    @ray.remote(max_concurrency=2)
    class Threaded:
        def call(self):
            return 1

    @ray.remote
    class Loop:
        async def call(self):
            return 1

    @ray.remote
    class Busy:
        def method_that_waits(self):
            return json.load(open(gate))

        def in_get(self, refs):
            return ray.get(refs[0])

    ray.init(num_cpus=4, logging_level="ERROR")
    try:
        idle = [Idle.remote(), Threaded.remote(), Loop.remote()]
        assert ray.get([actor.call.remote() for actor in idle]) == [1, 1, 1]
        busy, waiter = Busy.remote(), Busy.remote()
        ref = busy.method_that_waits.remote()
        waits = waiter.in_get.remote([ref])
        found = shows(
            lambda found: all(
                any(f" in {name}" in text for text in found.values()) for name in ("method_that_waits", "in_get")
            )
        )
        assert found["ray::Idle"] == found["ray::Threaded"] == "idle: it waits for calls"
        assert "waits for calls" in found["ray::Loop"] and "File" not in found["ray::Loop"]
        assert all("/rayshim/worker/" not in text and "/reactor/" not in text for text in found.values())
        gate.write_text("7")
        assert ray.get(waits) == 7
    finally:
        ray.shutdown()


def test_the_command_names_idle_workers():
    program = """
import subprocess, sys
import rayshim as ray

@ray.remote
class Idle:
    def call(self):
        return 1

ray.init(num_cpus=1, logging_level="ERROR")
actor = Idle.remote()
ray.get(actor.call.remote())
print(subprocess.run([sys.executable, "-m", "rayshim", "stack"], capture_output=True, text=True).stdout)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "ray::Idle\nidle: it waits for calls" in done.stdout, done.stdout + done.stderr
