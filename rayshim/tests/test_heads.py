"""Sessions that outlive their drivers: their ends, and what stays of them."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import rayshim as ray
from compat_tests import processes
from rayshim.job_submission import JobStatus, JobSubmissionClient
from rayshim.session import heads
from rayshim.tests.head_sessions import attach, head  # noqa: F401


@ray.remote
class Counter:
    def __init__(self):
        self.value, self.kept = 0, []

    def add(self):
        self.value += 1
        return self.value

    def keep(self, value):
        self.kept.append(value)

    def sum(self):
        return float(sum(value.sum() for value in self.kept))

    def start(self, command, **how):
        return subprocess.Popen(command, **how).pid


def test_stop_ends_everything_that_was_started_in_it(head):
    facts = head.start()
    attach()
    counter = Counter.options(name="kept", lifetime="detached").remote()
    ray.get(counter.start.remote(["sleep", "1000"], start_new_session=True))
    ray.shutdown()
    process = head.command("stop")
    assert (process.returncode, process.stdout) == (0, "Stopped all 1 Ray processes.\n")
    head.ends()
    assert not processes.alive(facts["pid"])
    assert head.command("stop").stdout == "Did not find any active Ray processes.\n"


@pytest.mark.parametrize("which", ["pid", "supervisor"])
def test_nothing_stays_of_a_killed_head_and_its_drivers_are_told(head, which):
    facts = head.start()
    attach()
    counter = Counter.options(name="kept", lifetime="detached").remote()
    ray.get(counter.start.remote(["sleep", "1000"]))
    os.kill(facts[which], signal.SIGKILL)
    with pytest.raises((RuntimeError, ray.exceptions.RayError)):
        while True:
            ray.get(counter.add.remote())
    ray.shutdown()
    head.ends()
    assert heads.running() == []


def test_what_a_killed_driver_held_is_given_back(head):
    head.start("--include-dashboard=false")
    attach()
    before = ray.available_resources()
    driver = head.driver("""
    import numpy as np
    ray.init(address="auto", log_to_driver=False)
    large = [ray.put(np.ones(1000000)) for _ in range(5)]
    views = ray.get(large)
    @ray.remote(num_cpus=2)
    class Busy:
        def stay(self, value):
            time.sleep(1000)
    busy = Busy.remote()
    ref = busy.stay.remote(large[0])
    while ray.available_resources()["CPU"] > 2:
        time.sleep(0.01)
    print("ready", flush=True)
    """)
    assert ray.available_resources()["object_store_memory"] <= before["object_store_memory"] - 40_000_000
    driver.kill()
    driver.wait()
    processes.wait_until(lambda: ray.available_resources() == before, 10.0, "all is given back")


def test_what_a_detached_actor_was_given_outlives_the_driver_that_made_it(head):
    head.start("--include-dashboard=false")
    attach()
    counter = Counter.options(name="kept", lifetime="detached").remote()
    ray.get(counter.keep.remote(ray.put(np.ones(1_000_000))))
    ray.shutdown()
    attach()
    ray.get([ray.put(np.zeros(1_000_000)) for _ in range(10)])
    assert ray.get(ray.get_actor("kept").sum.remote()) == 1_000_000


def test_arrays_stay_as_they_were_after_their_driver_has_left(head):
    head.start("--include-dashboard=false", "--object-store-memory=100000000")
    attach()
    large, small = ray.get([ray.put(np.arange(1_000_000)), ray.put(np.arange(200))])
    ray.shutdown()
    attach()
    for _ in range(20):
        ray.get([ray.put(np.zeros(1_000_000)), ray.put(np.zeros(200))])
    assert large.sum() == 499_999_500_000
    assert small.sum() == 19_900


def test_many_drivers_after_each_other_use_nothing_up(head):
    head.start("--include-dashboard=false")

    @ray.remote
    def double(x):
        return 2 * x

    @ray.remote(num_cpus=0.5)
    def other(x):
        return x

    free = []
    for i in range(6):
        attach()
        assert ray.get([double.remote(i), other.remote(i)]) == [2 * i, i]
        free.append(ray.available_resources()["object_store_memory"])
        ray.shutdown()
    assert free[-1] == free[1]


def test_a_call_of_a_driver_that_is_gone_fails_for_whoever_waits_for_it(head):
    head.start("--include-dashboard=false")
    driver = head.driver("""
    ray.init(address="auto", namespace="tests", log_to_driver=False)
    @ray.remote
    class Box:
        def put(self, refs):
            self.refs = refs
        def get(self):
            return ray.get(self.refs[0])
    @ray.remote
    def stay():
        time.sleep(1000)
    box = Box.options(name="box", lifetime="detached", num_cpus=0).remote()
    ray.get(box.put.remote([stay.remote()]))
    print("ready", flush=True)
    """)
    attach()
    waiting = ray.get_actor("box").get.remote()
    driver.kill()
    driver.wait()
    with pytest.raises(ray.exceptions.RayError):
        ray.get(waiting, timeout=30)


def test_an_unfinished_call_of_one_driver_does_not_hold_the_calls_of_another(head):
    head.start("--include-dashboard=false", "--ordering=strict")
    attach()
    counter = Counter.options(name="shared", lifetime="detached").remote()
    assert ray.get(counter.add.remote()) == 1
    driver = head.driver("""
    ray.init(address="auto", namespace="tests", log_to_driver=False)
    @ray.remote
    def stay(counter):
        ray.get(counter.add.remote())
        time.sleep(1000)
    shared = ray.get_actor("shared")
    ref = stay.remote(shared)
    print("ready", flush=True)
    """)
    expected = 2
    while ray.get(counter.add.remote(), timeout=30) == expected:  # until the other driver's task has called it, too
        expected += 1
    assert ray.get([counter.add.remote() for _ in range(10)], timeout=30)[-1] > 10
    driver.kill()
    driver.wait()


def test_inline_placement_cannot_attach_and_without_an_address_does_not(head):
    head.start("--include-dashboard=false")
    with pytest.raises(ValueError, match="inline placement is this one process"):
        ray.init(address="auto", placement="inline")
    ray.init(placement="inline", num_cpus=1)
    assert ray.cluster_resources()["CPU"] == 1


def test_what_only_a_session_of_its_own_has_is_refused_with_a_sentence(head):
    head.start("--include-dashboard=false")
    for given in ({"record": "there"}, {"seed": 1}, {"placement": "packed"}, {"ordering": "strict"}):
        with pytest.raises(ValueError, match="init\\(address='local'\\) starts one of its own"):
            attach(**given)


def test_an_address_where_no_head_is_names_what_to_do(head):
    with pytest.raises(ConnectionError, match="`rayshim start --head` starts one"):
        ray.init(address="127.0.0.1:6379")


def test_status_shows_a_head_and_its_drivers(head):
    facts = head.start("--include-dashboard=false")
    attach()
    told = head.command("status").stdout
    assert f"head {facts['pid']}  {facts['address']}  4 CPU" in told
    assert f"  driver {os.getpid()}  " in told


def test_a_blocking_start_shows_what_workers_without_a_driver_print(head):
    block = [sys.executable, "-m", "rayshim", "start", "--head", "--block", "--include-dashboard=false"]
    process = subprocess.Popen(block, stdout=subprocess.PIPE, text=True, cwd=head.directory)
    while "rayshim stop" not in process.stdout.readline():
        pass
    attach()

    @ray.remote
    class Late:
        def tell(self):
            import threading

            threading.Timer(1, print, ["late"], {"flush": True}).start()

    ray.get(Late.options(lifetime="detached").remote().tell.remote())
    ray.shutdown()
    assert "late" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0


ALIASED = """
import os, subprocess, sys
import ray

