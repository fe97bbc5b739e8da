"""What another user of the machine can do to sessions of this one: nothing. See docs/security.md."""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import uuid
import zipfile
from binascii import crc32
from pathlib import Path

import pytest

from compat_tests import processes
from rayshim.exceptions import RaySystemError
from rayshim.session import heads, places, rendezvous
from rayshim.tests import other_user

pytestmark = [other_user.needs_root]

WORK = """
    @ray.remote
    class Actor:
        def value(self):
            return 7

    @ray.remote
    def double(x):
        return 2 * x

    actor = Actor.remote()
    print(ray.get(double.remote(actor.value.remote())), flush=True)
"""


@pytest.fixture
def shared(monkeypatch):
    """A temporary directory like /tmp, in which every user can create files. It is the one of the session."""
    path = Path(tempfile.mkdtemp(prefix="rayshim-shared-", dir="/tmp"))
    path.chmod(0o1777)
    for name in ("RAY_TMPDIR", "TMPDIR"):
        monkeypatch.setenv(name, str(path))
    for name in ("RAY_ADDRESS", "RAYSHIM_PLACEMENT", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(processes.MARK, uuid.uuid4().hex)
    yield path
    try:
        assert processes.marked(os.environ[processes.MARK]) == []
    finally:
        shutil.rmtree(path)


class Program:
    """A program of this user that has printed a line and goes on until it is ended."""

    def __init__(self, source=WORK, init="ray.init(num_cpus=2)"):
        text = f"import rayshim as ray, os, sys\n{init}\n" + textwrap.dedent(source) + "\nsys.stdin.read()\n"
        self._errors = tempfile.TemporaryFile("w+")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-c", text], stdin=pipe, stdout=pipe, stderr=self._errors, text=True
        )
        self.first = self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self.process, self._errors:
            self.process.stdin.close()
            self.out = self.process.stdout.read()
            self.process.wait(100)
            self._errors.seek(0)
            self.err = self._errors.read()


SQUAT = """
    import os, socket
    kept = []
    for name in eval(sys.argv[1]):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(name)
        if not name.startswith(b"\\0"):
            os.chmod(name, 0o777)
        listener.listen(0)
        client = socket.socket(socket.AF_UNIX)
        client.connect(name)  # the queue is full
        kept += [listener, client]
"""


def test_taken_names_of_sockets_hold_nobody_up(shared):
    """Of abstract sockets, which an earlier version has used, and in the place of this user's folder."""
    directory = str(shared).encode()
    names = [b"\0rayshim-%d-%d-%08x-%s" % (n, os.geteuid(), crc32(directory), directory[-60:]) for n in range(8)]
    names.append(os.fsencode(places.folder_in(shared)))
    with other_user.start(SQUAT, names) as squatter:
        with Program() as program:
            assert program.first == "14\n"
        assert "is not a directory" in program.err
        assert heads.running() == []
        squatter.communicate("", timeout=200)


CREATE = {
    "directory": "os.mkdir(sys.argv[1], 0o777)",
    "closed directory": "os.mkdir(sys.argv[1], 0o700)",
    "link": "os.mkdir(sys.argv[1] + '.d'); os.symlink(sys.argv[1] + '.d', sys.argv[1])",
    "link to a folder of the victim": "os.symlink(sys.argv[2], sys.argv[1])",
    "file": "open(sys.argv[1], 'w').close()",
    "fifo": "os.mkfifo(sys.argv[1])",
}


@pytest.mark.parametrize("what", CREATE)
def test_a_folder_that_another_user_has_created_first_is_refused_with_a_sentence(shared, what, tmp_path):
    folder = places.folder_in(shared)
    other_user.run(CREATE[what], folder, tmp_path)
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("module.py", "VALUE = 1\n")
    with Program() as program:  # it needs no folder
        assert program.first == "14\n"
    assert (
        f"rayshim: Other programs cannot find this session, because its socket has no place: {folder} " in program.err
    )
    needing = [
        [
            sys.executable,
            "-c",
            f"import rayshim as ray; ray.init(num_cpus=1, runtime_env={{'working_dir': {str(tmp_path / 'app.zip')!r}}})",
        ],
        [sys.executable, "-m", "rayshim", "start", "--head", "--include-dashboard=false"],
    ]
    for command in needing:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=100)
        assert ran.returncode == 1 and f": {folder} " in ran.stderr, ran.stderr
        assert "RAY_TMPDIR" in ran.stderr
    assert sorted(os.listdir(shared)) == sorted(
        [os.path.basename(folder), *([f"{os.path.basename(folder)}.d"] if what == "link" else [])]
    )
    assert os.listdir(tmp_path) == ["app.zip"]


