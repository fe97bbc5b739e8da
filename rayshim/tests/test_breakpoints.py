"""Breakpoints in workers: `rayshim debug` attaches to them, and nobody else can."""

import contextlib
import os
import re
import socket
import stat
import subprocess
import sys
import textwrap
import time
import uuid

import pytest

from compat_tests import processes
from rayshim.session import breakpoints, folder

TASK = """
@ray.remote
def f():
    secret = "s3cret"
    {stop}
    return secret
print("result", ray.get(f.remote()))
"""
ACTOR = """
@ray.remote
class A:
    def f(self):
        secret = "s3cret"
        {stop}
        return secret
print("result", ray.get(A.remote().f.remote()))
"""
POST_MORTEM = """
@ray.remote
def f():
    secret = "s3cret"
    try:
        secret.missing
    except AttributeError:
        ray.util.rpdb.post_mortem()
    return "other"
print("result", ray.get(f.remote()))
"""


class Session:
    """A program with a session of its own."""

    def __init__(self, directory, source, placement):
        self.mark = uuid.uuid4().hex
        self.variables = {
            **os.environ,
            processes.MARK: self.mark,
            "RAY_TMPDIR": str(directory),
            "PYTHONUNBUFFERED": "1",
        }
        self.variables.pop("RAY_ADDRESS", None)
        text = f"import rayshim as ray\nray.init(num_cpus=2, placement={placement!r})\n" + textwrap.dedent(source)
        program = directory / "program.py"
        program.write_text(text)
        self.process = self._begin(str(program))

    def _begin(self, *arguments):
        return subprocess.Popen(
            [sys.executable, *arguments],
            env=self.variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def waiting(self):
        return breakpoints.waiting([folder.parent_in(self.variables)])

    def stopped(self, count=1):
        """The breakpoints, once there are so many."""
        return processes.wait_until(lambda: len(found := self.waiting()) == count and found, 60.0, "workers wait")

    def debug(self, typed, pid=None):
        """(exit status, output) of `rayshim debug` with this input, at the breakpoint of that process or of the only one. (Other sessions on this
        machine may have breakpoints of their own.)"""
        command = self._begin("-m", "rayshim", "debug", str(pid or self.waiting()[0][1]["pid"]))
        output, _ = command.communicate(typed, timeout=200)
        return command.returncode, output

    def ended(self):
        output, _ = self.process.communicate(timeout=200)
        return output

    def all(self):
        return [self.process.pid, *processes.marked(self.mark)]


@pytest.fixture
def begin(tmp_path):
    begun = []

    def start(source, placement="isolated"):
        begun.append(Session(tmp_path, source, placement))
        return begun[-1]

    yield start
    for session in begun:
        session.process.kill()
        session.process.wait()
        session.process.stdout.close()
        session.process.stdin.close()
        processes.wait_until(lambda session=session: not processes.marked(session.mark), 20.0, "no process is left")


@pytest.mark.parametrize("placement", ["isolated", "packed"])
@pytest.mark.parametrize("program", [TASK, ACTOR])
@pytest.mark.parametrize("stop", ["breakpoint()", "ray.util.pdb.set_trace()", "ray.util.ray_debugpy.set_trace()"])
def test_a_terminal_attaches_to_a_breakpoint(begin, program, stop, placement):
    session = begin(program.format(stop=stop), placement)
    [(_, facts)] = session.stopped()
    assert (os.path.basename(facts["file"]), facts["function"]) == ("program.py", "f")
    status, output = session.debug('p secret * 2\nsecret = "changed"\nc\n')
    assert (status, "s3crets3cret" in output) == (0, True), output
    output = session.ended()
    assert "result changed" in output
    assert "rayshim debug" in output


def test_a_terminal_attaches_after_a_failure(begin):
    session = begin(POST_MORTEM)
    session.stopped()
    assert "s3crets3cret" in session.debug("p secret * 2\nq\n")[1]
    assert "result other" in session.ended()


def test_the_program_continues_when_the_terminal_is_closed(begin):
    session = begin(TASK.format(stop="breakpoint()"))
    session.stopped()
    assert session.debug("")[0] == 0
    assert "result s3cret" in session.ended()


def test_a_breakpoint_set_in_the_debugger_stops_again_in_the_same_terminal(begin):
    session = begin("""
        @ray.remote
        def f():
            x = 1
            breakpoint()
            x = 2
            x = 3
            return x
        print("result", ray.get(f.remote()))
        """)
    [(_, facts)] = session.stopped()
    output = session.debug(f"b {facts['line'] + 2}\nc\np 'x is', x\nclear 1\nc\n")[1]
    assert "('x is', 2)" in output, output
    assert "result 3" in session.ended()


def test_with_several_breakpoints_the_command_asks_for_one(begin):
    session = begin("""
        @ray.remote
        def f(x):
            breakpoint()
            return x
        print("result", sum(ray.get([f.remote(1), f.remote(2)])))
        """)
    session.stopped(2)
    command = session._begin("-m", "rayshim", "debug")
    pids, number = [facts["pid"] for _, facts in session.waiting()], None
    while number is None:
        line = command.stdout.readline().split()
        number = line[0] if line[1:3] == ["pid", str(pids[1])] else None
    output, _ = command.communicate(f"{number}\np x + 40\nc\n".replace(":", ""), timeout=200)
    assert "(ray-pdb) 4" in output
    [(_, facts)] = session.stopped(1)
    assert facts["pid"] == pids[0]
    assert session.debug("c\n")[0] == 0
    assert "result 3" in session.ended()


def test_without_a_breakpoint_the_command_says_so(begin):
    session = begin("import time; print('ready'); time.sleep(1000)")
    while "ready" not in session.process.stdout.readline():
        pass
    status, output = session.debug("", session.process.pid)
    assert status == 1
    assert "does not wait at a breakpoint" in output


def test_only_the_user_can_reach_the_socket(begin):
    session = begin(TASK.format(stop="breakpoint()"))
    [(path, _)] = session.stopped()
    at = os.path.dirname(path)
    while at != os.path.dirname(folder.parent_in(session.variables)):
        assert stat.S_IMODE(os.stat(at).st_mode) == 0o700, at
        at = os.path.dirname(at)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_connections_that_want_nothing_are_closed_and_the_worker_goes_on_waiting(begin):
    session = begin(TASK.format(stop="breakpoint()"))
    [(path, _)] = session.stopped()
    for said in (b"", b"c\n", b"\xff" * 1000):
        with breakpoints._connected(path) as link:
            if said:
                link.sendall(said)
            else:
                link.shutdown(socket.SHUT_WR)
            try:
                assert link.recv(100) == b""
            except ConnectionResetError:
                pass
    with contextlib.ExitStack() as silent:
        for _ in range(40):
            silent.enter_context(breakpoints._connected(path))
        assert "result" not in session.debug("c\n")[1]
    assert "result s3cret" in session.ended()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can take another user's identity")
def test_another_user_who_has_got_hold_of_the_socket_is_turned_away(begin):
    session = begin(TASK.format(stop="breakpoint()"))
    [(path, _)] = session.stopped()
    at = os.open(path, os.O_PATH)  # as by a mistake in the permissions of the folders
    os.chmod(path, 0o666)
    text = (
        "import os, socket, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.connect('/proc/self/fd/' + sys.argv[1]); s.settimeout(60)\n"
        "try: s.sendall(b'?'); print('got', s.recv(100))\n"
        "except OSError as error: print('got', b'', error)\n"
    )
    found = subprocess.run([sys.executable, "-c", text, str(at)], pass_fds=[at], capture_output=True, text=True)
    os.close(at)
    assert found.stdout.startswith("got b''"), found.stdout + found.stderr
    assert session.stopped()


def test_a_cancelled_task_leaves_no_socket(begin):
    session = begin("""
        import sys
        @ray.remote(max_retries=0)
        def f():
            breakpoint()
        ref = f.remote()
        sys.stdin.readline()
        ray.cancel(ref)
        try:
            ray.get(ref)
        except ray.exceptions.RayError as error:
            print("result", type(error).__name__)
        sys.stdin.readline()
        """)
    [(path, _)] = session.stopped()
    session.process.stdin.write("\n")
    session.process.stdin.flush()
    processes.wait_until(lambda: not os.path.exists(path), 30.0, "the socket is removed")
    session.process.stdin.write("\n")
    assert "TaskCancelledError" in session.ended()


def listening(pids):
    """The lines of /proc/net/tcp and udp, with tcp6 and udp6, of sockets of these processes that others can connect or send to."""
    inodes = set()
    for pid in pids:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # it was that of the directory
                link = os.readlink(f"/proc/{pid}/fd/{fd}")
                inodes.update(re.findall(r"socket:\[(\d+)\]", link))
    found = []
    for table, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        try:
            with open(f"/proc/net/{table}") as file:
                found += [line for line in file if line.split()[3] == state and line.split()[9] in inodes]
        except FileNotFoundError:
            pass  # this machine has no such protocol
    return found


def test_listening_sockets_are_found():
    before = len(listening([os.getpid()]))
    with socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        assert len(listening([os.getpid()])) == before + 2


@pytest.mark.parametrize("placement", ["isolated", "packed", "auto"])
def test_no_process_of_a_session_listens_on_a_port(begin, placement):
    session = begin(
        """
        @ray.remote
        class A:
            async def g(self):
                return 1
        @ray.remote
        def f():
            breakpoint()
        a = A.remote()
        ray.get([a.g.remote() for _ in range(10)])
        ray.get(f.remote())
        """,
        placement,
    )
    session.stopped()
    assert len(session.all()) >= 4  # driver, supervisor, zygote, workers
    assert listening(session.all()) == []


def test_the_facts_have_the_time(begin):
    before = time.time()
    session = begin(TASK.format(stop="breakpoint()"))
    [(_, facts)] = session.stopped()
    assert before <= facts["since"] <= time.time()
    assert facts["pid"] in session.all()
