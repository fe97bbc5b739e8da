"""Where the sockets of sessions lie, and that none stays."""

import os
import select
import signal
import stat
import subprocess
import sys
import textwrap
import threading

import pytest

import rayshim as ray
from compat_tests import processes
from rayshim.session import heads, places, rendezvous
from rayshim.tests.head_sessions import attach, head  # noqa: F401

GONE = 2**22 + 1  # no process has this number: it is above Linux's largest


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    for name in ("RAY_ADDRESS", "RAYSHIM_PLACEMENT"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    ray.shutdown()


@pytest.fixture
def folder(temporary):
    path = temporary / f"rayshim-{os.geteuid()}"
    path.mkdir(mode=0o700)
    return path


def program(source, **more):
    text = "import rayshim as ray, os, sys\n" + textwrap.dedent(source)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=100, **more)


def test_folder_and_socket_of_a_session_are_for_this_user_alone_and_go_with_it(temporary):
    ray.init(num_cpus=1)
    (folder,) = temporary.iterdir()
    (socket,) = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (stat.S_ISSOCK(socket.stat().st_mode), stat.S_IMODE(socket.stat().st_mode)) == (True, 0o600)
    ray.shutdown()
    assert os.listdir(temporary) == []


@pytest.mark.parametrize(
    "how", ["os._exit(3)", "os.kill(os.getpid(), 9)", "sys.exit(1)", "os.execv('/bin/true', ['true'])"]
)
def test_no_socket_stays_however_the_program_ends(temporary, how):
    program(f"ray.init(num_cpus=1)\n{how}")
    processes.wait_until(lambda: os.listdir(temporary) == [], 30, "the folder is removed")


def test_no_socket_stays_of_a_program_whose_helpers_are_killed(temporary):
    program("""
    from rayshim.session import session
    ray.init(num_cpus=1)
    os.kill(session.current.driver.zygote, 9)
    """)
    assert os.listdir(temporary) == []


def test_no_socket_stays_of_an_init_that_fails(temporary):
    ran = program(
        """
    from reactor import _core
    def fails(*given, **more): raise RuntimeError("made to fail")
    _core.create = fails
    try: ray.init(num_cpus=1)
    except RuntimeError as error: print(error, os.listdir(sys.argv[0] or os.environ["RAY_TMPDIR"]))
    """.replace("sys.argv[0] or ", "")
    )
    assert ran.stdout == "made to fail []\n", ran.stderr


@pytest.mark.parametrize("which", [("pid",), ("supervisor",), ("pid", "supervisor")])
def test_the_socket_of_a_killed_head_is_removed_at_the_latest_by_who_comes_next(head, which):  # noqa: F811
    facts = head.start("--include-dashboard=false")
    for pid in which:
        os.kill(facts[pid], signal.SIGKILL)
    head.ends()
    assert heads.running() == [] and not heads.any_runs()


def test_stale_sockets_of_all_kinds_are_removed_by_the_next_session(folder):
    import socket

    own = places.namespace()
    for name in (f"head-6379-{GONE}{own}", f"own-30000-{GONE}{own}", f"new-{GONE}-0a1b2c3d{own}"):
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(folder / name))
    others = [f"own-30000-{GONE}_77" if own != "_77" else f"own-30000-{GONE}_78", "notes.txt"]
    for name in others:
        (folder / name).touch()
    ray.init(num_cpus=1)
    ray.shutdown()
    assert sorted(os.listdir(folder)) == sorted(others)


def test_a_socket_whose_process_runs_but_no_longer_listens_is_removed_by_who_asks(folder):
    listener, place = heads.listen(6379)
    listener.close()
    assert (folder / place.name).exists()
    assert heads.running() == []
    assert not (folder / place.name).exists()


def test_a_socket_whose_process_ends_while_it_is_asked_is_removed_by_who_asks(folder):
    listener, place = heads.listen(6379)
    asked = threading.Thread(target=heads.running)
    asked.start()
    processes.wait_until(lambda: select.select([listener], [], [], 0)[0], 30, "heads.running has connected")
    listener.close()
    asked.join()
    assert not (folder / place.name).exists()


