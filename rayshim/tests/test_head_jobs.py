"""Jobs of a session that outlives its drivers."""

import asyncio
import json
import os
import signal
import sys
import urllib.error
import urllib.request

import pytest

from compat_tests import processes
from rayshim.job_submission import JobStatus, JobSubmissionClient, JobType
from rayshim.tests.head_sessions import head  # noqa: F401


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
    process = head.command("job", "submit", "--submission-id", "one", "--", sys.executable, "-c", "print('told')")
    assert process.returncode == 0, process.stderr
    assert "told\n" in process.stdout
    assert "Job 'one' succeeded" in process.stdout
    assert head.command("job", "submit", "--", "sh", "-c", "exit 1").returncode == 1
    assert head.command("job", "submit", "--no-wait", "--submission-id", "two", "--", "sleep", "1000").returncode == 0
    assert "Job 'two' was stopped" in head.command("job", "stop", "two").stdout
    assert "Job 'two' was stopped" in head.command("job", "status", "two").stdout
    assert "told\n" in head.command("job", "logs", "one").stdout
    assert "submission_id='two'" in head.command("job", "list").stdout
    missing = head.command("job", "status", "three")
    assert (missing.returncode, "does not exist" in missing.stderr) == (1, True)


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


def test_a_deleted_job_leaves_no_driver_in_the_list(head, tmp_path_factory):
    directory = tmp_path_factory.mktemp("work")
    (directory / "train.py").write_text("import ray; ray.init(); print(ray.get(ray.put(1)))")
    head.start()
    jobs = client()
    job = jobs.submit_job(entrypoint=f"{sys.executable} train.py", runtime_env={"working_dir": str(directory)})
    assert ended(jobs, job).status == JobStatus.SUCCEEDED
    assert [details.driver_info is not None for details in jobs.list_jobs()] == [True]
    assert jobs.delete_job(job)
    assert jobs.list_jobs() == []


def test_arguments_of_a_wrong_type_are_refused_before_they_are_sent(head):
    head.start()
    jobs = JobSubmissionClient(metadata={"team": "ours"})
    for name, value, told in (
        ("entrypoint", 5, "entrypoint must be a string, got <class 'int'>"),
        ("submission_id", 5, "submission_id must be a string if provided, got <class 'int'>"),
        ("metadata", {"a": 5}, "metadata values must be strings, got <class 'int'>"),
        ("metadata", {5: "a"}, "metadata keys must be strings, got <class 'int'>"),
        ("entrypoint_num_cpus", "1", "entrypoint_num_cpus must be a number, got <class 'str'>"),
        ("entrypoint_memory", 1.5, "entrypoint_memory must be an integer, got <class 'float'>"),
        ("entrypoint_resources", ["a"], "entrypoint_resources must be a dict, got <class 'list'>"),
        ("entrypoint_resources", {"a": "b"}, "entrypoint_resources values must be numbers, got <class 'str'>"),
        ("entrypoint_label_selector", {"a": 1}, "entrypoint_label_selector values must be strings, got <class 'int'>"),
    ):
        with pytest.raises(TypeError, match=told):
            jobs.submit_job(**{"entrypoint": "true", name: value})
    assert jobs.list_jobs() == []
    job = jobs.submit_job(entrypoint="true", metadata={"team": "theirs", "kind": "test"})
    assert jobs.get_job_info(job).metadata == {"team": "ours", "kind": "test"}
