"""Placement by a file of roles: who shares a process, on which cores, with how many threads."""

import math
import os

import pytest

import rayshim as ray
from rayshim.tests.test_cli import start

CORES = sorted(os.sched_getaffinity(0))
FIRST, LAST = CORES[0], CORES[-1]


@pytest.fixture
def by_role(tmp_path):
    """Starts a session with a file of roles of this text."""

    def begin(text, **more):
        path = tmp_path / "roles.toml"
        path.write_text(text)
        ray.init(placement=path, **{"num_cpus": 8, "log_to_driver": False, "patience": math.inf, **more})

    yield begin
    ray.shutdown()


def here():
    """(pid, cores, threads of numeric libraries) of this process, all of whose threads may use only these cores."""
    cores = os.sched_getaffinity(0)
    assert all(os.sched_getaffinity(int(thread)) <= cores for thread in os.listdir("/proc/self/task"))
    return os.getpid(), sorted(cores), os.environ["OMP_NUM_THREADS"]


class Plain:
    def here(self):
        return here()

    def make(self, kind):
        self.made = kind.remote()
        return ray.get(self.made.here.remote())

    def gpus(self):
        return ray.get_gpu_ids()


@ray.remote
class Sampler(Plain):
    pass


@ray.remote
class Learner(Plain):
    pass


@ray.remote
class Other(Plain):
    pass


@ray.remote
def collect():
    return here()


@ray.remote
def plain():
    return here()


def found(actors):
    pids, cores, threads = zip(*ray.get([actor.here.remote() for actor in actors]))
    assert os.getpid() not in pids
    return pids, cores[0], set(threads)


def test_actors_have_the_processes_cores_and_threads_of_their_roles(by_role):
    by_role(
        f"""
[roles.samplers]
actors = ["Sampler", "*.Oth?r"]
workers = 2
cores = [{LAST}]
threads = 1

[roles.learner]
actors = "{__name__}.Learner"
alone = true
cores = [{FIRST}]
threads = 3
"""
    )
    shared, cores, threads = found([*(Sampler.remote() for _ in range(4)), *(Other.remote() for _ in range(2))])
    assert sorted(shared.count(pid) for pid in set(shared)) == [3, 3] and cores == [LAST] and threads == {"1"}
    alone, cores, threads = found([Learner.remote() for _ in range(2)])
    assert len({*alone, *shared}) == 4 and cores == [FIRST] and threads == {"3"}
    assert "samplers 6 actors in 2 processes; learner 2 actors in 2 processes" in ray.report().placement


def test_actors_that_workers_create_have_their_roles_too(by_role):
    by_role(f'[roles.s]\nactors = "Sampler"\nworkers = 1\n[roles.l]\nactors = "Learner"\ncores = [{LAST}]\n')

    @ray.remote
    def made_by_a_task():
        return ray.get(Sampler.remote().here.remote())

    sampler, learner = Sampler.remote(), Learner.remote()
    pids, _, _ = found([sampler, learner])
    assert ray.get(sampler.make.remote(Sampler))[0] == pids[0]
    assert ray.get(learner.make.remote(Sampler))[0] == pids[0]
    assert ray.get(made_by_a_task.remote())[0] == pids[0]
    pid, cores, _ = ray.get(sampler.make.remote(Learner))
    assert pid not in pids and cores == [LAST]


def test_an_actor_without_a_role_is_isolated(by_role):
    by_role('[roles.s]\nactors = "Sampler"\nworkers = 1\n')
    pids, cores, _ = found([Other.remote(), Other.remote(), Sampler.remote()])
    assert len(set(pids)) == 3 and cores == CORES
    assert "without a role 2 actors in 2 processes" in ray.report().placement


def test_a_role_by_the_name_of_an_actor(by_role):
    by_role('[roles.best]\nnamed = "best*"\nthreads = 2\n[roles.s]\nactors = "Sampler"\nworkers = 1\n')
    best, *others = Sampler.options(name="best one").remote(), Sampler.options(name="no").remote(), Sampler.remote()
    (alone, *shared), _, _ = found([best, *others])
    assert len(set(shared)) == 1 and alone not in shared and ray.get(best.here.remote())[2] == "2"


