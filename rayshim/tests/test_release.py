"""The workflow that builds and publishes releases, and what pyproject.toml says about them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github/workflows/wheels.yml"
MACHINES = {"x86_64", "aarch64"}


@pytest.fixture(scope="module")
def workflow():
    return pytest.importorskip("yaml").safe_load(WORKFLOW.read_text())


@pytest.fixture(scope="module")
def project():
    return pytest.importorskip("tomllib", reason="from Python 3.11 on").loads((ROOT / "pyproject.toml").read_text())


def test_each_job_has_a_runner_steps_and_jobs_that_it_needs(workflow):
    for job in workflow["jobs"].values():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(workflow["jobs"])
        assert job["runs-on"]
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])


def test_files_that_the_workflow_names_exist(workflow):
    paths = [path.removesuffix("/**") for path in workflow[True]["pull_request"]["paths"]]  # YAML reads `on` as True
    named = re.findall(r"\b(?:packaging|rayshim|reactor)/[\w./]+\.\w+", WORKFLOW.read_text())
    assert paths and named
    for path in (*paths, *named):
        assert (ROOT / path).exists(), path


def test_wheels_of_both_machines_are_built(workflow):
    assert {one["machine"] for one in workflow["jobs"]["wheels"]["strategy"]["matrix"]["include"]} == MACHINES


def test_only_a_tag_publishes_and_only_that_job_may(workflow):
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {"contents": "read"}
    publishing = {name for name, job in jobs.items() if any("publish" in step.get("uses", "") for step in job["steps"])}
    assert publishing == {name for name, job in jobs.items() if "permissions" in job} == {"publish"}
    assert "startsWith(github.ref, 'refs/tags/v')" in jobs["publish"]["if"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}


def test_each_wheel_is_tried_by_a_program_that_exists(project):
    settings = project["tool"]["cibuildwheel"]
    (script,) = re.findall(r"\{project\}/(\S+)", settings["test-command"])
    assert (ROOT / script).exists()
    for machine in MACHINES:
        assert settings[f"manylinux-{machine}-image"] == "manylinux_2_28"


def test_no_release_of_python_is_shut_out(project):
    assert project["project"]["requires-python"] == ">=3.10"
    assert project["tool"]["cibuildwheel"]["build"] == "cp31?-*"


def test_what_is_always_installed_is_small(project):
    assert {re.match(r"\w+", one)[0] for one in project["project"]["dependencies"]} == {"numpy", "cloudpickle"}