SWAP = """
    import glob, threading
    os.mkdir(sys.argv[1], 0o777)

    def swap():
        while True:
            for unpacked in glob.glob(sys.argv[1] + "/session_*/runtime_resources/*"):
                os.rename(unpacked, unpacked + "_x")
                os.mkdir(unpacked)
                open(unpacked + "/module.py", "w").write("VALUE = 'of the other user'")

    threading.Thread(target=swap, daemon=True).start()
"""


def test_another_users_code_does_not_run_in_a_session(shared, tmp_path):
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("module.py", "VALUE = 'own'\n")
    code = f"""if True:
        import rayshim as ray
        ray.init(num_cpus=1, runtime_env={{"working_dir": {str(tmp_path / "app.zip")!r}}})
        @ray.remote
        def value():
            import module
            return module.VALUE
        print(ray.get(value.remote()))
    """
    with other_user.start(SWAP, places.folder_in(shared)) as attacker:
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
        attacker.communicate("", timeout=200)
    assert ran.returncode == 1 and "The session has no folder for its files" in ran.stderr


CONNECT = """
    import socket
    reached = []
    for name in eval(sys.argv[1]):
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
            with socket.socket(socket.AF_UNIX, kind) as one:
                one.settimeout(60)
                try:
                    one.connect(name)
                    one.sendall(b"hello" * 1000)
                    if kind == socket.SOCK_DGRAM or one.recv(1):
                        reached.append((name, kind))
                except OSError:
                    continue
    assert not reached, reached
"""


def names_of_sockets():
    """The names of all Unix sockets of the processes of this test, as the kernel lists them."""
    own = {socket for pid in processes.marked(os.environ[processes.MARK]) for socket in inodes(pid)}
    with open("/proc/net/unix", "rb") as table:
        rows = [line.rstrip(b"\n").split(None, 7) for line in table]
    names = {row[7] for row in rows if len(row) == 8 and row[6].decode() in own}
    return {b"\0" + name[1:].replace(b"@", b"\0") if name.startswith(b"@") else name for name in names}


def _try_all_sockets(directory):
    folder = places.folder_in(directory)
    files = [os.fsencode(os.path.join(folder, name)) for name in os.listdir(folder)]
    assert len(files) == 2
    names = sorted({*names_of_sockets(), *files})
    other_user.run(CONNECT, names)
    other_user.run(
        "for one in (os.listdir, os.rmdir):\n  try: one(sys.argv[1])\n  except PermissionError: continue\n  assert False",
        folder,
    )
    assert len(heads.running()) == 1


def test_no_socket_of_a_session_can_be_reached(shared):
    """Neither by the names that the kernel lists, nor by the files in the folder."""
    with Program() as program:
        assert program.first == "14\n"
        start = [sys.executable, "-m", "rayshim", "start", "--head", "--include-dashboard=false"]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL, timeout=100)
        try:
            _try_all_sockets(shared)
        finally:
            subprocess.run([sys.executable, "-m", "rayshim", "stop"], stdout=subprocess.DEVNULL, timeout=100)
    assert program.process.returncode == 0, program.err
    assert os.listdir(shared) == []


def test_another_user_to_whom_the_folder_was_opened_gets_no_byte_however_often_it_comes(shared):
    """The second line of defence: the kernel says who connects."""
    with Program() as program:
        (place,) = rendezvous.found(places.folder_in(shared), rendezvous.OWN)
        path = os.path.join(place.folder, place.name)
        os.chmod(place.folder, 0o711)
        os.chmod(path, 0o777)
        source = """
        import socket
        open_ones = []
        for i in range(500):
            one = socket.socket(socket.AF_UNIX)
            one.connect(sys.argv[1])
            one.settimeout(60)
            open_ones.append(one)
        for one in open_ones:
            try:
                assert one.recv(1) == b""
            except ConnectionResetError:
                pass
        """
        other_user.run(source, path)
        os.chmod(place.folder, 0o700)
        assert [facts["place"] for facts in heads.look(heads.OWN)[0]] == [place]
    assert program.process.returncode == 0, program.err


