"""More control messages than the supervisor's socket has room for."""

import os
import signal

import rayshim
from compat_tests import processes


@rayshim.remote(num_cpus=1)
class Kept:
    def pid(self):
        return os.getpid()


@rayshim.remote(num_cpus=0)
class Keeper:
    """The only one that has handles of its actors: when it dies, the supervisor tells itself of each that nobody can call it any more."""

    def __init__(self, count):
        self.kept = [Kept.remote() for _ in range(count)]

    def pids(self):
        return os.getpid(), rayshim.get(self.kept[0].pid.remote())


def test_an_actor_that_keeps_a_thousand_others_dies():
    with rayshim.init(num_cpus=1):
        first = Keeper.remote(1000)  # held: without a handle it would end by itself, perhaps before it is killed
        pids = rayshim.get(first.pids.remote())
        keeper = Keeper.remote(1000)
        os.kill(pids[0], signal.SIGKILL)
        processes.wait_until(
            lambda: not any(processes.alive(pid) for pid in pids), because="nobody can call it any more"
        )
        pids = rayshim.get(keeper.pids.remote(), timeout=30)
        rayshim.kill(keeper)
        processes.wait_until(lambda: not any(processes.alive(pid) for pid in pids), because="its keeper was killed")
        assert isinstance(rayshim.get(Kept.remote().pid.remote(), timeout=30), int)
