"""`rayshim start` and `rayshim stop`: sessions that outlive their drivers."""

import os
import sys

from rayshim.cli import ending
from rayshim.errors.address import get_node_ip_address
from rayshim.session import heads

_STARTS_SECONDS = 60
_DEFAULT_PORT = 6379
_DEFAULT_CLIENT_PORT = 10001


def start(argv):
    """Starts a head; 0 once it runs. With `--block` it runs in this process until it is told to end."""
    wanted = _start_parser().parse_args(argv)
    options, error = _options(wanted)
    if error is None and not wanted.head:
        error = _no_head(wanted)
    if error is not None:
        print(f"rayshim start: {error}", file=sys.stderr)
        return 1
    if options["block"]:
        return _blocked(options, *os.pipe())
    process, facts = started(options)
    if "error" in facts:
        process.wait()
        print(f"rayshim start: {facts['error']}", file=sys.stderr)
        return 1
    facts.update(_jobs(options, facts))
    _print_started(facts)
    return 0


def started(options, first="", variables=None):
    """Starts a head: its process (Popen), and its facts, or {"error": text}. `first`: statements that its process runs before all else; `variables`:
    more variables of its environment."""
    import json
    import subprocess

    from rayshim.cli import head

    read, write = os.pipe()
    program = f"import sys; sys.path[0] = {_root()!r}; {first}from rayshim.cli.head import main; main()"
    null = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, **(variables or {}), head.OPTIONS: json.dumps([options, write])},
        stdin=null, stdout=null, stderr=null, pass_fds=[write], start_new_session=True,
    )  # fmt: skip
    os.close(write)
    return process, _read_facts(read)


def options_of_head(argv):
    """The options of the head that `rayshim start` makes of this command line, as rayshim.cli.head takes them."""
    options, error = _options(_start_parser().parse_args(argv))
    if options is None:
        raise ValueError(error)
    return options


def _jobs(options, facts):
    """Has the session serve jobs, if it is to and can; the server's facts."""
    from importlib.util import find_spec

    if not options["include_dashboard"] or find_spec("aiohttp") is None:
        return {}
    from rayshim import api
    from rayshim.as_ray import commands
    from rayshim.jobs import server

    api.init(facts["address"], _temp_dir=options["temp_dir"], log_to_driver=False, configure_logging=False)
    try:
        variables = {**os.environ, **commands.variables(os.environ)}
        place = options["dashboard_host"], options["dashboard_port"]
        return server.begin(facts["address"], options["temp_dir"], *place, variables)
    finally:
        api.shutdown()


def _blocked(options, read, write):
    import json
    import subprocess
    import threading

    from rayshim.cli import head

    def begin_jobs():
        facts = _read_facts(read)
        if "error" not in facts:  # this process has the session itself and cannot be a driver of it
            program = "import sys, json; sys.path[0] = {!r}; from rayshim.cli.cluster import _jobs; json.dump(_jobs(*json.loads(sys.argv[1])), sys.stdout)"
            answer = subprocess.run(
                [sys.executable, "-c", program.format(_root()), json.dumps([options, facts])], stdout=subprocess.PIPE
            )
            facts.update(json.loads(answer.stdout or "{}"))
        _print_started(facts)

    thread = threading.Thread(target=begin_jobs)
    thread.start()
    status = head.run(options, write)
    thread.join()
    return status


def _root():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _read_facts(read):
    """The facts that the head writes when it is ready, or {"error": text}."""
    import json
    import select

    with open(read, "rb") as file:
        if not select.select([file], [], [], _STARTS_SECONDS)[0]:
            return {"error": f"the session did not start within {_STARTS_SECONDS} s"}
        data = file.read()
    return json.loads(data) if data else {"error": "the process of the session has ended before it was ready"}


