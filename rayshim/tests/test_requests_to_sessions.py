"""One connection's nonsense, silence or death ends that connection, and nothing else of the session."""

import contextlib
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys

import pytest
from reactor.runtime.driver import attached
from reactor.runtime.messages import frames
from reactor.runtime.supervisor import visitors

import rayshim as ray
from compat_tests import processes
from rayshim.session import heads, rendezvous
from rayshim.tests.head_sessions import attach, head  # noqa: F401


@ray.remote
def double(x):
    return 2 * x


def knock(facts):
    """A connection to the session, by the path of its socket, as any program may make it."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(os.path.join(facts["place"].folder, facts["place"].name))
    connection.settimeout(60)
    return connection


def answer(facts, data):
    """All that the session sends to a program that sends this."""
    with knock(facts) as connection:
        with contextlib.suppress(BrokenPipeError):  # it was sent away before it had sent everything
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        parts = []
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(1 << 16):
                parts.append(part)
    return b"".join(parts)


def error_of(data):
    incoming = frames.Incoming()
    frame = incoming.feed(data[: incoming.missing]) if data else (0, {})
    return (frame or incoming.feed(data[-incoming.missing :]))[1].get("error")


class Exits:
    def __reduce__(self):
        return sys.exit, (3,)


class Fails:
    def __reduce__(self):
        return int, ("garbage",)


REQUEST = {"what": "attach", "settings": {}, "about": {}, "path": [], "cwd": None, "preload": []}
NONSENSE = {
    "nothing": b"",
    "garbage": b"garbage",
    "a request of a version without frames": struct.pack("<I", 20) + pickle.dumps({"what": "facts"}),
    "a length alone": b"\xff\xff\xff\xff",
    "half a header": frames.pack({"what": "facts"})[:9],
    "half a request": frames.pack({"what": "facts"})[:-3],
    "too long": struct.pack("<4sHHII", b"rctr", 1, frames.PICKLE, 0xFFFFFFFF, frames.build()),
    "another build": struct.pack("<4sHHII", b"rctr", 1, frames.PICKLE, 10, frames.build() ^ 1) + b"x" * 10,
    "no pickle": struct.pack("<4sHHII", b"rctr", 1, frames.PICKLE, 7, frames.build()) + b"garbage",
    "a pickle of 0": struct.pack("<4sHHII", b"rctr", 1, frames.PICKLE, 4, frames.build()) + pickle.dumps(0, 2)[:4],
    "an empty request": frames.pack({}, frames.PICKLE),
    "a pickle that raises": frames.pack({"a": Fails()}, frames.PICKLE),
    "a pickle that exits": frames.pack({"a": Exits()}, frames.PICKLE),
    "facts that are none": frames.pack({"what": "tell", "facts": 3}),
    "facts in place of the session's own": frames.pack({"what": "tell", "facts": {"pid": 1}}),
    "drivers in place of the session's own": frames.pack({"what": "tell", "facts": {"drivers": 1}}),
    **{
        f"a driver with {name} {value!r}": frames.pack({**REQUEST, name: value}, frames.PICKLE)
        for name, value in (
            ("settings", 5),
            ("about", None),
            ("about", {"remember": []}),
            ("about", {"entrypoint": object}),
            ("path", "abc"),
            ("path", [1]),
            ("cwd", 7),
            ("preload", 1),
            ("preload", [5]),
            ("preload", [[]]),
            ("preload", [("a", "b", "c")]),
        )
    },
}


def test_no_wrong_request_ends_a_session(head):  # noqa: F811
    facts = head.start("--include-dashboard=false")
    attach()
    for name, data in NONSENSE.items():
        assert error_of(answer(facts, data)), name
        (now,) = heads.running()
        assert now["pid"] == facts["pid"] and [one["pid"] for one in now["drivers"]] == [os.getpid()], name
    assert ray.get(double.remote(4)) == 8


def test_a_driver_that_sends_nonsense_on_its_line_goes_on(head):  # noqa: F811
    head.start("--include-dashboard=false")
    attach()
    driver = head.driver("""
    ray.init(address="auto", log_to_driver=False)
    from rayshim.session import session
    session.current.driver._line.sendall(b"nonsense" * 1000)
    print("ready", flush=True)
    """)
    assert ray.get(double.remote(4)) == 8
    driver.kill()
    driver.wait()
    driver.stdout.close()


def test_silent_visitors_neither_end_a_session_nor_keep_others_from_it(head, monkeypatch):  # noqa: F811
    facts = head.start("--include-dashboard=false")
    silent = [knock(facts) for _ in range(visitors._MOST * 2)]
    half = [knock(facts) for _ in range(5)]
    for connection in half:
        connection.sendall(frames.pack({"what": "facts"})[:10])
    assert heads.running()[0]["pid"] == facts["pid"]
    attach()
    assert ray.get(double.remote(4)) == 8
    assert silent[0].recv(1) == b""  # it had to make room
    for connection in silent + half:
        connection.close()


def test_a_visitor_that_stays_silent_is_sent_away(head):  # noqa: F811
    facts = head.start("--include-dashboard=false")
    with knock(facts) as connection:
        connection.settimeout(visitors.SECONDS * 4)
        assert connection.recv(1) == b""


def test_a_visitor_that_does_not_read_its_answer_holds_nobody_up(head):  # noqa: F811
    facts = head.start("--include-dashboard=false")
    with knock(facts) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        large = {"note": "x" * (4 << 20)}
        attached.ask(rendezvous.connect(facts["place"]), "tell", facts=large)
        one.sendall(frames.pack({"what": "facts"}))
        assert select.select([one], [], [], 60)[0]
        assert heads.running()[0]["note"] == large["note"]
    assert heads.running()[0]["pid"] == facts["pid"]


def test_a_program_that_died_between_question_and_answer_is_nobodys_trouble(head):  # noqa: F811
    facts = head.start("--include-dashboard=false")
    for _ in range(20):
        with knock(facts) as connection:
            connection.sendall(frames.pack(REQUEST, frames.PICKLE))
    processes.wait_until(lambda: heads.running()[0]["drivers"] == [], 30, "no driver is left")


def test_another_build_is_told_so_and_the_session_goes_on(head, monkeypatch):  # noqa: F811
    head.start("--include-dashboard=false")
    build = frames.build()
    monkeypatch.setattr(frames, "_build", build ^ 1)
    with pytest.raises(ConnectionError, match="another build of reactor or another Python"):
        attach()
    monkeypatch.setattr(frames, "_build", build)
    attach()


def test_another_version_is_refused_as_on_ray(head, monkeypatch):  # noqa: F811
    from rayshim.api import attaching

    head.start("--include-dashboard=false")
    monkeypatch.setattr(attaching, "VERSION", "99.1")
    with pytest.raises(RuntimeError, match="Version mismatch: .* and this process has rayshim 99.1 on Python"):
        attach()


def test_a_stopped_head_is_treated_as_absent_by_whoever_only_asks(head, monkeypatch, capfd):  # noqa: F811
    facts = head.start("--include-dashboard=false")
    monkeypatch.setattr(attached, "ASK_SECONDS", 1)
    for pid in (facts["supervisor"], facts["pid"]):
        os.kill(pid, signal.SIGSTOP)
    assert heads.running() == []
    assert heads.look(heads.HEAD)[1] == [facts["pid"]]
    ray.init(num_cpus=1, placement="isolated")
    assert ray.get(double.remote(4)) == 8
    assert f"process {facts['pid']} does not answer, and is treated as absent" in capfd.readouterr().err
    ray.shutdown()
    for pid in (facts["supervisor"], facts["pid"]):
        os.kill(pid, signal.SIGCONT)
    monkeypatch.setattr(attached, "ASK_SECONDS", 30)
    assert heads.running()[0]["pid"] == facts["pid"]


def test_a_session_that_stops_while_a_driver_attaches_is_a_timeout(head, monkeypatch):  # noqa: F811
    facts = head.start("--include-dashboard=false")
    monkeypatch.setattr(attached, "_ATTACH_SECONDS", 1)
    os.kill(facts["supervisor"], signal.SIGSTOP)
    driver = attached.Attached(rendezvous.connect(facts["place"]), {})
    with pytest.raises(TimeoutError, match=f"process {facts['pid']} has started does not answer"):
        driver.start()
    os.kill(facts["supervisor"], signal.SIGCONT)
    monkeypatch.setattr(attached, "_ATTACH_SECONDS", 60)
    attach()
    assert ray.get(double.remote(4)) == 8


def test_a_listener_of_this_user_that_never_accepts_is_absent(tmp_path, monkeypatch):
    monkeypatch.setattr(attached, "ASK_SECONDS", 1)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    full, place = heads.listen(6379)
    full.listen(0)
    waiting = [rendezvous.connect(place)]
    other, _ = rendezvous.listen(place.folder, heads.HEAD, 6380)
    other.listen(0)
    code = "import rayshim as ray; ray.init(num_cpus=1); print(ray.is_initialized())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert ran.stdout == "True\n", ran.stderr
    assert heads.running() == []
    for one in (full, other, *filter(None, waiting)):
        one.close()
