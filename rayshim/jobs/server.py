"""The HTTP server of jobs: an actor of the session, which runs each job as a separate process.

So a job's processes are descendants of the session's supervisor, which ends them with the session, whichever process was killed. Each request must
have the token of the session. Only processes of the same user get it, from the session's socket (rayshim.session.heads).
"""

import asyncio
import json
import os
import random
import signal
import string
import subprocess
import tempfile
import time
import traceback
from codecs import getincrementaldecoder
from dataclasses import asdict, replace

from aiohttp import web
from reactor import _core
from reactor.runtime.driver import attached
from reactor.runtime.processes import descendants

from rayshim import api
from rayshim.errors.address import get_node_ip_address
from rayshim.jobs.admission import Admission
from rayshim.jobs.types import DriverInfo, JobDetails, JobErrorType, JobInfo, JobStatus, JobType
from rayshim.session import heads, session
from rayshim.session.ids import JobID
from rayshim.session.version import RAY_VERSION

NAME, NAMESPACE = "_ray_internal_job_server", "_ray_internal_jobs"
API_VERSION = "4"
_STOP_SECONDS = 3
_TAIL_SECONDS = 0.1  # between two looks at a log that is followed
_TAIL_CHARACTERS = 20_000
_TAIL_LINES = 10
_PART_BYTES = 1 << 20  # of a log that is followed, in one message


class Job:
    """A submitted job. Its log is a file without a name."""

    def __init__(self, submission_id, info):
        self.submission_id, self.info = submission_id, info
        self.log = tempfile.TemporaryFile(mode="w+b")  # noqa: SIM115
        self.stopped = asyncio.Event()
        self.process = None
        self.task: asyncio.Task[None] | None = None

    def change(self, status, **more):
        now = int(time.time() * 1000)
        times = {"end_time": now} if status.is_terminal() else {}
        self.info = replace(self.info, status=status, **{"message": None, **times, **more})

    def read(self, start=0, size=-1):
        with open(f"/proc/self/fd/{self.log.fileno()}", "rb") as file:
            file.seek(start)
            return file.read(size)

    def tail(self):
        size = os.fstat(self.log.fileno()).st_size
        lines = self.read(max(0, size - 4 * _TAIL_CHARACTERS)).decode(errors="replace").splitlines(keepends=True)
        return "".join(lines[-_TAIL_LINES:])[-_TAIL_CHARACTERS:]


@web.middleware
async def _errors(request, handler):
    """The traceback of an error is the text of the response."""
    try:
        return await handler(request)
    except web.HTTPException:
        raise
    except Exception:
        return web.Response(status=500, text=traceback.format_exc())


class Slot:
    """Holds the resources that a job's command asks for."""

    def ready(self):
        return True


