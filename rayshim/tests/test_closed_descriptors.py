"""A program that closes descriptors which are not its own, as daemons do, and opens files that then have their numbers."""

import os
import subprocess
import sys
import textwrap

PROGRAM = """
    import gc, os
    import numpy as np
    import rayshim as ray

    ray.init(num_cpus=1, placement={placement!r}, object_store_memory=64 << 20, log_to_driver=False, logging_level="ERROR")
    (heap,) = [int(fd) for fd in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{{fd}}") and "memfd:reactor" in os.readlink(f"/proc/self/fd/{{fd}}")]
    STEP, END = 65536, 512 << 20
    mine = os.memfd_create("mine")
    os.dup2(mine, heap)
    for at in range(0, END, STEP):
        os.pwrite(heap, b"x", at)
    values = [ray.put(np.full(16 << 20, i, np.uint8)) for i in range(8)]  # more than the store holds: some go to the disk
    assert [ray.get(ref)[-1] for ref in values] == list(range(8))
    del values
    gc.collect()
    print(all(os.pread(mine, 1, at) == b"x" for at in range(0, END, STEP)))
"""


def test_no_hole_is_made_in_a_file_that_has_the_heaps_number():
    for placement in ("isolated", "inline"):
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROGRAM.format(placement=placement))],
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert (ran.returncode, ran.stdout) == (0, "True\n"), (placement, ran.stdout, ran.stderr)


def test_a_worker_that_reads_from_a_terminal_is_told_that_there_is_nothing(tmp_path):
    (tmp_path / "script.py").write_text(
        "import rayshim as ray\n"
        "ray.init(num_cpus=1, logging_level='ERROR')\n"
        "def read():\n"
        "    try:\n"
        "        return input()\n"
        "    except EOFError:\n"
        "        return 'nothing'\n"
        "print(ray.get(ray.remote(read).remote(), timeout=30))\n"
    )
    ours, terminal = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=tmp_path, stdin=terminal, capture_output=True, text=True
        )
    finally:
        os.close(ours)
        os.close(terminal)
    assert done.stdout == "nothing\n", done.stderr


ACTORS = """
    import os, socket, sys
    import rayshim as ray

    ray.init(num_cpus=2, placement=sys.argv[1], log_to_driver=False, logging_level="ERROR")

    @ray.remote
    def same(x):
        return x

    @ray.remote(num_cpus=0)
    class Other:
        def get(self):
            return 1

    @ray.remote(num_cpus=0)
    class Closing:
        def close(self, end):
            os.closerange(3, end)
            self.pairs = [socket.socketpair() for _ in range(8)]
            for pair in self.pairs:
                for one in pair:
                    one.setblocking(False)

        def use(self, what):
            return ray.get(same.options(num_cpus=2).remote(2) if what == "task" else Other.remote().get.remote(), timeout=200)

        def received(self):
            found = []
            for pair in self.pairs:
                for one in pair:
                    try:
                        found.append(one.recv(100))
                    except BlockingIOError:
                        pass
            return found

    def outcome(ref):
        try:
            return ray.get(ref, timeout=200)
        except ray.exceptions.RayError as error:
            assert "closed file descriptors" in str(error), error
            return type(error).__name__
"""


def _run(program, *arguments):
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ACTORS) + textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split("\n")[:-1]


def test_an_actor_that_closes_the_usual_range_goes_on():
    program = """
        actor = Closing.remote()
        ray.get(actor.close.remote(256))
        print([outcome(actor.use.remote(what)) for what in ("actor", "task")], outcome(actor.received.remote()))
    """
    for placement in ("isolated", "packed"):
        assert _run(program, placement) == ["[1, 2] []"], placement


def test_an_actor_that_closes_the_runtimes_descriptors_ends_and_nobody_else_does():
    program = """
        for what in ("actor", "task"):
            actor = Closing.remote()
            ray.get(actor.close.remote(1 << 20))
            print(outcome(actor.received.remote()), outcome(actor.use.remote(what)), outcome(actor.received.remote()))
            print(outcome(same.remote(3)), outcome(Other.remote().get.remote()))
    """
    for placement in ("isolated", "packed"):
        assert _run(program, placement) == ["[] ActorDiedError ActorDiedError", "3 1"] * 2, placement


def test_a_task_that_closes_the_runtimes_descriptors_fails_and_others_run():
    program = """
        @ray.remote(max_retries=0)
        def closing():
            os.closerange(3, 1 << 20)
            return ray.get(Other.remote().get.remote())

        print(outcome(closing.remote()), ray.get([same.remote(i) for i in range(4)], timeout=200))
    """
    assert _run(program, "isolated") == ["WorkerCrashedError [0, 1, 2, 3]"]


def test_no_message_goes_into_a_file_that_has_the_number_of_a_descriptor_of_the_runtime():
    program = """
        @ray.remote(num_cpus=0)
        class Replacing:
            def replace(self):
                mine = os.memfd_create("mine")
                own = [int(fd) for fd in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{fd}")]
                for fd in own:
                    if fd > 2 and fd != mine:
                        os.dup2(mine, fd)
                self.mine = f"/proc/{os.getpid()}/fd/{mine}"
                return self.mine

            def use(self):
                return ray.get(Other.remote().get.remote())

        actor = Replacing.remote()
        with open(ray.get(actor.replace.remote(), timeout=200), "rb") as mine:
            print(outcome(actor.use.remote()), mine.read())
    """
    assert _run(program, "isolated") == ["ActorDiedError b''"]


def test_a_driver_that_closes_the_runtimes_descriptors_gets_a_clear_error_and_can_begin_again():
    program = """
        def supervisor():
            return next(int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_child(pid))

        def is_child(pid):
            try:
                return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1] == str(os.getpid())
            except OSError:
                return False

        pid = supervisor()
        os.closerange(3, 1 << 20)
        pairs = [socket.socketpair() for _ in range(8)]
        try:
            ray.get(Other.remote().get.remote(), timeout=200)
        except RuntimeError as error:
            print("closed file descriptors" in str(error))
        ray.shutdown()
        print(os.path.exists(f"/proc/{pid}"))
        for one in [one for pair in pairs for one in pair]:
            one.setblocking(False)
            try:
                print("received", one.recv(100))
            except BlockingIOError:
                pass
        ray.init(num_cpus=1, placement=sys.argv[1], log_to_driver=False, logging_level="ERROR")
        print(ray.get(same.remote(4), timeout=200))
    """
    assert _run(program, "isolated") == ["True", "False", "4"]
