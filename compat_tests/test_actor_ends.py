"""How actors end: what of their own is run then, and what their callers get."""

import asyncio
import atexit
import os
import sys
import threading
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_own_processes


@pytest.fixture
def notes(tmp_path):
    """What actors wrote down, by `notes.write`, as a sorted list; `seen(n)` waits for n of them."""
    return Notes(str(tmp_path / "notes"))


class Notes:
    def __init__(self, path):
        self.path = path

    def write(self, text):
        with open(self.path, "a") as file:
            file.write(text + "\n")

    def seen(self, count, seconds=20):
        deadline = time.monotonic() + seconds
        while True:
            found = Path(self.path).read_text().split() if os.path.exists(self.path) else []
            if len(found) >= count or time.monotonic() > deadline:
                return sorted(found)
            time.sleep(0.02)


@pytest.fixture
def Leaver(ray, notes):
    class Leaver:
        def __init__(self):
            atexit.register(notes.write, "atexit")

        def __ray_shutdown__(self):
            notes.write("shutdown")

        def __del__(self):
            notes.write("del")

        def here(self):
            return True

        def exit(self):
            ray.actor.exit_actor()

        def exit_in_try(self):
            try:
                ray.actor.exit_actor()
            except Exception:
                return "caught"

        def exit_in_bare_try(self):
            try:
                ray.actor.exit_actor()
            except BaseException:
                return "caught"

        def exit_in_finally(self):
            try:
                ray.actor.exit_actor()
            finally:
                notes.write("finally")

        def sys_exit(self, code):
            sys.exit(code)

        def os_exit(self):
            os._exit(0)

        def wait_at(self, gate):
            gate.touch("begun")
            gate.wait_for("open")
            return "ended"

        def exit_at(self, gate):
            gate.touch("exit")
            ray.actor.exit_actor()

    return ray.remote(Leaver)


def died(ray, ref):
    with pytest.raises(ray.exceptions.ActorDiedError) as caught:
        ray.get(ref, timeout=30)
    return str(caught.value)


ALL = ["atexit", "del", "shutdown"]


def test_an_actor_without_handles_runs_its_shutdown_exit_functions_and_destructor(ray, Leaver, notes):
    actor = Leaver.remote()
    assert ray.get(actor.here.remote())
    del actor
    assert notes.seen(3) == ALL


@pytest.mark.parametrize("method, arguments, seen", [
    ("exit", (), ALL),
    ("exit_in_try", (), ALL),
    ("exit_in_bare_try", (), ALL),
    ("exit_in_finally", (), sorted([*ALL, "finally"])),
    ("sys_exit", (0,), ALL),
    ("sys_exit", (1,), ALL),
    ("__ray_terminate__", (), ALL),
])
def test_an_actor_that_leaves_runs_its_shutdown_exit_functions_and_destructor(ray, Leaver, notes, method, arguments, seen):
    actor = Leaver.remote()
    ray.get(actor.here.remote())
    died(ray, getattr(actor, method).remote(*arguments))
    assert notes.seen(len(seen)) == seen
    died(ray, actor.here.remote())


@pytest.mark.parametrize("end", ["kill", "os._exit"])
def test_an_actor_that_is_ended_at_once_runs_none_of_them(ray, Leaver, notes, end):
    actor = Leaver.remote()
    ray.get(actor.here.remote())
    if end == "kill":
        ray.kill(actor)
    else:
        died(ray, actor.os_exit.remote())
    died(ray, actor.here.remote())
    assert notes.seen(1, seconds=0.5) == []


def test_the_reason_of_the_death_says_whether_it_was_intended(ray, Leaver):
    actor = Leaver.remote()
    told = died(ray, actor.exit.remote())
    assert "INTENDED_USER_EXIT" in told and "exit_actor() is called." in told
    actor = Leaver.remote()
    assert "SYSTEM_ERROR" in died(ray, actor.sys_exit.remote(1))


def test_calls_queued_behind_exit_actor_fail_and_those_before_it_do_not(ray, Leaver, gate):
    actor = Leaver.remote()
    before, last, *behind = actor.wait_at.remote(gate), actor.exit.remote(), actor.here.remote(), actor.here.remote()
    gate.open()
    assert ray.get(before) == "ended"
    for ref in [last, *behind]:
        died(ray, ref)


def test_exit_actor_is_for_good_whatever_max_restarts_says(ray, Leaver):
    actor = Leaver.options(max_restarts=-1, max_task_retries=-1).remote()
    died(ray, actor.exit.remote())
    died(ray, actor.here.remote())