class JobServer:
    """Arguments: address, of the session; directory, its temporary one or None; variables, the environment that jobs begin with."""

    def __init__(self, address, directory, variables):
        self.address, self.directory, self.variables = address, directory, variables
        self.token = "".join(random.SystemRandom().choices(string.ascii_letters + string.digits, k=40))
        self.jobs = {}

    async def start(self, host, port):
        """Listens on `host` at `port`, or at the next that is free, and tells the session's processes where."""
        admission = Admission(self.token, host)
        app = web.Application(middlewares=[admission.check, _errors], client_max_size=1 << 30)
        app.add_routes(
            [
                web.get("/api/version", self.version),
                web.post("/api/jobs/", self.submit),
                web.get("/api/jobs/", self.list),
                web.get("/api/jobs/{id}", self.details),
                web.delete("/api/jobs/{id}", self.delete),
                web.post("/api/jobs/{id}/stop", self.stop),
                web.get("/api/jobs/{id}/logs", self.logs),
                web.get("/api/jobs/{id}/logs/tail", self.follow),
            ]
        )
        runner = web.AppRunner(app, lingering_time=1)
        await runner.setup()
        loop = asyncio.get_running_loop()
        for number in range(port, port + 50):
            try:
                await loop.create_server(admission.protocols(runner.server), host, number)
            except OSError:
                continue
            break
        else:
            raise OSError(f"no port from {port} to {port + 49} is free on {host}")
        facts = {"dashboard": f"{host}:{number}", "token": self.token}
        await loop.run_in_executor(None, self._tell, facts)
        return facts

    def _tell(self, facts=None):
        """Tells the session's facts, and gives all of them."""
        head = heads.find(self.address, self.directory)
        connection = head and heads.connect(head)
        if connection is None:
            return {}
        return attached.ask(connection, "tell" if facts else "facts", **({"facts": facts} if facts else {}))

    # ---- requests

    async def version(self, request):
        return web.json_response(
            {"version": API_VERSION, "ray_version": RAY_VERSION, "ray_commit": "", "session_name": "rayshim"}
        )

    async def submit(self, request):
        asked = await request.json()
        submission_id = asked.get("submission_id") or asked.get("job_id") or _new_id()
        entrypoint = asked.get("entrypoint")
        if not isinstance(entrypoint, str):
            return web.Response(status=400, text=f"entrypoint must be a string, got {type(entrypoint)}")
        if submission_id in self.jobs:
            return web.Response(
                status=500,
                text=f"Job with submission_id {submission_id} already exists. Please use a different submission_id.",
            )
        env = asked.get("runtime_env") or {}
        names = ("entrypoint_num_cpus", "entrypoint_num_gpus", "entrypoint_memory", "entrypoint_resources")
        info = JobInfo(
            JobStatus.PENDING,
            entrypoint,
            start_time=int(time.time() * 1000),
            metadata=asked.get("metadata") or {},
            runtime_env=env,
            driver_node_id=session.current.settings.node,
            **{name: asked.get(name) for name in names},
        )
        job = self.jobs[submission_id] = Job(submission_id, info)
        job.task = asyncio.create_task(self._run(job))
        return web.json_response({"job_id": submission_id, "submission_id": submission_id})

    def _job(self, request):
        name = request.match_info["id"]
        job = self.jobs.get(name)
        if job is None:
            raise web.HTTPNotFound(text=f"Job {name} does not exist")
        return job

    async def list(self, request):
        drivers = await self._drivers()
        own = [self._details(job, drivers) for job in self.jobs.values()]
        others = [_driver_details(d) for d in drivers if d["submission_id"] not in self.jobs and not d.get("over")]
        return web.json_response([asdict(details) for details in own + others])

    async def details(self, request):
        job = self._job(request)
        return web.json_response(asdict(self._details(job, await self._drivers())))

    async def delete(self, request):
        job = self._job(request)
        if not job.info.status.is_terminal():
            return web.Response(
                status=500,
                text=f"Attempted to delete job '{job.submission_id}', but it is in a non-terminal state {job.info.status}.",
            )
        del self.jobs[job.submission_id]
        return web.json_response({"deleted": True})

    async def stop(self, request):
        job = self._job(request)
        over = job.info.status.is_terminal()
        job.stopped.set()
        return web.json_response({"stopped": not over})

    async def logs(self, request):
        return web.json_response({"logs": self._job(request).read().decode(errors="replace")})

    async def follow(self, request):
        job = self._job(request)
        out = web.WebSocketResponse()
        await out.prepare(request)
        shown = 0
        decoder = getincrementaldecoder("utf-8")(errors="replace")  # a part may end within a character
        while True:
            over = job.info.status.is_terminal()
            data = job.read(shown, _PART_BYTES)
            if not over:
                data = data[: data.rfind(b"\n") + 1] or (data if len(data) > 1 << 16 else b"")
            if data:
                shown += len(data)
                await out.send_str(decoder.decode(data))
            elif over or out.closed:
                break
            else:
                await asyncio.sleep(_TAIL_SECONDS)
        await out.close()
        return out

    async def _drivers(self):
        facts = await asyncio.get_running_loop().run_in_executor(None, self._tell)
        return facts.get("drivers", [])

    def _details(self, job, drivers):
        """JobDetails; `driver_info` is of the last driver that the job has started."""
        info = job.info
        mine = [d for d in drivers if d["submission_id"] == job.submission_id]
        return JobDetails(
            type=JobType.SUBMISSION,
            status=info.status,
            entrypoint=info.entrypoint,
            job_id=_hex(mine[-1]) if mine else None,
            submission_id=job.submission_id,
            driver_info=_driver_info(mine[-1]) if mine else None,
            message=info.message,
            error_type=info.error_type and info.error_type.value,
            start_time=info.start_time,
            end_time=info.end_time,
            metadata=info.metadata,
            runtime_env=info.runtime_env,
            driver_node_id=info.driver_node_id,
            driver_exit_code=info.driver_exit_code,
        )

    # ---- running a job

    async def _run(self, job):
        slot = None
        try:
            slot = await self._resources(job)
            if not job.stopped.is_set():
                await self._run_process(job)
            else:
                job.change(JobStatus.STOPPED)
        except Exception:
            job.change(
                JobStatus.FAILED,
                message=traceback.format_exc(),
                error_type=JobErrorType.JOB_ENTRYPOINT_COMMAND_START_ERROR,
            )
        finally:
            if slot is not None:
                api.kill(slot)

    async def _resources(self, job):
        """An actor that holds what the command asks for, once it has it, or None."""
        info = job.info
        asked = {
            "num_cpus": info.entrypoint_num_cpus or 0,
            "num_gpus": info.entrypoint_num_gpus or 0,
            "memory": info.entrypoint_memory,
            "resources": info.entrypoint_resources or {},
        }
        if not any(asked.values()):
            return None
        slot = api.remote(Slot).options(**asked).remote()
        ready = asyncio.ensure_future(_awaited(slot.ready.remote()))
        stopped = asyncio.ensure_future(job.stopped.wait())
        await asyncio.wait([ready, stopped], return_when=asyncio.FIRST_COMPLETED)
        return slot

    async def _run_process(self, job):
        job.log.write(f"Running entrypoint for job {job.submission_id}: {job.info.entrypoint}\n".encode())
        job.log.flush()
        env = job.info.runtime_env or {}
        job.process = process = subprocess.Popen(  # noqa: ASYNC220  it returns at once
            job.info.entrypoint,
            shell=True,
            cwd=env.get("working_dir") or self.variables.get("HOME") or "/",
            env=self._environment(job),
            stdin=subprocess.DEVNULL,
            stdout=job.log,
            stderr=subprocess.STDOUT,
            preexec_fn=_begin_group,  # noqa: PLW1509  two system calls
        )
        job.change(JobStatus.RUNNING)
        ended = asyncio.ensure_future(_ended(process))
        stopped = asyncio.ensure_future(job.stopped.wait())
        await asyncio.wait([ended, stopped], return_when=asyncio.FIRST_COMPLETED)
        if job.stopped.is_set() and not ended.done():
            await asyncio.to_thread(_end_tree, process)
            await ended
            job.change(JobStatus.STOPPED)
            return
        stopped.cancel()
        code = await ended
        if code == 0:
            job.change(JobStatus.SUCCEEDED, driver_exit_code=0)
            return
        tail = job.tail()
        shown = f", last available logs (truncated to 20,000 chars):\n{tail}" if tail else ". No logs available."
        job.change(
            JobStatus.FAILED,
            message=f"Job entrypoint command failed with exit code {code}{shown}",
            driver_exit_code=code,
            error_type=JobErrorType.JOB_ENTRYPOINT_COMMAND_ERROR,
        )

    def _environment(self, job):
        from rayshim.environments.applying import expanded

        env = job.info.runtime_env or {}
        metadata = {"job_submission_id": job.submission_id, "job_name": job.submission_id, **job.info.metadata}
        variables = {
            **self.variables,
            "RAY_JOB_CONFIG_JSON_ENV_VAR": json.dumps({"runtime_env": env, "metadata": metadata}),
            "RAY_ADDRESS": self.address,
            "PYTHONUNBUFFERED": "1",
            **expanded(env.get("env_vars") or {}),
        }
        if self.directory:
            variables["RAY_TMPDIR"] = self.directory
        if env.get("py_modules"):
            variables["PYTHONPATH"] = os.pathsep.join(
                [*env["py_modules"], *filter(None, [variables.get("PYTHONPATH")])]
            )
        return variables