def _print_started(facts):
    if "error" in facts:
        print(f"rayshim start: {facts['error']}", file=sys.stderr)
        return
    print(f"Local node IP: {facts['address'].rpartition(':')[0]}")
    print("\n--------------------\nRay runtime started.\n--------------------\n")
    print("Next steps\n  To connect to this session:\n    import rayshim as ray\n    ray.init()\n")
    if facts.get("dashboard"):
        print(
            f"  To submit a job:\n    RAY_ADDRESS='http://{facts['dashboard']}' rayshim job submit --working-dir . -- python my_script.py\n"
        )
    print(f"  The address of the session is {facts['address']}\n\n  To end the session:\n    rayshim stop")
    sys.stdout.flush()


def _no_head(wanted):
    if wanted.address:
        return (
            f"--address={wanted.address}: a session is on one machine, and no other can join it. For several machines use real Ray: "
            "`ray start`, and init(address=...)"
        )
    return "--head is needed: a session is on one machine, and this starts it"


def _options(wanted):
    """(options as rayshim.cli.head takes them, None), or (None, what is wrong)."""

    options = {
        name: getattr(wanted, name)
        for name in (
            "num_cpus",
            "num_gpus",
            "object_store_memory",
            "ordering",
            "patience",
            "temp_dir",
            "block",
            "include_dashboard",
        )
    }
    if (wanted.ordering or os.environ.get("RAYSHIM_ORDERING")) == "timed":
        return None, (
            "a session of several programs has no timed order, because a timing file is of one program: use another --ordering, or run the program "
            "by itself with `rayshim run --ordering timed --timing FILE`"
        )
    for name in ("resources", "labels", "system_config"):
        try:
            options[name] = _mapping(getattr(wanted, name))
        except ValueError:
            return (
                None,
                f"--{name.replace('_', '-')}: must be a JSON object such as '{{\"name\": 1}}', not {getattr(wanted, name)!r}",
            )
    options["node_ip_address"] = wanted.node_ip_address or get_node_ip_address()
    options["client_port"] = wanted.ray_client_server_port or _DEFAULT_CLIENT_PORT
    options["dashboard_port"] = wanted.dashboard_port
    options["dashboard_host"] = wanted.dashboard_host
    there = {facts["port"]: facts for facts in heads.running(wanted.temp_dir)}
    port = _DEFAULT_PORT if wanted.port is None else wanted.port
    if port == 0:
        port = next(p for p in range(_DEFAULT_PORT + 1, 1 << 16) if p not in there)
    elif port in there:
        at = there[port]["address"]
        return None, (
            f"Ray is trying to start at {options['node_ip_address']}:{port}, but is already running at {at}. Please specify a different port "
            "using the `--port` flag, or end that one with `rayshim stop`"
        )
    options["port"] = port
    return options, None


def _mapping(text):
    import json

    if not text:
        return {}
    if "=" in text and not text.lstrip().startswith("{"):
        return dict(pair.split("=", 1) for pair in text.split(","))
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


def stop(argv):
    """Ends all heads of this user."""
    from rayshim.cli import parsers

    parser = parsers.Parser(
        prog="rayshim stop",
        description="Ends all your sessions that `rayshim start --head` has started, with all workers, actors and jobs in them.",
    )
    parser.add_argument("-f", "--force", action="store_true", help="kill the sessions at once")
    parser.add_argument(
        "-g",
        "--grace-period",
        type=float,
        default=16,
        metavar="SECONDS",
        help="kill sessions that have not ended after this time (default: %(default)s)",
    )
    parser.add_argument("--temp-dir", help="the --temp-dir with which the sessions were started")
    wanted = parser.parse_args(argv)
    found = ending.find(wanted.temp_dir)
    if not found:
        print("Did not find any active Ray processes.")
        return 0
    left = ending.end(found, 0 if wanted.force else wanted.grace_period, wanted.temp_dir)
    if left:
        pids = ", ".join(f"{head.pid}, {head.supervisor}" for head in left)
        print(f"rayshim stop: {len(left)} sessions have not ended: pids {pids}", file=sys.stderr)
        return 1
    print(f"Stopped all {len(found)} Ray processes.")
    return 0


