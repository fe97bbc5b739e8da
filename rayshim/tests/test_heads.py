"""Sessions that outlive their drivers: their ends, what stays of them, and their jobs."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
import uuid

import numpy as np
import pytest

import rayshim as ray
from compat_tests import processes
from rayshim.job_submission import JobStatus, JobSubmissionClient, JobType
from rayshim.session import heads

pytestmark = pytest.mark.timeout(120)


class Head:
    def __init__(self, directory, mark):
        self.directory, self.mark = directory, mark

    def command(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "rayshim", *arguments],
            capture_output=True,
            text=True,
            cwd=self.directory,
            timeout=60,
        )

    def start(self, *arguments):
        made = self.command("start", "--head", "--num-cpus=4", *arguments)
        assert made.returncode == 0, made.stdout + made.stderr
        return heads.running()[0]

    def driver(self, source):
        """A program that has attached; it prints "ready" and waits."""
        text = "import rayshim as ray, os, sys, time\n" + textwrap.dedent(source) + "\ntime.sleep(1000)\n"
        process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, cwd=self.directory)
        assert process.stdout.readline() == "ready\n"
        return process

    def left(self):
        return processes.marked(self.mark)

    def ends(self):
        processes.wait_until(lambda: not self.left(), 10.0, "no process is left")


@pytest.fixture
def head(tmp_path, monkeypatch):
    mark = uuid.uuid4().hex
    monkeypatch.setenv(processes.MARK, mark)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name in ("RAY_ADDRESS", "RAYSHIM_PLACEMENT"):
        monkeypatch.delenv(name, raising=False)
    head = Head(tmp_path, mark)
    yield head
    ray.shutdown()
    head.command("stop", "--force")
    try:
        head.ends()
    finally:
        processes.end(head.left())
    assert os.listdir(tmp_path) == []


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


def attach(**more):
    return ray.init(address="auto", namespace="tests", log_to_driver=False, **more)


def test_stop_ends_everything_that_was_started_in_it(head):
    facts = head.start()
    attach()
    counter = Counter.options(name="kept", lifetime="detached").remote()
    ray.get(counter.start.remote(["sleep", "1000"], start_new_session=True))
    ray.shutdown()
    made = head.command("stop")
    assert (made.returncode, made.stdout) == (0, "Stopped all 1 Ray processes.\n")
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


def test_the_sockets_of_a_head_have_no_files_and_take_no_strangers(head):
    facts = head.start("--include-dashboard=false")
    assert os.listdir(head.directory) == []
    connection = heads.connect(facts)
    with connection:
        from reactor.runtime.drivers import credentials

        assert credentials(connection)[1] == os.getuid()


# ---- jobs


def client():
    return JobSubmissionClient()


def ended(jobs, job):
    processes.wait_until(lambda: jobs.get_job_status(job).is_terminal(), 40.0, f"{job} is over")
    return jobs.get_job_info(job)


PROGRAM = """
import os, ray
ray.init()

@ray.remote
def f():
    return os.environ["WHO"], os.getcwd()

