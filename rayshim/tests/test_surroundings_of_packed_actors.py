"""Environment variables and the working directory: each packed actor has its own, as in a process of its own."""

import os
import subprocess
import time

import pytest

import rayshim as ray


@ray.remote
class Ranked:
    """Begins where the driver is, and may go somewhere else."""

    def go(self, rank, directory):
        os.environ["RANK"] = str(rank)
        os.environ.pop("OLD", None)
        os.chdir(directory)

    def see(self):
        return os.environ.get("RANK"), os.environ.get("OLD"), os.getcwd()

    def child_sees(self):
        command = 'echo "${RANK-none} ${OLD-none} $(pwd -P)"'
        return tuple(subprocess.run(command, shell=True, capture_output=True, text=True).stdout.split())

    def sees_the_same_after_others(self):
        before = self.see()
        time.sleep(0.05)  # the others run
        return before == self.see()

    def sees_the_same_after_a_call(self, other):
        before = self.see()
        ray.get(other.go.remote("call", "/"))
        return before == self.see()

    def descriptors(self):
        return len(os.listdir("/proc/self/fd"))


@pytest.fixture(params=["isolated", ray.packed(1)], ids=["isolated", "packed"])
def directories(request, tmp_path, monkeypatch):
    monkeypatch.setenv("OLD", "old")
    ray.init(placement=request.param, num_cpus=2, logging_level="ERROR", log_to_driver=False)
    found = [str(tmp_path / str(k)) for k in range(3)]
    for directory in found:
        os.mkdir(directory)
    yield found
    ray.shutdown()


def test_each_actor_has_what_it_has_set_and_others_what_they_began_with(directories):
    here = os.getcwd()
    actors = [Ranked.remote() for _ in range(4)]
    assert ray.get([a.see.remote() for a in actors]) == [(None, "old", here)] * 4
    ray.get([a.go.remote(k, directory) for k, (a, directory) in enumerate(zip(actors, directories))])
    late = Ranked.remote()
    expected = [*((str(k), None, directory) for k, directory in enumerate(directories)), *[(None, "old", here)] * 2]
    actors.append(late)
    assert ray.get([a.see.remote() for a in actors] * 2) == expected * 2
    assert ray.get([a.child_sees.remote() for a in actors]) == [
        tuple(value or "none" for value in seen) for seen in expected
    ]
    ray.get(actors[0].go.remote("again", "/"))
    expected[0] = ("again", None, "/")
    assert ray.get([a.see.remote() for a in actors]) == expected
    assert (os.environ.get("RANK"), os.getcwd()) == (None, here)


def test_what_an_actor_has_set_is_there_after_others_have_run_in_the_middle_of_its_call(directories):
    actors = [Ranked.remote() for _ in range(3)]
    ray.get([a.go.remote(k, directory) for k, (a, directory) in enumerate(zip(actors, directories))])
    assert all(ray.get([a.sees_the_same_after_others.remote() for a in actors]))
    assert ray.get(actors[0].sees_the_same_after_a_call.remote(actors[1]))
    assert ray.get(actors[1].see.remote()) == ("call", None, "/")


def test_ended_actors_leave_no_descriptors(directories):
    stays = Ranked.remote()
    ray.get(stays.go.remote(0, directories[0]))
    for _ in range(3):
        actors = [Ranked.remote() for _ in range(10)]
        ray.get([a.go.remote(k, "/") for k, a in enumerate(actors)])
        del actors
    before = ray.get(stays.descriptors.remote())
    deadline = time.monotonic() + 10
    while ray.get(stays.descriptors.remote()) > 25 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert ray.get(stays.descriptors.remote()) <= 25, before