def run(*command):
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout

run("ray", "start", "--head", "--num-cpus=3")
ray.init(address="auto", namespace="ours")

@ray.remote
class A:
    def f(self):
        return "shared"

a = A.options(name="a", lifetime="detached").remote()
child = "import ray.util; ray.init(namespace='ours'); print(ray.__name__, ray.get(ray.get_actor('a').f.remote()))"
print(run(sys.executable, "-c", child))
print(run("ray", "job", "submit", "--", sys.executable, "-c", child))
assert "head" in run("ray", "status")
assert run("ray", "--version") == f"ray, version {ray.__version__}\\n"
assert subprocess.run(["ray", "up"], capture_output=True).returncode == 2
ray.shutdown()
print(run("ray", "stop"))
"""


def test_commands_of_an_aliased_program_mean_the_same_session(head, tmp_path_factory):
    script = tmp_path_factory.mktemp("program") / "program.py"
    script.write_text(ALIASED)
    process = head.command(str(script))
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("rayshim shared") == 2
    assert "Stopped all 1 Ray processes." in process.stdout


@pytest.mark.parametrize("which", [0, -1], ids=["first", "last"])
def test_the_death_of_a_process_that_starts_workers_ends_a_head_and_its_jobs(head, which):
    head.start()
    attach()
    jobs = JobSubmissionClient()
    job = jobs.submit_job(entrypoint="setsid sleep 1000 & sleep 1000")
    processes.wait_until(lambda: jobs.get_job_status(job) == JobStatus.RUNNING)
    os.kill([pid for pid in head.left() if "zygote" in processes.describe([pid])][which], signal.SIGKILL)
    with pytest.raises((RuntimeError, ray.exceptions.RayError)):
        while True:
            ray.get(Counter.remote().add.remote(), timeout=30)
    ray.shutdown()
    head.ends()
    assert heads.running() == []


def test_stop_while_drivers_run_tells_them_and_leaves_nothing(head):
    head.start("--include-dashboard=false")
    driver = head.driver("""
    ray.init(address="auto", log_to_driver=False)
    @ray.remote
    def stay():
        time.sleep(1000)
    ref = stay.remote()
    print("ready", flush=True)
    try:
        ray.get(ref)
    except BaseException as error:
        print(type(error).__name__, flush=True)
        sys.exit(7)
    """)
    assert head.command("stop").returncode == 0
    assert driver.wait(30) != 0
    driver.stdout.close()
    head.ends()


def test_two_heads_of_two_directories_do_not_meet(head, tmp_path_factory, monkeypatch):
    first = head.start("--include-dashboard=false")
    other = tmp_path_factory.mktemp("other")
    monkeypatch.setenv("RAY_TMPDIR", str(other))
    assert heads.running() == []
    process = head.command("start", "--head", "--num-cpus=3", "--port=0", "--include-dashboard=false")
    assert process.returncode == 0, process.stdout + process.stderr
    (second,) = heads.running()
    assert second["pid"] != first["pid"]
    attach()
    assert ray.cluster_resources()["CPU"] == 3
    ray.shutdown()
    assert head.command("stop").returncode == 0
    assert heads.running() == []
    assert processes.alive(first["pid"])
    monkeypatch.setenv("RAY_TMPDIR", str(head.directory))
    assert [facts["pid"] for facts in heads.running()] == [first["pid"]]


def test_connect_attaches_and_disconnect_ends_only_what_it_began(tmp_path, monkeypatch):
    program = """
        import rayshim as ray
        from rayshim.cluster_utils import Cluster

        ray.init(num_cpus=1, placement="inline")
        ray.util.disconnect()
        print(ray.is_initialized())
        ray.shutdown()
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 3})
        ray.util.connect(cluster.address)
        print(ray.cluster_resources()["CPU"])
        try:
            cluster.add_node()
        except NotImplementedError as error:
            print(error)
        ray.util.disconnect()
        print(ray.is_initialized())
        cluster.shutdown()
    """
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=200)
    printed = ran.stdout.splitlines()
    assert printed[:2] == ["True", "3.0"] and printed[3:] == ["False"], ran.stderr
    assert "cannot add a second one to a Cluster (add_node() at <string>:13)" in printed[2]


def test_a_cluster_starts_in_a_program_that_has_files_open(tmp_path, monkeypatch):
    program = """
        from rayshim.cluster_utils import Cluster

        files = [open("/dev/null") for _ in range(20)]  # the pipe from the session's process has a number above those
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 3}, connect=True)
        import rayshim as ray

        print(ray.cluster_resources()["CPU"])
        ray.shutdown()
        cluster.shutdown()
    """
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=200)
    assert ran.stdout.splitlines() == ["3.0"], ran.stderr


def test_the_session_of_a_cluster_ends_with_its_program_however_that_ends(tmp_path, monkeypatch):
    program = """
        import os, signal
        from rayshim.cluster_utils import Cluster

        print(Cluster(initialize_head=True).head_node._process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=200)
    processes.wait_until(lambda: not processes.alive(int(ran.stdout)), 30, "the session's process has ended")