def test_what_cannot_share_has_a_process_of_its_own_and_the_report_says_why(by_role):
    by_role(f'[roles.s]\nactors = "*"\nworkers = 1\ncores = [{LAST}]\n')
    restarted, several, one = (
        Learner.options(max_restarts=1).remote(),
        Other.options(max_concurrency=2).remote(),
        Sampler.remote(),
    )
    pids, cores, _ = found([restarted, several, one])
    assert len(set(pids)) == 3 and cores == [LAST]
    text = ray.report().placement
    assert "Learner: has a process of its own: it may be restarted" in text
    assert "Other: has a process of its own: it runs several calls at the same time" in text
    os.kill(pids[0], 9)
    pid, cores, _ = ray.get(restarted.here.options(max_task_retries=-1).remote())
    assert pid not in pids and cores == [LAST]


counted = []


def test_the_report_has_the_reason_why_results_may_differ(by_role):
    @ray.remote
    class Counts:
        def count(self):
            counted.append(1)
            return len(counted)

    by_role('[roles.s]\nactors = "Counts"\nworkers = 1\n')
    ray.get([Counts.remote().count.remote() for _ in range(2)])
    assert "Counts: results may differ: it uses the variable counted of" in ray.report().placement


def test_actors_are_together_and_apart_as_listed(by_role):
    by_role(
        """
[roles.s]
actors = "Sampler"
workers = 2
together = [["Sampler#0", "Sampler#1", "Sampler#4"], ["Sampler#2"]]
apart = ["Sampler#3"]
[roles.o]
actors = "Other"
workers = 1
"""
    )
    pids, _, _ = found([Sampler.remote() for _ in range(6)] + [Other.remote() for _ in range(2)])
    first, second, apart, other = pids[0], pids[2], pids[3], pids[6]
    assert pids == (first, first, second, apart, first, second, other, other) and len(set(pids)) == 4


def test_tasks_have_the_cores_and_threads_of_their_role(by_role):
    by_role(f'[roles.c]\ntasks = "coll*"\ncores = [{LAST}]\nthreads = 2\n')
    pid, cores, threads = ray.get(collect.options(num_cpus=3).remote())
    other, usual, one = ray.get(plain.remote())
    assert (cores, threads, usual, one) == ([LAST], "2", CORES, "1") and pid != other
    assert "c tasks collect" in ray.report().placement


def test_a_share_of_a_gpu_goes_before_that_of_the_program(by_role):
    by_role('[roles.s]\nactors = "Sampler"\ngpu = 0.5\n[roles.l]\nactors = "Learner"\ngpu = 0\n', num_gpus=1)
    actors = [Sampler.options(num_gpus=1).remote(), Sampler.remote(), Learner.options(num_gpus=1).remote()]
    assert ray.get([actor.gpus.remote() for actor in actors]) == [[0], [0], []]
    assert ray.available_resources().get("GPU", 0) == 0


def test_a_role_that_nothing_had_is_named_at_the_end(by_role, capfd):
    by_role('[roles.used]\nactors = "Sampler"\n\n[roles.samples]\nactors = "Simpler"\n[roles.t]\ntasks = "f"\n')
    found([Sampler.remote(), Other.remote()])
    assert "samples unused; t unused" in ray.report().placement
    ray.shutdown()
    lines = [line for line in capfd.readouterr().err.splitlines() if "roles.toml" in line]
    assert len(lines) == 2
    assert (
        "roles.toml:4: role samples: no actor of this run had it (Simpler). Actor classes without a role: Other."
        in lines[0]
    )
    assert "roles.toml:6: role t: no task of this run had it (f)" in lines[1]


PROGRAM = """
import os, ray
os.chdir("/")

@ray.remote
class Env:
    def pid(self):
        return os.getpid()

ray.init(num_cpus=2, logging_level="ERROR")
envs = [Env.remote() for _ in range(3)]
print(len(set(ray.get([env.pid.remote() for env in envs]))))
"""


def test_a_program_that_knows_nothing_of_it_is_placed_by_a_file(tmp_path, monkeypatch):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "roles.toml").write_text('[roles.env]\nactors = "program.Env"\nworkers = 1\n')
    assert start(["--placement", "roles.toml", "program.py"], tmp_path).stdout == "1\n"
    monkeypatch.setenv("RAYSHIM_PLACEMENT", str(tmp_path / "roles.toml"))
    assert start(["program.py"], tmp_path).stdout == "1\n"


def test_a_program_that_fails_is_not_told_of_roles_that_it_did_not_come_to(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.replace("envs =", "1 / 0; envs ="))
    (tmp_path / "roles.toml").write_text('[roles.env]\nactors = "Env"\n')
    done = start(["--placement", "roles.toml", "program.py"], tmp_path)
    assert "ZeroDivisionError" in done.stderr and "role env" not in done.stderr