def _begin_group():
    """A job is a process group of its own, in the session that ends when the runtime's processes are killed; its first process ends with the server."""
    os.setpgid(0, 0)
    _core.die_with_parent()


async def _ended(process):
    """The exit code of a process. Waits on the event loop: a thread for each job would keep the few threads of the loop from stopping jobs."""
    over = asyncio.Event()
    descriptor = os.pidfd_open(process.pid)
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    return process.wait()


async def _awaited(ref):
    return await ref


def _end_tree(process):
    """Ends a job's process with all that it has started: SIGTERM (RAY_JOB_STOP_SIGNAL), and SIGKILL for what is left after a while."""
    number = signal.SIGINT if os.environ.get("RAY_JOB_STOP_SIGNAL") == "SIGINT" else signal.SIGTERM
    deadline = time.monotonic() + float(os.environ.get("RAY_JOB_STOP_WAIT_TIME_S", _STOP_SECONDS))
    tree = [process.pid, *descendants.of(process.pid)]
    while tree:
        for pid in tree:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass  # it has ended
        pause = 0.02
        while (tree := [pid for pid in tree if descendants.lives(pid)]) and time.monotonic() < deadline:
            time.sleep(pause)
        if tree:
            number, deadline = signal.SIGKILL, time.monotonic() + 1
            tree += [child for pid in tree for child in descendants.of(pid)]


def _new_id():
    letters = [c for c in string.ascii_letters + string.digits if c not in "IlO0o1"]
    return "raysubmit_" + "".join(random.SystemRandom().choices(letters, k=16))


def _hex(driver):
    return JobID.from_int(driver["number"]).hex()


def _driver_info(driver):
    return DriverInfo(id=_hex(driver), node_ip_address=get_node_ip_address(), pid=str(driver["pid"]))


def _driver_details(driver):
    return JobDetails(
        type=JobType.DRIVER,
        status=JobStatus.RUNNING,
        entrypoint=driver["entrypoint"],
        job_id=_hex(driver),
        driver_info=_driver_info(driver),
        start_time=int(driver["started"] * 1000),
        metadata={},
        runtime_env={},
    )


def begin(address, directory, host, port, variables):
    """In a driver of the session: makes the server. Returns its facts once it listens."""
    server = (
        api.remote(JobServer)
        .options(
            name=NAME,
            namespace=NAMESPACE,
            lifetime="detached",
            num_cpus=0,
            runtime_env={"env_vars": {"RAY_worker_niceness": "0"}},  # its jobs are drivers, not workers
        )
        .remote(address, directory, variables)
    )
    return api.get(server.start.remote(host, port))
