"""`JobSubmissionClient`: submits jobs to a session's server and asks about them."""

from __future__ import annotations

import copy
import json
import os
from typing import TYPE_CHECKING, Any

from rayshim.errors.user_code import at, calling
from rayshim.jobs.types import JobDetails, JobStatus
from rayshim.session import heads, rendezvous

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_NO_AIOHTTP = "jobs need the package aiohttp: pip install 'rayshim[jobs]'"


#: Types of the arguments of `submit_job`: the type, its name in messages, and for dicts the type of the values and its name.
_TYPES: dict[str, tuple[Any, ...]] = {
    "entrypoint": (str, "a string"),
    "submission_id": (str, "a string if provided"),
    "metadata": (dict, "a dict", str, "strings"),
    "entrypoint_num_cpus": ((int, float), "a number"),
    "entrypoint_num_gpus": ((int, float), "a number"),
    "entrypoint_memory": (int, "an integer"),
    "entrypoint_resources": (dict, "a dict", (int, float), "numbers"),
    "entrypoint_label_selector": (dict, "a dict", str, "strings"),
}


def _check(name, value):
    """TypeError if an argument of `submit_job` has a wrong type."""
    if name not in _TYPES or value is None and name != "entrypoint":
        return
    kind, called, *of_values = _TYPES[name]
    where = at("submit_job")
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {called}, got {type(value)} ({where})")
    if of_values:
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{name} keys must be strings, got {type(key)} ({where})")
            if not isinstance(item, of_values[0]):
                raise TypeError(f"{name} values must be {of_values[1]}, got {type(item)} ({where}: {name}[{key!r}])")