def test_an_error_in_the_shutdown_keeps_no_actor_alive(ray, notes):
    @ray.remote
    class Bad:
        def __ray_shutdown__(self):
            notes.write("shutdown")
            raise ValueError("bad end")

        def here(self):
            return True

    bad = Bad.remote()
    ray.get(bad.here.remote())
    bad.__ray_terminate__.remote()
    died(ray, bad.here.remote())
    assert notes.seen(1) == ["shutdown"]


@pytest.fixture
def Async(ray):
    class Async:
        async def here(self):
            return True

        async def exit(self):
            ray.actor.exit_actor()

        async def exit_deep(self):
            async def outer():
                await inner()

            async def inner():
                ray.actor.exit_actor()

            await outer()

        async def exit_gathered(self):
            async def inner():
                ray.actor.exit_actor()

            return await asyncio.gather(inner(), return_exceptions=True)

        async def exit_in_task(self):
            async def inner():
                ray.actor.exit_actor()

            return await asyncio.create_task(inner())

        async def exit_caught(self):
            try:
                ray.actor.exit_actor()
            except Exception:
                return "caught"

        def exit_plain(self):
            ray.actor.exit_actor()

        async def wait_at(self, gate):
            gate.touch("begun")
            while not gate.is_open():
                await asyncio.sleep(0.01)
            return "ended"

        async def exit_at(self, gate):
            gate.touch("exit")
            ray.actor.exit_actor()

    return ray.remote(Async)


@pytest.mark.parametrize("method", ["exit", "exit_deep", "exit_gathered", "exit_in_task", "exit_caught", "exit_plain"])
def test_exit_actor_ends_an_async_actor_from_whatever_coroutine(ray, Async, method):
    actor = Async.remote()
    ray.get(actor.here.remote())
    died(ray, getattr(actor, method).remote())
    died(ray, actor.here.remote())


def work_ends_before_exit(ray, actor, gate):
    ray.get(actor.here.remote())
    at_work = actor.wait_at.remote(gate)
    gate.wait_for("begun")
    end = actor.exit_at.remote(gate)
    gate.wait_for("exit")
    gate.open()
    died(ray, end)
    assert ray.get(at_work) == "ended"


def test_calls_at_work_in_an_async_actor_end_before_it_leaves(ray, Async, gate):
    work_ends_before_exit(ray, Async.remote(), gate)


def test_calls_at_work_in_a_threaded_actor_end_before_it_leaves(ray, Leaver, notes, gate):
    work_ends_before_exit(ray, Leaver.options(max_concurrency=2).remote(), gate)
    assert "shutdown" in notes.seen(3)


def test_exit_actor_outside_of_an_actor_is_a_type_error(ray):
    @ray.remote
    def leave():
        ray.actor.exit_actor()

    with pytest.raises(TypeError, match="exit_actor API is called on a non-actor worker, 0"):
        ray.actor.exit_actor()
    with pytest.raises(TypeError, match="exit_actor API is called on a non-actor worker, 1"):
        ray.get(leave.remote())


class Note:
    """Writes a note when it goes."""

    def __init__(self, notes, text):
        self.notes, self.text = notes, text

    def __del__(self):
        self.notes.write(self.text)


proxies = []


class Proxy:
    """One that cannot stand for anything now, as werkzeug's outside of a request."""

    @property
    def __class__(self):
        raise RuntimeError("working outside of request context")


class Owner:
    """An actor that leaves a note, a proxy, two files with buffered text, and an exit function that does not refer to it."""

    def __init__(self, path, notes):
        global kept
        self.note = Note(notes, "owned")
        proxies.append(Proxy())
        self.file, kept = (open(f"{path}/{name}", "w") for name in ("own", "kept"))  # noqa: SIM115
        self.file.write("own text")
        kept.write("kept text")
        atexit.register(notes.write, "atexit")

    def __ray_shutdown__(self):
        self.note.notes.write("shutdown")

    def __del__(self):
        self.note.notes.write("del")

    def here(self):
        return True

    def sys_exit(self, code):
        sys.exit(code)


@pytest.mark.parametrize("method, arguments", [(None, ()), ("sys_exit", (0,)), ("sys_exit", (3,)), ("__ray_terminate__", ())])
def test_what_an_actor_owns_goes_before_its_exit_functions_and_its_files_are_written_out(ray, notes, tmp_path, method, arguments):
    actor = ray.remote(Owner).remote(str(tmp_path), notes)
    ray.get(actor.here.remote())
    if method:
        died(ray, getattr(actor, method).remote(*arguments))
    del actor
    assert notes.seen(4) == ["atexit", "del", "owned", "shutdown"]
    assert Path(notes.path).read_text().split() == ["shutdown", "del", "owned", "atexit"]
    assert [wait_for_text(tmp_path / name) for name in ("own", "kept")] == ["own text", "kept text"]


def wait_for_text(path):
    deadline = time.monotonic() + 20
    while not path.read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    return path.read_text()
