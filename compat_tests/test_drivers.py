"""How a whole program ends, and how two of them live side by side. `scripts` checks that no process is left."""

import os
import signal
import subprocess
import sys
import time

import pytest

from compat_tests.processes import describe, marked, wait_until

BUSY = """
    import os, time
    import ray
    INIT

    @ray.remote
    class Worker:
        def ping(self):
            return "pong"

        def stay(self):
            while True:
                time.sleep(0.01)

    @ray.remote
    def stay():
        while True:
            time.sleep(0.01)

    worker = Worker.remote()
    print(ray.get(worker.ping.remote()), flush=True)
"""


@pytest.mark.needs_concurrency
def test_ctrl_c_ends_a_waiting_driver(scripts):
    scripts.write("script.py", BUSY + "    ray.get([worker.stay.remote(), stay.remote()])\n")
    driver = scripts.start("script.py")
    driver.wait_for("pong")
    driver.interrupt()
    assert driver.finish(10) != 0
    assert "KeyboardInterrupt" in driver.err


def test_ctrl_c_ends_a_driver_that_does_something_else(scripts):
    scripts.write("script.py", BUSY + "    print('busy', flush=True)\n    while True: pass\n")
    driver = scripts.start("script.py")
    driver.wait_for("busy")
    driver.interrupt()
    assert driver.finish(10) != 0
    assert "KeyboardInterrupt" in driver.err


@pytest.mark.needs_concurrency
def test_a_driver_that_catches_ctrl_c_goes_on_with_its_workers(scripts):
    scripts.write("script.py", BUSY + """
    other = Worker.remote()
    ray.get(other.ping.remote())
    try:
        print("waiting", flush=True)
        ray.get(worker.stay.remote())
    except KeyboardInterrupt:
        print("caught", ray.get(other.ping.remote()), flush=True)
    """)
    driver = scripts.start("script.py")
    driver.wait_for("waiting")
    driver.interrupt()
    driver.wait_for("caught pong")
    assert driver.finish(10) == 0


@pytest.mark.needs_concurrency
def test_a_driver_told_to_terminate_ends_and_leaves_nothing(scripts):
    scripts.write("script.py", BUSY + "    ray.get([worker.stay.remote(), stay.remote()])\n")
    driver = scripts.start("script.py")
    driver.wait_for("pong")
    driver.process.terminate()
    assert driver.finish(10) != 0


@pytest.mark.needs_processes
@pytest.mark.rayshim_only
def test_nothing_outlives_a_killed_driver(scripts):
    scripts.write("script.py", BUSY + "    ray.get([worker.stay.remote(), stay.remote()])\n")
    driver = scripts.start("script.py")
    driver.wait_for("pong")
    assert len(marked(scripts.mark)) > 1
    driver.process.kill()
    driver.process.wait()
    wait_until(lambda: not marked(scripts.mark), 5.0, "the workers of a killed driver are gone")


