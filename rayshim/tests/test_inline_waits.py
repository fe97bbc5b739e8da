"""Async methods in inline placement: a wait that nothing can end is an error, and others end."""

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import asyncio, threading, time
    import rayshim as ray

    ray.init(placement="inline", logging_level="ERROR")

    @ray.remote
    class Waits:
        def __init__(self):
            self.event = asyncio.Event()

        async def for_another_call(self):
            await self.event.wait()
            return "woken"

        async def set(self):
            self.event.set()

        async def for_time(self):
            await asyncio.sleep(0.02)
            return "time"

        async def for_a_thread(self):
            return await asyncio.to_thread(lambda: (time.sleep(0.02), "thread")[1])

        async def for_a_thread_of_its_own(self):
            loop, future = asyncio.get_running_loop(), asyncio.Event()
            threading.Timer(0.02, loop.call_soon_threadsafe, [future.set]).start()
            await future.wait()
            return "timer"

        async def for_a_process(self):
            process = await asyncio.create_subprocess_exec("sleep", "0.02")
            return await process.wait()

        async def for_a_call(self, other):
            return await other.for_time.remote()

    waits = Waits.remote()
    for method in (waits.for_time, waits.for_a_process):
        print(ray.get(method.remote()))
    print(ray.get(waits.for_a_call.remote(Waits.remote())))
    failed = waits.for_another_call.remote()
    try:
        ray.get(failed)
    except ray.exceptions.DeadlockError as error:
        print("error", "only a later call can bring" in str(error))
    waits.set.remote()
    print(ray.get(waits.for_another_call.remote()))
    for method in (waits.for_a_thread_of_its_own, waits.for_a_thread):
        print(ray.get(method.remote()))
"""


def test_waits_of_async_methods():
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, timeout=200)
    expected = ["time", "0", "time", "error True", "woken", "timer", "thread"]
    assert (ran.returncode, ran.stdout.splitlines()) == (0, expected), ran.stderr


LONG = """
    import sys, time
    import rayshim as ray
    from rayshim.placement import inline

    inline.LONG_SECONDS = 0.2
    ray.init(placement="inline", logging_level="ERROR")

    @ray.remote
    class Player:
        def __init__(self, seconds=0):
            time.sleep(seconds)

        def play(self, other):
            until = time.monotonic() + 1
            while time.monotonic() < until:
                ray.get(other.step.remote())
                time.sleep(0.01)

        def step(self):
            pass

    {}
    time.sleep(0.6)
    ray.shutdown()
"""


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("Player.remote().play.remote(Player.remote())", "Player, play,"),
        ("ray.remote(lambda: time.sleep(1)).remote()", "the task <lambda>"),
        ("Player.remote(1)", "Player, its constructor,"),
        ("player = Player.remote()\nfor _ in range(100): player.step.remote(); time.sleep(0.01)", None),
    ],
)
def test_a_call_that_runs_for_long_is_told_of_once(call, name):
    program = textwrap.dedent(LONG).format(call)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("has run for") == (name is not None), ran.stderr
    assert name is None or f"a call of {name} has run for 0.2 s and is at <string>:" in ran.stderr, ran.stderr