class JobSubmissionClient:
    """A client of the server of jobs.

    Arguments:
        address: "http://host:port", the address of a session, or "auto". Default: the environment variable RAY_API_SERVER_ADDRESS or RAY_ADDRESS,
            or the session that was started last on this machine.
        headers: dict of HTTP headers that are sent with each request.
        metadata: metadata for every job that is submitted.
        other arguments: accepted, without effect.

    Raises ConnectionError if no server answers, RuntimeError if the server refuses, TypeError for arguments of a wrong type.
    """

    __module__ = "rayshim.job_submission"

    def __init__(
        self,
        address: str | None = None,
        create_cluster_if_needed: bool = False,
        cookies: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
        headers: dict[str, Any] | None = None,
        verify: str | bool | None = True,
        **kwargs: Any,
    ) -> None:
        if address is not None and not isinstance(address, str):
            raise TypeError(f"address must be a string, got {type(address)}")
        if not isinstance(create_cluster_if_needed, bool):
            raise TypeError(f"create_cluster_if_needed must be a bool, got {type(create_cluster_if_needed)}")
        for name, value in (("cookies", cookies), ("metadata", metadata), ("headers", headers)):
            if value is not None and not isinstance(value, dict):
                raise TypeError(f"{name} must be a dict, got {type(value)}")
        if not isinstance(verify, (str, bool)):
            raise TypeError(f"verify must be a str or bool, got {type(verify)}")
        self._address, token = _found(address)
        self._headers = {**(headers or {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        self._metadata = metadata or {}
        self._version = json.loads(self._ask("GET", "/api/version"))["version"]

    def get_address(self) -> str:
        """The server's URL."""
        return self._address

    def get_version(self) -> str:
        """The version of the server's API."""
        return self._version

    def submit_job(
        self,
        *,
        entrypoint: str,
        job_id: str | None = None,
        runtime_env: dict[str, Any] | None = None,
        metadata: dict[str, str] | None = None,
        submission_id: str | None = None,
        entrypoint_num_cpus: float | None = None,
        entrypoint_num_gpus: float | None = None,
        entrypoint_memory: int | None = None,
        entrypoint_resources: dict[str, float] | None = None,
        entrypoint_label_selector: dict[str, str] | None = None,
    ) -> str:
        """Submits the shell command `entrypoint` as a job, and returns the id of the job at once.

        Arguments:
            submission_id: the id; default: a random one. `job_id` is its older name.
            runtime_env: "working_dir", a directory in which the command runs, "env_vars", "py_modules"; the job's `init` has them too.
            metadata: {str: str} kept with the job.
            entrypoint_num_cpus, entrypoint_num_gpus, entrypoint_memory, entrypoint_resources: what the command itself holds while it runs.
            entrypoint_label_selector: accepted; there is one machine.

        RuntimeError: the id is taken. ValueError for a runtime environment that cannot be had here. TypeError for an argument of a wrong type.
        """
        env = copy.deepcopy(dict(runtime_env or {}))
        hook = env.get("worker_process_setup_hook")
        if hook and not isinstance(hook, str):
            raise ValueError(
                f"Invalid type {type(hook)} for `worker_process_setup_hook`. When a job submission API is used, `worker_process_setup_hook` "
                f"only allows a string type (module name). ({at('submit_job')})"
            )
        from rayshim.environments.checking import checked

        asked = {
            "entrypoint": entrypoint,
            "submission_id": submission_id or job_id,
            "runtime_env": checked(env, "submit_job"),
            "metadata": {**(metadata or {}), **self._metadata},
            "entrypoint_num_cpus": entrypoint_num_cpus,
            "entrypoint_num_gpus": entrypoint_num_gpus,
            "entrypoint_memory": entrypoint_memory,
            "entrypoint_resources": entrypoint_resources,
            "entrypoint_label_selector": entrypoint_label_selector,
        }
        for name, value in asked.items():
            _check(name, value)
        data = {name: value for name, value in asked.items() if value is not None}
        return json.loads(self._ask("POST", "/api/jobs/", data))["submission_id"]

    def stop_job(self, job_id: str) -> bool:
        """Ends a job by SIGTERM, and after 3 seconds by SIGKILL. Returns whether it was running. Raises RuntimeError if there is no such job."""
        return json.loads(self._ask("POST", f"/api/jobs/{job_id}/stop"))["stopped"]

    def delete_job(self, job_id: str) -> bool:
        """Removes an ended job from the list. Raises RuntimeError if the job has not ended, or if there is no such job."""
        return json.loads(self._ask("DELETE", f"/api/jobs/{job_id}"))["deleted"]

    def get_job_info(self, job_id: str) -> JobDetails:
        """The job's JobDetails. RuntimeError if there is no such job."""
        return JobDetails(**json.loads(self._ask("GET", f"/api/jobs/{job_id}")))

    def list_jobs(self) -> list[JobDetails]:
        """The JobDetails of all jobs, and of running drivers that no job has started."""
        return [JobDetails(**details) for details in json.loads(self._ask("GET", "/api/jobs/"))]

    def get_job_status(self, job_id: str) -> JobStatus:
        """The job's JobStatus. RuntimeError if there is no such job."""
        return self.get_job_info(job_id).status

    def get_job_logs(self, job_id: str) -> str:
        """All that the job has printed so far. RuntimeError if there is no such job."""
        return json.loads(self._ask("GET", f"/api/jobs/{job_id}/logs"))["logs"]

    async def tail_job_logs(self, job_id: str) -> AsyncIterator[str]:
        """Yields the new output of the job until it ends. Raises RuntimeError if there is no such job, or if the server ends before the job."""
        try:
            import aiohttp
        except ModuleNotFoundError:
            raise RuntimeError(_NO_AIOHTTP) from None
        async with aiohttp.ClientSession(headers=self._headers) as web:
            try:
                lines = await web.ws_connect(f"{self._address}/api/jobs/{job_id}/logs/tail", max_msg_size=0)
            except aiohttp.WSServerHandshakeError as error:
                raise RuntimeError(f"Request failed with status code {error.status}: {error.message}.") from None
            while True:
                message = await lines.receive()
                if message.type == aiohttp.WSMsgType.TEXT:
                    yield message.data
                elif message.type == aiohttp.WSMsgType.CLOSED:
                    if lines.close_code == aiohttp.WSCloseCode.ABNORMAL_CLOSURE:
                        raise RuntimeError(
                            f"the connection to {self._address} was closed while job {job_id} was running"
                        )
                    return
                elif message.type == aiohttp.WSMsgType.ERROR:
                    raise RuntimeError(f"WebSocket error for job {job_id}: {lines.exception()}")

    def _ask(self, method, path, data=None):
        """The text of the answer. RuntimeError if it is an error."""
        import http.client
        from urllib.parse import urlsplit

        url = urlsplit(self._address)
        connection_class = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = connection_class(url.hostname or "", url.port)
        try:
            body = None if data is None else json.dumps(data)
            headers = {name: _encoded(value) for name, value in self._headers.items()}
            connection.request(method, path, body, {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        except OSError as error:
            raise ConnectionError(
                f"Failed to connect to Ray at address: {self._address}. ({error}, at {calling()})"
            ) from None
        finally:
            connection.close()
        if answer.status != 200:
            raise RuntimeError(f"Request failed with status code {answer.status}: {text}.")
        return text


def _encoded(value):
    """The value of a header: http.client encodes only Latin-1 by itself, and a token may be any text."""
    return value.encode(errors="surrogateescape") if isinstance(value, str) else value


def server_address(address=None):
    """The URL of the server of jobs at `address`; as on Ray, RAY_API_SERVER_ADDRESS and RAY_ADDRESS go before it. ConnectionError: there is none."""
    return _found(os.environ.get("RAY_API_SERVER_ADDRESS") or os.environ.get("RAY_ADDRESS") or address)[0]


def _found(address):
    """(URL of the server, its token or None)"""
    address = address or os.environ.get("RAY_API_SERVER_ADDRESS") or os.environ.get("RAY_ADDRESS") or "auto"
    there = heads.running()
    if address.startswith(("http://", "https://")):
        url = address.rstrip("/")
        place = url.partition("://")[2].rpartition(":")
        found = [f for f in there if f.get("dashboard", "").rpartition(":")[2] == place[2] and heads.is_here(place[0])]
    else:
        if address != "auto" and ":" not in address:
            raise ValueError(
                f"Invalid address format: {address} ({at('JobSubmissionClient')}: http://host:port, host:port or 'auto')"
            )
        head = heads.find(address)
        found = [head] if head and head.get("dashboard") else []
        if head and not found and head["place"].kind == rendezvous.HEAD:
            raise ConnectionError(
                f"the session at {head['address']} has no server of jobs: {_NO_AIOHTTP}, then start it again"
            )
        if not found and (address == "auto" or "://" in address):
            raise ConnectionError(f"{heads.NOT_FOUND} ({at('JobSubmissionClient')}: `rayshim start --head` starts one)")
        url = f"http://{found[0]['dashboard']}" if found else f"http://{address}"
    return url, found[0]["token"] if found else os.environ.get("RAY_AUTH_TOKEN")