def test_a_listener_of_another_user_in_this_users_folder_is_told_nothing(shared):
    folder = Path(places.folder_in(shared))
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    name = rendezvous.Place(str(folder), heads.HEAD, 6379, os.getpid()).name
    source = """
    import socket
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(5)
    """
    check = (
        source
        + """
    print("ready", flush=True)
    sys.stdin.readline()
    listener.settimeout(60)
    connection, _ = listener.accept()
    assert connection.recv(1) == b""
    """
    )
    with other_user.start(check, folder / name) as listening:
        folder.chmod(0o700)
        start = time.monotonic()
        assert heads.look(heads.HEAD) == ([], [])
        assert time.monotonic() - start < 60
        listening.communicate("\n", timeout=90)
    assert listening.returncode == 0
    (folder / name).unlink()
    folder.rmdir()


def test_a_run_listens_on_no_port(shared):
    """As `ss` and the kernel's tables show it, with an actor, tasks, and a program that has joined."""
    with Program() as program:
        code = "import rayshim as ray; ray.init('auto'); print(ray.get(ray.remote(lambda: 1).remote()), flush=True); input()"
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as second:
            assert second.stdout.readline() == "1\n"
            pids = processes.marked(os.environ[processes.MARK])
            assert {program.process.pid, second.pid} < set(pids)
            sockets = {link for pid in pids for link in inodes(pid)}
            for table in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6"):
                with open(f"/proc/net/{table}") as lines:
                    assert not sockets & {line.split()[9] for line in lines}, table
            if shutil.which("ss"):
                shown = subprocess.run(["ss", "-Hlntup"], capture_output=True, text=True, check=True).stdout
                assert not [line for line in shown.splitlines() for pid in pids if f"pid={pid}," in line]
            second.communicate("\n", timeout=200)


def inodes(pid):
    """The numbers of the sockets that a process has open."""
    found = set()
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            link = os.readlink(f"/proc/{pid}/fd/{number}")
        except OSError:
            continue
        if link.startswith("socket:["):
            found.add(link[len("socket:[") : -1])
    return found


def test_nothing_in_the_temporary_directory_can_be_read_or_replaced(shared, tmp_path):
    source = WORK.replace("print(", "from rayshim.session import folder; print(folder.path(), ")
    with Program(source) as program:
        path = program.first.split()[0]
        Path(path, "logs", "secret").write_text("secret")
        attack = """
        import glob
        for name in os.listdir(sys.argv[1]):
            path = os.path.join(sys.argv[1], name)
            for attempt in (os.listdir, os.rmdir, lambda p: os.rename(p, p + "_x"), lambda p: os.chmod(p, 0o777), lambda p: os.open(p + "/x", os.O_CREAT)):
                try:
                    attempt(path)
                except PermissionError:
                    continue
                raise SystemExit(f"{path} can be reached")
        try:
            open(sys.argv[2])
        except PermissionError:
            pass
        """
        other_user.run(attack, shared, os.path.join(path, "logs", "secret"))
    assert program.process.returncode == 0 and os.listdir(shared) == []


def test_a_session_of_the_root_user_does_not_trust_the_temporary_directory_of_who_called_sudo(
    shared, tmp_path, monkeypatch
):
    """Its owner could replace the folder. The socket, which is reached by descriptor, can be there."""
    theirs = shared / "theirs"
    other_user.run("os.mkdir(sys.argv[1], 0o755)", theirs)
    for name in ("RAY_TMPDIR", "TMPDIR"):
        monkeypatch.setenv(name, str(theirs))
    source = (
        WORK
        + """
    from rayshim.session import folder
    try: folder.path()
    except ray.exceptions.RaySystemError as error: print(error)
    """
    )
    with Program(source) as program:
        assert program.first == "14\n"
        assert len(heads.look(heads.OWN)[0]) == 1
    assert f"{theirs} belongs to user" in program.out and "who can replace" in program.out
    assert os.listdir(theirs) == []


def test_a_user_cannot_use_the_runtime_directory_of_another(tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    (tmp_path / "run").mkdir(mode=0o700)
    folder = Path(places.folder_in(tmp_path / "run"))
    folder.mkdir(mode=0o700)
    os.chown(folder, other_user.UID, other_user.UID)
    monkeypatch.setattr(heads, "folders", lambda directory=None: [str(folder)])
    with pytest.raises(RaySystemError, match=f"{folder} belongs to user .*{other_user.UID}"):
        heads.listen(6379)
    assert os.listdir(folder) == []
