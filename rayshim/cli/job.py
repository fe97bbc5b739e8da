"""`rayshim job`: submits jobs to a session that runs, and asks about them."""

import os
import sys


def main(argv):
    """Runs the command; the exit status is 0, or 1 if a job that was waited for has failed or the server refuses."""
    wanted = _parser().parse_args(argv)
    if not hasattr(wanted, "does"):
        _parser().print_help(sys.stderr)
        return 2
    try:
        return wanted.does(wanted)
    except (ConnectionError, RuntimeError, ValueError) as error:
        print(f"rayshim job {wanted.command}: {error}", file=sys.stderr)
        return 1


def _client(wanted):
    import json

    from rayshim.jobs.client import JobSubmissionClient

    headers = wanted.headers or os.environ.get("RAY_JOB_HEADERS")
    client = JobSubmissionClient(wanted.address, headers=json.loads(headers) if headers else None)
    print(f"Job submission server address: {client.get_address()}")
    return client


def _submit(wanted):
    import shlex

    command = wanted.entrypoint[1:] if wanted.entrypoint[:1] == ["--"] else wanted.entrypoint
    if not command:
        raise ValueError("no command given: pass it after --, as in `rayshim job submit -- python train.py`")
    client = _client(wanted)
    job = client.submit_job(
        entrypoint=shlex.join(command),
        submission_id=wanted.submission_id,
        runtime_env=_runtime_env(wanted),
        metadata=_json(wanted.metadata_json, "--metadata-json"),
        entrypoint_num_cpus=wanted.entrypoint_num_cpus,
        entrypoint_num_gpus=wanted.entrypoint_num_gpus,
        entrypoint_memory=wanted.entrypoint_memory,
        entrypoint_resources=_json(wanted.entrypoint_resources, "--entrypoint-resources"),
    )
    text = f"Job '{job}' submitted successfully"
    print(f"\n{'-' * len(text)}\n{text}\n{'-' * len(text)}\n")
    print(f"Next steps\n  Query the logs of the job:\n    rayshim job logs {job}")
    print(f"  Query the status of the job:\n    rayshim job status {job}")
    print(f"  Request the job to be stopped:\n    rayshim job stop {job}\n", flush=True)
    if wanted.no_wait:
        return 0
    print("Tailing logs until the job exits (disable with --no-wait):", flush=True)
    return _follow(client, job)


def _follow(client, job):
    import asyncio

    from rayshim.jobs.types import JobStatus

    async def tail():
        async for lines in client.tail_job_logs(job):
            print(lines, end="", flush=True)

    asyncio.run(tail())
    return int(_tell_status(client, job) == JobStatus.FAILED)


def _tell_status(client, job):
    info = client.get_job_info(job)
    status = str(info.status)
    if status in ("SUCCEEDED", "FAILED"):
        text = f"Job '{job}' {status.lower()}"
        print(f"\n{'-' * len(text)}\n{text}\n{'-' * len(text)}\n")
        if status == "FAILED":
            print(f"Status message: {info.message}")
    elif status == "STOPPED":
        print(f"Job '{job}' was stopped")
    else:
        print(f"Status for job '{job}': {status}\nStatus message: {info.message}")
    return info.status


def _status(wanted):
    _tell_status(_client(wanted), wanted.job)
    return 0


def _logs(wanted):
    client = _client(wanted)
    if wanted.follow:
        _follow(client, wanted.job)
    else:
        print(client.get_job_logs(wanted.job), end="")
    return 0


def _stop(wanted):
    import time

    client = _client(wanted)
    print(f"Attempting to stop job '{wanted.job}'")
    client.stop_job(wanted.job)
    if wanted.no_wait:
        return 0
    print(f"Waiting for job '{wanted.job}' to exit (disable with --no-wait):", flush=True)
    while not client.get_job_status(wanted.job).is_terminal():
        time.sleep(0.1)
    _tell_status(client, wanted.job)
    return 0


def _delete(wanted):
    _client(wanted).delete_job(wanted.job)
    print(f"Job '{wanted.job}' deleted successfully")
    return 0


def _list(wanted):
    import pprint

    pprint.pprint(_client(wanted).list_jobs())
    return 0


def _runtime_env(wanted):
    env = {}
    if wanted.runtime_env and wanted.runtime_env_json:
        raise ValueError("only one of --runtime-env and --runtime-env-json can be given")
    if wanted.runtime_env:
        try:
            import yaml
        except ModuleNotFoundError:
            raise ValueError("--runtime-env needs the package pyyaml; --runtime-env-json does not") from None
        with open(wanted.runtime_env) as file:
            env = yaml.safe_load(file)
    elif wanted.runtime_env_json:
        env = _json(wanted.runtime_env_json, "--runtime-env-json")
    if wanted.working_dir:
        env["working_dir"] = wanted.working_dir
    return env


def _json(text, option):
    import json

    if not text:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{option}: must be a JSON object, not {text!r}: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{option}: must be a JSON object, not {text!r}")
    return value


def _parser():
    import argparse

    from rayshim.cli import parsers

    parser = parsers.Parser(
        prog="rayshim job",
        description="Runs programs as jobs in the session that `rayshim start --head` has started, and shows their status and output.",
        epilog="example:\n  rayshim job submit --working-dir . -- python train.py --iterations 10",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, does, summary in (
        ("submit", _submit, "run a command as a job in the session, and show its output"),
        ("status", _status, "show the status of a job"),
        ("logs", _logs, "show the output of a job"),
        ("stop", _stop, "end a job"),
        ("delete", _delete, "remove an ended job from the list"),
        ("list", _list, "show all jobs"),
    ):
        command = commands.add_parser(name, help=summary, description=summary)
        command.set_defaults(does=does)
        command.add_argument("--address", help="address of the session, or of its server of jobs (http://HOST:PORT)")
        command.add_argument("--headers", metavar="JSON", help="HTTP headers that are sent with each request")
        command.add_argument("--verify", help=argparse.SUPPRESS)
        if name in ("submit", "stop"):
            command.add_argument("--no-wait", action="store_true", help="do not wait until the job ends")
        if name == "logs":
            command.add_argument("-f", "--follow", action="store_true", help="show new output until the job ends")
        if name not in ("submit", "list"):
            command.add_argument("job", metavar="ID", help="the job's id, which `job submit` has printed")
    submit = commands.choices["submit"]
    submit.add_argument("--submission-id", "--job-id", help="the job's id; default: a random one")
    submit.add_argument("--runtime-env", metavar="PATH", help="YAML file with the runtime environment of the job")
    submit.add_argument("--runtime-env-json", metavar="JSON", help="the runtime environment of the job")
    submit.add_argument("--working-dir", metavar="DIRECTORY", help="directory in which the command runs")
    submit.add_argument("--metadata-json", metavar="JSON", help="names and values (strings) to store with the job")
    submit.add_argument(
        "--entrypoint-num-cpus", type=float, help="CPUs that the command itself uses, without its tasks and actors"
    )
    submit.add_argument("--entrypoint-num-gpus", type=float, help="GPUs that the command itself uses")
    submit.add_argument("--entrypoint-memory", type=int, help="bytes of memory that the command itself uses")
    submit.add_argument("--entrypoint-resources", metavar="JSON", help="custom resources that the command itself uses")
    submit.add_argument("--entrypoint-label-selector", help=argparse.SUPPRESS)
    submit.add_argument("entrypoint", nargs=argparse.REMAINDER, metavar="-- COMMAND ...")
    return parser