def test_a_socket_that_is_being_made_is_not_taken_for_a_stale_one(folder):
    import socket

    beginning = folder / f"new-{os.getpid()}-00000000{places.namespace()}"
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(beginning))
        assert heads.running() == []
        listener, place = heads.listen(6379)
        assert beginning.exists()
    listener.close()
    rendezvous.withdraw(place)


def test_sessions_that_begin_and_end_at_the_same_time_do_not_lose_their_folder(temporary):
    """The last one to end removes it while another begins."""
    errors = []

    def come_and_go():
        try:
            for _ in range(200):
                heads.withdraw(*heads.listen_for_own())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and os.listdir(temporary) == []


def test_two_own_sessions_never_have_one_port(temporary, monkeypatch):
    monkeypatch.setattr(heads, "_PORTS", 2)
    first = heads.listen_for_own()
    monkeypatch.setattr(os, "getpid", os.getppid)
    second = heads.listen_for_own()
    assert {first[1].port, second[1].port} == {heads._FIRST_PORT, heads._FIRST_PORT + 1}
    for one in (first, second):
        heads.withdraw(*one)


def test_a_long_temporary_directory_is_no_obstacle(tmp_path, monkeypatch):
    long = tmp_path / ("x" * 100) / ("y" * 100)
    monkeypatch.setenv("RAY_TMPDIR", str(long))
    for name in ("RAY_ADDRESS", "RAYSHIM_PLACEMENT"):
        monkeypatch.delenv(name, raising=False)
    ray.init(num_cpus=1, namespace="ours")
    ran = program("print(ray.init('auto', namespace='ours', log_to_driver=False)['address'])")
    assert ran.stdout.strip() == ray.get_runtime_context().gcs_address, ran.stderr
    ray.shutdown()
    assert os.listdir(long) == []
    assert stat.S_IMODE(long.stat().st_mode) == stat.S_IMODE(long.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("wrong", ["mode", "link", "file"])
def test_a_folder_that_others_can_reach_is_refused_with_a_sentence(temporary, wrong):
    """The program itself runs; who offers a session to others, or has files in it, gets an error."""
    path = temporary / f"rayshim-{os.geteuid()}"
    if wrong == "file":
        path.touch()
    elif wrong == "link":
        (temporary / "elsewhere").mkdir(mode=0o700)
        path.symlink_to("elsewhere")
    else:
        path.mkdir()
        path.chmod(0o777)
    found = {"mode": "has mode 0777", "link": "is a symbolic link", "file": "is not a directory"}[wrong]
    ran = program("""
    ray.init(num_cpus=1)
    print(ray.get(ray.remote(lambda: 7).remote()))
    from rayshim.session import folder
    try: folder.of_this_process()
    except ray.exceptions.RaySystemError as error: print(error)
    """)
    assert ran.stdout.startswith("7\n"), ran.stderr
    for text in (ran.stdout, ran.stderr):
        assert f"{path} {found}" in text and "set RAY_TMPDIR to a directory" in text
    start = subprocess.run(
        [sys.executable, "-m", "rayshim", "start", "--head", "--include-dashboard=false"],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert start.returncode == 1 and f"{path} {found}" in start.stderr
    assert os.listdir(temporary / "elsewhere" if wrong == "link" else temporary) in ([], [path.name])


def test_where_tmp_cannot_be_used_the_runtime_directory_takes_its_place(tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    (tmp_path / "run").mkdir(mode=0o700)
    name = f"rayshim-{os.geteuid()}"
    assert heads.folders() == [f"/tmp/{name}", str(tmp_path / "run" / name)]
    monkeypatch.setattr(heads, "folders", lambda directory=None: ["/proc/nowhere/x", str(tmp_path / "run" / name)])
    listener, place = heads.listen(6379)
    assert place.folder == str(tmp_path / "run" / name)
    heads.withdraw(listener, place)


def test_a_program_finds_a_session_in_another_temporary_directory_by_its_address(tmp_path, monkeypatch):
    for name in ("RAY_TMPDIR", "RAY_ADDRESS", "RAYSHIM_PLACEMENT"):
        monkeypatch.delenv(name, raising=False)
    address = ray.init(num_cpus=1)["address"]
    ran = program(
        f"print(ray.init({address!r}, log_to_driver=False)['address'])", env={**os.environ, "RAY_TMPDIR": str(tmp_path)}
    )
    ray.shutdown()
    assert ran.stdout.strip() == address, ran.stderr