#: Options of Ray's that have no meaning on one machine; they are accepted, and the second ones take a value.
_FLAGS = (
    "--disable-usage-stats",
    "--no-monitor",
    "--autoscaling-config",
    "--enable-object-reconstruction",
    "--no-redirect-output",
    "--verbose",
    "-v",
    "--ray-debugger-external",
)
_VALUES = (
    "--node-manager-port", "--object-manager-port", "--gcs-server-port", "--min-worker-port", "--max-worker-port", "--worker-port-list",
    "--dashboard-agent-listen-port", "--dashboard-agent-grpc-port", "--dashboard-grpc-port", "--runtime-env-agent-port",
    "--metrics-export-port", "--plasma-directory", "--storage", "--log-style", "--log-color", "--node-name", "--memory", "--redis-password",
    "--redis-username", "--tracing-startup-hook",
)  # fmt: skip


def _start_parser():
    import argparse

    from rayshim.cli import parsers

    parser = parsers.Parser(
        prog="rayshim start",
        description=(
            "Starts a session that stays when this command and the programs that use it have ended. `init()` and `init(address=...)` attach a program "
            "to this session; `rayshim stop` ends it. Other options of `ray start` have no meaning on one machine and are ignored."
        ),
        epilog="example:\n  rayshim start --head --num-cpus 8\n  python -m rayshim train.py\n  rayshim stop",
    )
    parser.add_argument("--head", action="store_true", help="start a session; this option is required")
    parser.add_argument("--address", help=argparse.SUPPRESS)
    parser.add_argument(
        "--port",
        type=int,
        help=f"port in the address HOST:PORT of the session (default: {_DEFAULT_PORT}; 0: a free port)",
    )
    parser.add_argument(
        "--num-cpus", type=float, help="number of CPUs for tasks and actors (default: all CPUs of this machine)"
    )
    parser.add_argument(
        "--num-gpus", type=float, help="number of GPUs for tasks and actors (default: all GPUs of this machine)"
    )
    parser.add_argument("--resources", default="", metavar="JSON", help="custom resources, such as '{\"lamp\": 2}'")
    parser.add_argument("--labels", default="", help="labels of this machine: key1=val1,key2=val2")
    parser.add_argument(
        "--object-store-memory",
        type=int,
        metavar="BYTES",
        help="size of the object store, for all large values together",
    )
    parser.add_argument(
        "--block",
        action="store_true",
        help="wait until the session ends, and show the output of workers whose driver has ended",
    )
    parser.add_argument(
        "--temp-dir",
        help="directory for temporary files; `init()` finds only sessions with its own RAY_TMPDIR (default: RAY_TMPDIR)",
    )
    parser.add_argument("--ordering", metavar="ORDER", help="the same as init(ordering=)")
    parser.add_argument("--patience", metavar="BUDGET", help="the same as init(patience=)")
    parser.add_argument("--node-ip-address", help="host in the address of the session")
    parser.add_argument(
        "--include-dashboard",
        type=lambda text: text.lower() not in ("0", "false", "no"),
        default=True,
        metavar="BOOL",
        help="whether to accept jobs (default: yes, if aiohttp is installed)",
    )
    parser.add_argument(
        "--dashboard-host", default="127.0.0.1", help="host of the server of jobs; must be this machine"
    )
    parser.add_argument(
        "--dashboard-port", type=int, default=8265, help="port of the server of jobs (default: %(default)s)"
    )
    parser.add_argument(
        "--ray-client-server-port",
        type=int,
        help=f"port in a second address of the session, ray://HOST:PORT (default: {_DEFAULT_CLIENT_PORT})",
    )
    parser.add_argument("--system-config", default="", help="the same as init(_system_config=)")
    for name in _FLAGS:
        parser.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    for name in _VALUES:
        parser.add_argument(name, help=argparse.SUPPRESS)
    return parser
