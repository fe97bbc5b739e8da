"""Names that programs import from modules of Ray that are not public."""

import importlib
import os
import pickle

import pytest


def module(ray, name):
    return importlib.import_module(f"{ray.__name__}.{name}")


def test_what_init_returns_is_a_context_of_the_worker_module(bare_ray, backend):
    worker = module(bare_ray, "_private.worker")
    with backend.init(num_cpus=1) as context:
        assert type(context) is worker.RayContext and isinstance(context, worker.BaseContext)
    assert not bare_ray.is_initialized()
    with pytest.raises(TypeError, match="abstract"):
        worker.BaseContext()


def test_types_of_remote_functions_can_be_used_in_annotations(bare_ray):
    worker = module(bare_ray, "_private.worker")

    def of(plain: worker.RemoteFunctionNoArgs[int], one: worker.RemoteFunction0[int, str], many: "worker.RemoteDecorator"):
        pass

    assert str(of.__annotations__["one"]).endswith("_private.worker.RemoteFunction0[int, str]")
    for n in range(10):
        assert getattr(worker, f"RemoteFunction{n}")[(int,) * (n + 2)]
        with pytest.raises(TypeError, match="Too few arguments"):
            getattr(worker, f"RemoteFunction{n}")[(int,) * (n + 1)]


def test_the_address_of_the_dashboard_is_told_in_a_session(bare_ray, backend, monkeypatch):
    worker = module(bare_ray, "_private.worker")
    with pytest.raises(bare_ray.exceptions.RaySystemError, match="Ray has not been started yet"):
        worker.get_dashboard_url()
    context = backend.init(num_cpus=1)
    assert not worker.get_dashboard_url() and not context.dashboard_url
    monkeypatch.setenv("RAY_OVERRIDE_DASHBOARD_URL", "https://board.example:80/x")
    assert worker.get_dashboard_url() == "board.example:80/x"


def test_names_of_earlier_releases(ray):
    raylet = module(ray, "_raylet")
    assert raylet.StreamingObjectRefGenerator is ray.ObjectRefGenerator and raylet.ObjectID is ray.ObjectRef
    assert raylet.Language is ray.Language


def test_modules_of_cloudpickle(bare_ray):
    outer = module(bare_ray, "cloudpickle")
    for name in ("cloudpickle", "cloudpickle_fast"):
        inner = module(bare_ray, f"cloudpickle.{name}")
        assert issubclass(inner.CloudPickler, pickle.Pickler) and getattr(outer, name) is inner
        assert pickle.loads(inner.dumps(lambda: 3))() == 3
        assert inner._extract_code_globals
    assert module(bare_ray, "cloudpickle.compat").pickle is pickle


def test_uvloop_becomes_the_event_loop_if_it_is_installed(scripts):
    pytest.importorskip("uvloop")
    source = """
        import asyncio
        from ray._private.async_compat import try_install_uvloop

        async def loop():
            return type(asyncio.get_running_loop()).__module__

        try_install_uvloop()
        print(asyncio.run(loop()))
    """
    assert scripts.run(source).split() == ["uvloop"]


def test_the_client_of_jobs_has_its_module(scripts):
    source = """
        import ray
        from ray.dashboard.modules.job.sdk import JobSubmissionClient
        from ray.job_submission import JobSubmissionClient as public

        print(JobSubmissionClient is public)
    """
    assert scripts.run(source).split() == ["True"]


def test_the_program_is_a_job_of_the_session(ray):
    state = module(ray, "_private.state")
    assert state.state.job_table() == state.jobs()
    (job,) = [job for job in state.jobs() if job["DriverPid"] == os.getpid() and not job["IsDead"]]
    assert sorted(job) == ["DriverIPAddress", "DriverPid", "EndTime", "Entrypoint", "IsDead", "JobID", "StartTime", "Timestamp"]
    assert job["JobID"] == ray.get_runtime_context().get_job_id() and job["EndTime"] == 0
    assert job["DriverIPAddress"] == ray.util.get_node_ip_address()
    with open("/proc/self/cmdline") as command:
        assert job["Entrypoint"] == " ".join(command.read().rstrip("\0").split("\0"))
    assert job["StartTime"] == job["Timestamp"] > 1.7e12