@pytest.mark.needs_processes
@pytest.mark.rayshim_only
def test_a_worker_born_while_its_driver_dies_ends_whoever_inherits_it(scripts, monkeypatch, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import os, time\nos.register_at_fork(after_in_child=lambda: time.sleep(0.5))\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    scripts.write("script.py", BUSY + "    stay.remote()\n    time.sleep(0.2)\n    os.kill(os.getpid(), 9)\n")
    # A process that, like that of a container or a session manager, becomes the parent of every orphan.
    scripts.write("inherits.py", """
    import subprocess, sys, time
    from rayshim.cli.compare.processes import adopt_orphans
    adopt_orphans()
    print("ended with", subprocess.run([sys.executable, *sys.argv[1:]]).returncode, flush=True)
    time.sleep(60)
    """)
    heir = scripts.start_command(sys.executable, "inherits.py", *scripts.backend.command("script.py"))
    heir.wait_for("ended with -9")
    wait_until(lambda: marked(scripts.mark) == [heir.process.pid], 20.0, "the workers of a killed driver are gone")


@pytest.mark.needs_processes
@pytest.mark.rayshim_only
def test_nothing_outlives_a_driver_that_leaves_at_once(scripts):
    scripts.write("script.py", BUSY + "    stay.remote()\n    os._exit(4)\n")
    driver = scripts.start("script.py")
    assert driver.finish() == 4


@pytest.mark.needs_processes
@pytest.mark.rayshim_only
def test_a_driver_whose_helpers_are_killed_ends_with_an_error(scripts):
    scripts.write("script.py", BUSY + "    ray.get([worker.stay.remote(), stay.remote()])\n")
    driver = scripts.start("script.py")
    driver.wait_for("pong")
    helpers = [pid for pid in marked(scripts.mark) if pid != driver.process.pid and parent(pid) == driver.process.pid]
    assert helpers
    for pid in helpers:
        os.kill(pid, signal.SIGKILL)
    assert driver.finish(10) == 1
    assert "Error" in driver.err


@pytest.mark.needs_processes
@pytest.mark.rayshim_only
def test_a_run_leaves_and_uses_no_files(scripts, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    scripts.write("script.py", BUSY + "    ray.get([worker.stay.remote(), stay.remote()])\n")
    driver = scripts.start("script.py")
    driver.wait_for("pong")
    for pid in marked(scripts.mark):
        with open(f"/proc/{pid}/maps") as maps:
            assert "/dev/shm/" not in maps.read(), describe([pid])
    driver.process.kill()
    driver.process.wait()
    wait_until(lambda: not marked(scripts.mark))
    assert os.listdir(tmp_path / "tmp") == []


@pytest.mark.needs_processes
@pytest.mark.rayshim_only
def test_nobody_else_can_reach_the_sockets(scripts):
    scripts.write("script.py", BUSY + "    ray.get([worker.stay.remote(), stay.remote()])\n")
    driver = scripts.start("script.py")
    driver.wait_for("pong")
    with open("/proc/net/unix") as table:
        paths = {fields[6]: fields[7] for fields in map(str.split, table) if len(fields) == 8}
    listening = listening_over_the_network()
    sockets = {socket for pid in marked(scripts.mark) for socket in inodes(pid)}
    assert not sockets & listening
    for inode in sockets & set(paths):
        if paths[inode].startswith("@"):  # open to every user, so it has to look who comes
            assert turns_others_away(paths[inode]), paths[inode]
        else:
            assert closed_to_others(paths[inode]), paths[inode]


def test_two_drivers_do_not_meet(scripts):
    scripts.write("script.py", """
        import os, sys, time
        import ray
        me, other = sys.argv[1:]
        INIT

        @ray.remote
        class Counter:
            def __init__(self):
                self.value = 0

            def increment(self):
                self.value += 1
                return self.value

        counter = Counter.options(name="same").remote()
        ray.get(counter.increment.remote())
        open(me, "w").close()
        while not os.path.exists(other):
            time.sleep(0.01)
        same = ray.get_actor("same")
        for _ in range(20):
            last = ray.get(same.increment.remote())
        print(last, len(ray.nodes()), ray.cluster_resources()["CPU"])
        """)
    drivers = [scripts.start("script.py", *names) for names in (("a", "b"), ("b", "a"))]
    assert [scripts.finished(driver) for driver in drivers] == ["21 1 2.0\n"] * 2


def parent(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(") ")[2].split()[1])


def listening_over_the_network():
    """The numbers of the sockets that any process listens on."""
    numbers = set()
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}") as table:
            numbers |= {fields[9] for fields in map(str.split, table) if fields[3] == "0A"}
    return numbers


def inodes(pid):
    """The numbers of the sockets that `pid` has open."""
    links = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{number}"))
        except OSError:
            continue
    return {link[len("socket:["):-1] for link in links if link.startswith("socket:[")}


def turns_others_away(path):
    """Whether a process of another user that connects to the abstract socket is told nothing. Only root can be another user."""
    who = "os.setuid(65534)" if os.getuid() == 0 else "os._exit(0)"
    connect = f"import os, socket; {who}; s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect({chr(0) + path[1:]!r})"
    ask = "\ntry: told = s.recv(1)\nexcept ConnectionError: told = b''\nos._exit(len(told))"
    return subprocess.run([sys.executable, "-c", connect + ask], timeout=30).returncode == 0


def closed_to_others(path):
    """Whether the file or a directory above it keeps other users out."""
    while path != "/":
        if os.path.exists(path) and os.stat(path).st_mode & 0o077 == 0:
            return True
        path = os.path.dirname(path)
    return False