print(ray.get(f.remote()), ray.__name__, os.path.basename(os.getcwd()), flush=True)
"""


def test_a_job_runs_in_its_directory_with_its_variables_and_its_log_is_kept(head, tmp_path_factory):
    directory = tmp_path_factory.mktemp("work")
    (directory / "train.py").write_text(PROGRAM)
    head.start()
    jobs = client()
    env = {"working_dir": str(directory), "env_vars": {"WHO": "me"}}
    job = jobs.submit_job(entrypoint=f"{sys.executable} train.py", runtime_env=env, metadata={"kind": "test"})
    info = ended(jobs, job)
    log = jobs.get_job_logs(job)
    assert f"('me', '{directory}') rayshim {directory.name}" in log, log
    assert (info.status, info.type, info.driver_exit_code) == (JobStatus.SUCCEEDED, JobType.SUBMISSION, 0)
    assert (info.submission_id, info.metadata, info.runtime_env["env_vars"]) == (job, {"kind": "test"}, {"WHO": "me"})
    assert info.driver_info.id == info.job_id
    assert info.message == "Job finished successfully."
    assert [details.submission_id for details in jobs.list_jobs()] == [job]
    assert jobs.delete_job(job)
    with pytest.raises(RuntimeError, match="404.*does not exist"):
        jobs.get_job_info(job)


def test_a_job_that_fails_tells_its_exit_code_and_its_last_lines(head):
    head.start()
    jobs = client()
    job = jobs.submit_job(entrypoint="echo told; exit 3", submission_id="mine")
    info = ended(jobs, job)
    assert (job, info.status, info.driver_exit_code) == ("mine", JobStatus.FAILED, 3)
    assert "exit code 3, last available logs" in info.message
    assert "told\n" in info.message
    with pytest.raises(RuntimeError, match="already exists"):
        jobs.submit_job(entrypoint="true", submission_id="mine")


def test_a_job_is_followed_and_stopped_with_all_that_it_has_started(head):
    head.start()
    jobs = client()
    job = jobs.submit_job(entrypoint="echo one; setsid sleep 1000 & echo two; sleep 1000")

    async def first_lines():
        text = ""
        async for lines in jobs.tail_job_logs(job):
            text += lines
            if "two\n" in text:
                assert jobs.stop_job(job)
        return text

    text = asyncio.run(first_lines())
    assert text.endswith("one\ntwo\n")
    assert jobs.get_job_status(job) == JobStatus.STOPPED
    assert not jobs.stop_job(job)
    assert not [pid for pid in head.left() if "sleep" in processes.describe([pid])]


def test_a_job_waits_for_the_resources_that_its_command_asks_for(head):
    head.start()
    jobs = client()
    holds = jobs.submit_job(entrypoint="sleep 1000", entrypoint_num_cpus=3)
    processes.wait_until(lambda: jobs.get_job_status(holds) == JobStatus.RUNNING)
    waits = jobs.submit_job(entrypoint="true", entrypoint_num_cpus=2)
    assert jobs.get_job_info(waits).status == JobStatus.PENDING
    assert "waiting for resources" in jobs.get_job_info(waits).message
    with pytest.raises(RuntimeError, match="non-terminal state"):
        jobs.delete_job(waits)
    jobs.stop_job(holds)
    assert ended(jobs, waits).status == JobStatus.SUCCEEDED


def test_a_jobs_program_that_says_the_same_as_the_job_is_refused(head):
    head.start()
    jobs = client()
    program = "import ray; ray.init(runtime_env={'env_vars': {'WHO': 'you'}})"
    env = {"env_vars": {"WHO": "me"}}
    info = ended(jobs, jobs.submit_job(entrypoint=f'{sys.executable} -c "{program}"', runtime_env=env))
    assert "Failed to merge the Job's runtime env" in info.message


def test_jobs_end_with_a_killed_head(head):
    facts = head.start()
    jobs = client()
    job = jobs.submit_job(entrypoint="setsid sleep 1000 & sleep 1000")
    processes.wait_until(lambda: jobs.get_job_status(job) == JobStatus.RUNNING)
    os.kill(facts["pid"], signal.SIGKILL)
    head.ends()


def test_the_server_of_jobs_answers_only_who_knows_the_token(head):
    facts = head.start()
    url = f"http://{facts['dashboard']}/api/jobs/"
    assert facts["dashboard"].startswith("127.0.0.1:")
    for given in ({}, {"Authorization": "Bearer wrong"}):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(urllib.request.Request(url, headers=given))
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {facts['token']}"})
    assert json.load(urllib.request.urlopen(asked)) == []


def test_the_command_job_follows_a_job_and_takes_its_fate(head):
    head.start()
    made = head.command("job", "submit", "--submission-id", "one", "--", sys.executable, "-c", "print('told')")
    assert made.returncode == 0, made.stderr
    assert "told\n" in made.stdout
    assert "Job 'one' succeeded" in made.stdout
    assert head.command("job", "submit", "--", "sh", "-c", "exit 1").returncode == 1
    assert head.command("job", "submit", "--no-wait", "--submission-id", "two", "--", "sleep", "1000").returncode == 0
    assert "Job 'two' was stopped" in head.command("job", "stop", "two").stdout
    assert "Job 'two' was stopped" in head.command("job", "status", "two").stdout
    assert "told\n" in head.command("job", "logs", "one").stdout
    assert "submission_id='two'" in head.command("job", "list").stdout
    missing = head.command("job", "status", "three")
    assert (missing.returncode, "does not exist" in missing.stderr) == (1, True)


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
    made = head.command(str(script))
    assert made.returncode == 0, made.stderr
    assert made.stdout.count("rayshim shared") == 2
    assert "Stopped all 1 Ray processes." in made.stdout


def test_an_ordinary_session_looks_for_heads_in_no_time(head):
    begun = time.perf_counter()
    for _ in range(100):
        assert heads.running() == []
    assert (time.perf_counter() - begun) / 100 < 0.002


def test_the_address_of_the_server_of_jobs_is_told(head, monkeypatch):
    from rayshim.over.dashboard.utils import get_address_for_submission_client

    with pytest.raises(ConnectionError, match="`rayshim start --head` starts one"):
        get_address_for_submission_client()
    facts = head.start()
    assert get_address_for_submission_client() == f"http://{facts['dashboard']}"
    monkeypatch.setenv("RAY_ADDRESS", facts["address"])
    assert get_address_for_submission_client("127.0.0.1:1") == f"http://{facts['dashboard']}"


def test_many_jobs_at_once_are_looked_at_and_stopped(head):
    head.start()
    jobs = client()
    names = [
        jobs.submit_job(entrypoint="sleep 1000", submission_id=f"job{i}") for i in range(2 * (os.cpu_count() or 1) + 8)
    ]
    processes.wait_until(lambda: all(jobs.get_job_status(job) == JobStatus.RUNNING for job in names), 20.0)
    assert len(jobs.list_jobs()) == len(names)
    for job in names:
        assert jobs.stop_job(job)
    for job in names:
        assert ended(jobs, job).status == JobStatus.STOPPED


def test_a_job_that_prints_much_is_followed_in_parts(head):
    head.start()
    jobs = client()
    program = "for i in range(60000): print(f'{i:06d} ' + 'ä' * 40)"
    job = jobs.submit_job(entrypoint=f'{sys.executable} -c "{program}"; exit 3')
    info = ended(jobs, job)
    assert "059999" in info.message
    assert len(info.message) < 25_000

    async def parts():
        return [part async for part in jobs.tail_job_logs(job)]

    found = asyncio.run(parts())
    assert len(found) > 1
    assert "".join(found) == jobs.get_job_logs(job)
    assert "".join(found).count("ä" * 40 + "\n") == 60_000


@pytest.mark.parametrize("which", [0, -1], ids=["first", "last"])
def test_the_death_of_a_process_that_starts_workers_ends_a_head_and_its_jobs(head, which):
    head.start()
    attach()
    jobs = client()
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
    made = head.command("start", "--head", "--num-cpus=3", "--port=0", "--include-dashboard=false")
    assert made.returncode == 0, made.stdout + made.stderr
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
