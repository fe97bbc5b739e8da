"""The socket at which a running program lets transient federates join: who can reach it, and that no request ends it."""

import contextlib
import os
import socket
import stat
import struct
import subprocess
import sys

import pytest
from reactor.runtime.messages import peers
from reactor.tests.calling import wait_until

pytest.importorskip("lark")

TEXT = """target Python
reactor Stay { timer t(0, 5 ms) reaction(t) {= if os.path.exists(os.environ["END"]): request_stop() =} }
reactor M { reaction(startup) {= print("joined", flush=True)
    lf.stop() =} }
federated reactor { s = new Stay() @transient m = new M() }
"""


class Running:
    """A program with a transient federate, which has left."""

    def __init__(self, directory):
        (directory / "main.lf").write_text(TEXT)
        self.temporary = directory / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self.end = directory / "end"
        self.variables = {**os.environ, "TMPDIR": str(self.temporary), "END": str(self.end)}
        self.script = directory / "fed-gen" / "main" / "bin" / "federate__m"
        self.folder = self.temporary / f"reactor-{os.geteuid()}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reactor", "main.lf"],
            cwd=directory,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def joined(self):
        return self.process.stdout.readline()

    @property
    def federation(self):
        [name] = (name for name in os.listdir(self.folder) if name.startswith(f"federation-{self.process.pid}-"))
        return name

    @contextlib.contextmanager
    def connected(self):
        folder = os.open(self.folder, os.O_PATH)
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(f"/proc/self/fd/{folder}/{self.federation}")
            os.close(folder)
            yield link

    def answer(self, data):
        """What the program answers to these bytes, after which nothing more comes."""
        with self.connected() as link, contextlib.suppress(ConnectionError):
            link.sendall(data)
            link.shutdown(socket.SHUT_WR)
            return link.recv(100)
        return b""

    def start_federate(self, **more):
        return subprocess.run(
            [self.script, "-i", self.federation], capture_output=True, text=True, env=self.variables, **more
        )


@pytest.fixture
def begin(tmp_path):
    begun = []

    def start():
        begun.append(Running(tmp_path))
        return begun[-1]

    yield start
    for one in begun:
        one.process.kill()
        one.process.communicate()


@pytest.fixture
def running(begin):
    one = begin()
    assert one.joined() == "joined\n"
    return one


def framed(name):
    return struct.pack("<H", len(name)) + name


def test_no_request_ends_the_launcher(running):
    for bad in (
        b"",
        b"\xff",
        b"\x01",
        framed(b"\xff\xfe"),
        framed(b"m")[:-1],
        b"\xff\xff" + b"x" * 70000,
        framed(b"\0" * 4096),
    ):
        assert running.answer(bad) in (b"", b"0")
    assert running.answer(framed(b"nobody")) == b"0"
    assert running.answer(framed(b"m")) == b"1"
    assert running.joined() == "joined\n"
    wait_until(lambda: running.start_federate().returncode == 0)
    assert running.joined() == "joined\n"


def test_a_silent_connection_is_dropped_and_the_next_one_served(running):
    with running.connected() as silent, running.connected() as slow:
        slow.sendall(b"\x05")
        assert running.start_federate().returncode == 0
        assert silent.recv(1) == b""
    assert running.joined() == "joined\n"


def test_only_the_user_can_reach_the_socket(running):
    assert stat.S_IMODE(running.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((running.folder / running.federation).stat().st_mode) == 0o600
    with open("/proc/net/unix") as sockets:
        assert not [line for line in sockets if "@" in line and "reactor-federation" in line]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can take another user's identity")
def test_another_user_who_has_got_hold_of_the_socket_is_turned_away(running):
    path = running.folder / running.federation
    at = os.open(path, os.O_PATH)  # as by a mistake in the permissions of the folder
    path.chmod(0o666)
    text = (
        "import os, socket, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.connect('/proc/self/fd/' + sys.argv[1])\n"
        "try: s.sendall(b'\\x01\\0m'); print('got', s.recv(100))\n"
        "except OSError as error: print('got', b'', error)\n"
    )
    found = subprocess.run([sys.executable, "-c", text, str(at)], pass_fds=[at], capture_output=True, text=True)
    os.close(at)
    assert found.stdout.startswith("got b''"), found.stdout + found.stderr
    assert running.start_federate().returncode == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can take another user's identity")
def test_a_folder_that_another_user_has_created_first_is_refused(begin):
    one = begin()
    one.joined()
    one.end.touch()
    assert one.process.wait(60) == 0
    one.folder.mkdir(mode=0o700)
    os.chown(one.folder, 65534, 65534)
    one.end.unlink()
    other = begin()
    output, _ = other.process.communicate(timeout=200)
    assert other.process.returncode == 1
    assert "belongs to user" in output
    assert "Traceback" not in output


def test_a_socket_of_a_program_that_was_killed_is_removed_by_the_next(begin):
    one = begin()
    one.joined()
    left = one.federation
    one.process.kill()
    one.process.wait()
    assert os.listdir(one.folder) == [left]
    two = begin()
    two.joined()
    assert os.listdir(two.folder) == [two.federation]
    two.end.touch()
    assert two.process.wait(60) == 0
    assert not two.folder.exists()


def test_programs_that_run_at_the_same_time_have_own_sockets(begin):
    one, two = begin(), begin()
    for running in (one, two):
        assert running.joined() == "joined\n"
    assert one.federation != two.federation
    assert two.start_federate().returncode == 0
    assert two.joined() == "joined\n"
    folder = os.open(one.folder, os.O_PATH)
    link = peers.connect(folder, one.federation)
    os.close(folder)
    assert link is not None
    link.close()
