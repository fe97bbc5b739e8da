"""An actor's first call begins after the threads that its constructor has started, as on Ray, where some milliseconds lie between the two."""

import asyncio
import threading

import pytest

from rayshim.worker import creation


class Plain:
    pass


class Server:
    def __init__(self, begun, end):
        self.thread = threading.Thread(target=self.serve, args=(begun, end))
        self.thread.start()

    def serve(self, begun, end):
        begun.wait()
        end.wait()


class AsyncServer(Server):
    async def __init__(self, begun, end):
        super().__init__(begun, end)


@pytest.fixture
def pauses(monkeypatch):
    seen = []
    monkeypatch.setattr(creation.time, "sleep", seen.append)
    return seen


def created(cls, *args):
    instance = creation._instance(cls, args, {})
    return asyncio.run(instance) if asyncio.iscoroutine(instance) else instance


def test_a_constructor_without_threads_does_not_wait(pauses):
    created(Plain)
    assert not pauses


@pytest.mark.parametrize("cls", [Server, AsyncServer])
def test_threads_of_a_constructor_get_time_before_the_first_call(pauses, cls):
    begun, end = threading.Event(), threading.Event()
    server = created(cls, begun, end)
    try:
        assert pauses == [creation._BEFORE_FIRST_CALL]
    finally:
        begun.set()
        end.set()
        server.thread.join()
