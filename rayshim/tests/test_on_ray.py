"""Programs that continue on a real Ray cluster, of two nodes; and the page "From a laptop to a cluster"."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "laptop-to-cluster.md").read_text()
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="real Ray is not installed")
pytestmark = [pytest.mark.slow]

CLUSTER = """
import sys
from ray.cluster_utils import Cluster

cluster = Cluster(
    initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False, "resources": {"first": 1}}
)
cluster.add_node(num_cpus=2, resources={"second": 1})
cluster.wait_for_nodes()
print("address", cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


@pytest.fixture(scope="module")
def cluster():
    """The address of a real Ray cluster of two nodes."""
    directory = tempfile.mkdtemp(prefix="c", dir="/tmp")  # short: Ray has sockets there
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_TMPDIR": directory}
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    line = ""
    while not line.startswith("address "):
        line = process.stdout.readline()
        assert line, "the cluster did not start"
    yield line.split()[1]
    process.stdin.close()
    process.wait(60)
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}")

    def run(source, *arguments, alias=False):
        (tmp_path / "program.py").write_text(textwrap.dedent(source))
        command = [sys.executable, *(["-m", "rayshim"] if alias else []), "program.py", *arguments]
        process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert process.returncode == 0, process.stdout + process.stderr
        assert "atexit" not in process.stderr, process.stderr
        return process.stdout

    return run


# Its lines go to a file: into those on stdout Ray tells, now and then in their middle, of the actor that ends itself and of resources.
PROGRAM = """
import functools, os, sys
import rayshim as ray
from rayshim import get, wait
from rayshim.exceptions import RayActorError, RayTaskError
from rayshim.util import ActorPool
from rayshim.util.placement_group import placement_group
from rayshim.util.queue import Queue

@ray.remote
def plus_one(x):
    return x + 1

@ray.remote(num_cpus=0.5)
class Adder:
    def __init__(self, n):
        self.n = n

    def add(self):
        self.n += 1
        return self.n

    def node(self):
        return ray.get_runtime_context().get_node_id()

    @ray.method(num_returns=2)
    def two(self):
        return 1, 2

    def nested(self):
        return ray.get(plus_one.remote(1))

    def fail(self):
        raise ValueError("wrong")

    def end(self):
        os._exit(1)

print = functools.partial(print, file=open("printed", "w", buffering=1))
context = ray.init(address=sys.argv[1], log_to_driver=False)
print(type(context).__module__.partition(".")[0], ray.cluster_resources()["CPU"], len(ray.nodes()))
a = Adder.options(resources={"first": 0.1}).remote(0)
b = Adder.options(resources={"second": 0.1}).remote(10)
print(get([a.add.remote(), b.add.remote()]), get(a.node.remote()) != get(b.node.remote()), get(a.nested.remote()))
print(get(list(a.two.remote())), get(plus_one.options(num_cpus=1).remote(1)), len(wait([plus_one.remote(1)])[0]))
for kind in (RayTaskError, ray.exceptions.RayTaskError, ValueError):
    try:
        get(a.fail.remote())
    except kind as error:
        print("caught", kind.__name__)
try:
    get(a.end.remote())
except RayActorError:
    print("caught RayActorError")
print(list(ActorPool([b]).map(lambda actor, value: actor.add.remote(), [1, 2])))
print(get(placement_group([{"CPU": 1}]).ready()) is not None)
queue = Queue()
queue.put(3)
print(queue.get())
try:
    ray.digest()
except RuntimeError as error:
    print(error)
ray.shutdown()
ray.init(address="local", num_cpus=1, log_to_driver=False)
print(ray.cluster_resources()["CPU"], get(plus_one.remote(1)), get(Adder.remote(1).add.remote()))
ray.shutdown()
ray.init(address=sys.argv[1], log_to_driver=False)
print(len(ray.nodes()), get(plus_one.remote(2)))
"""
PRINTED = """\
ray 4.0 2
[1, 11] True 2
[1, 2] 2 1
caught RayTaskError
caught RayTaskError
caught ValueError
caught RayActorError
[12, 13]
True
3
digest: only rayshim has that, and this program runs on a real Ray cluster
1.0 2 2
2 3
"""


@needs_ray
@pytest.mark.parametrize("alias", [False, True], ids=["import rayshim as ray", "python -m rayshim"])
def test_a_program_goes_on_on_a_real_cluster_and_comes_back(cluster, run, alias, tmp_path):
    source = PROGRAM.replace("import rayshim as ray", "import ray").replace("from rayshim", "from ray")
    run(source if alias else PROGRAM, cluster, alias=alias)
    assert (tmp_path / "printed").read_text() == PRINTED


NAMES = """
import sys, types, typing
import ray, ray.actor, ray.exceptions, ray.util, ray.util.queue, ray.util.scheduling_strategies, ray.util.state

modules = (ray, ray.actor, ray.exceptions, ray.util, ray.util.queue, ray.util.scheduling_strategies, ray.util.state)
imported = []
for module in modules:
    program = types.ModuleType(f"program_{len(imported)}")
    sys.modules[program.__name__] = program
    for name in {*vars(module), *getattr(module, "__all__", ())}:
        if not name.startswith("_"):
            setattr(program, name, getattr(module, name))
    imported.append(program)
ray.init(address=sys.argv[1], log_to_driver=False)
aliases = type(typing.Union[int, str]), type(typing.Dict[str, int])
for module, program in zip(modules, imported):
    real = sys.modules[module.__name__.replace("rayshim", "ray")]
    assert real is not module and "rayshim" not in real.__file__
    names = [name for name in vars(real) if not name.startswith("_")]
    assert names
    for name in names:
        their = getattr(real, name)
        if isinstance(their, types.ModuleType) or not callable(their) or name in ("init", "shutdown"):
            continue
        if getattr(module, name) is not their:
            print("not Ray's:", real.__name__, name)
        own = getattr(program, name, their)
        if own is not their and not isinstance(their, aliases):
            print("imported before, and not Ray's:", real.__name__, name)
print("compared")
"""


@needs_ray
def test_all_public_names_are_rays_after_init(cluster, run):
    assert run(NAMES, cluster, alias=True) == "compared\n"


IMPORTED = """
import pickle, sys, time
import rayshim as ray
from rayshim import ObjectRef
from rayshim.actor import ActorHandle
from rayshim.exceptions import GetTimeoutError

@ray.remote
class Seer:
    def see(self, handles, refs):
        return isinstance(handles[0], ActorHandle), isinstance(refs[0], ObjectRef), isinstance(refs[0], ray.ObjectRef)

@ray.remote
def slow():
    time.sleep(60)

def told(where):
    seer, ref = Seer.remote(), ray.put(3)
    lines = [isinstance(seer, ActorHandle), isinstance(ref, ObjectRef), ray.get(seer.see.remote([seer], [ref]))]
    try:
        ray.get(slow.remote(), timeout=0.1)
    except GetTimeoutError:
        lines.append("caught")
    lines.append(ray.get(pickle.loads(ray.cloudpickle.dumps(ref)), timeout=20))
    print(lines, file=where)

with open("printed", "w") as file:
    own = [ObjectRef]  # not a name of the module
    ray.init(address=sys.argv[1], log_to_driver=False)
    assert ObjectRef is not own[0]
    told(file)
    ray.shutdown()
    assert ObjectRef is own[0]
    ray.init(address="local", num_cpus=2, log_to_driver=False)
    told(file)
"""


@needs_ray
@pytest.mark.parametrize("alias", [False, True], ids=["import rayshim as ray", "python -m rayshim"])
def test_classes_imported_before_init_are_those_of_rays_objects(cluster, run, alias, tmp_path):
    source = IMPORTED.replace("import rayshim as ray", "import ray").replace("from rayshim", "from ray")
    run(source if alias else IMPORTED, cluster, alias=alias)
    assert (tmp_path / "printed").read_text() == "[True, True, (True, True, True), 'caught', 3]\n" * 2


@needs_ray
@pytest.mark.parametrize("argument", ["record='there'", "ordering='strict'", "placement='packed'", "seed=1"])
def test_what_only_rayshim_has_is_refused_on_a_real_cluster(cluster, run, argument):
    told = run(f"""
    import rayshim as ray
    try:
        ray.init(address={cluster!r}, {argument})
    except ValueError as error:
        print(error)
    """)
    assert "only rayshim has that, and the address is that of a real Ray cluster" in told


@needs_ray
def test_where_nobody_answers_the_error_comes_at_once(run):
    told = run("""
    import rayshim as ray
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1"):
        try:
            ray.init(address=address)
        except ConnectionError as error:
            print(error)
    """)
    assert told.count("Failed to connect to Ray cluster at") == 2


def blocks(language):
    return re.findall(rf"^```{language}[^\n]*\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", blocks("sh"), ids=lambda block: block.splitlines()[0])
def test_the_commands_of_the_page_run_and_give_the_same_numbers(request, run, tmp_path, block):
    if "head-node:6379" in block:
        if find_spec("ray") is None:
            pytest.skip("real Ray is not installed")
        block = block.replace("head-node:6379", request.getfixturevalue("cluster"))
    (tmp_path / "train.py").write_text(blocks("python")[0])
    bash = ["bash", "-euo", "pipefail", "-c", block]
    process = subprocess.run(bash, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert process.returncode == 0, process.stdout + process.stderr
    assert f"norm {trained():.12f}" in process.stdout


def trained():
    """What the page's program gives, by numpy alone."""
    values = np.zeros(100)
    for step in range(10):
        seeds = range(4 * step, 4 * step + 4)
        values = values - 0.1 * sum(values - np.random.default_rng(seed).normal(size=100) for seed in seeds)
    return np.linalg.norm(values)


@needs_ray
def test_auto_means_rays_own_head_where_only_that_runs(cluster, run, tmp_path):
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(cluster)
    told = run("""
    import rayshim as ray
    print(type(ray.init(address="auto", log_to_driver=False)).__module__, len(ray.nodes()))
    """)
    assert told == "ray._private.worker 2\n"


@needs_ray
@pytest.mark.skipif(
    find_spec("torch") is None or find_spec("gymnasium") is None, reason="the program needs torch and gymnasium"
)
def test_a_training_program_learns_the_same_policy_on_a_cluster_on_ray_and_on_rayshim(
    cluster, tmp_path, monkeypatch, request
):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    short = tempfile.TemporaryDirectory(prefix="r", dir="/tmp")  # Ray has sockets there, whose paths may not be long
    request.addfinalizer(short.cleanup)
    monkeypatch.setenv("RAY_TMPDIR", short.name)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    program = Path(__file__).parents[2] / "benchmarks" / "programs" / "qlearning.py"

    def learnt(*alias, address=""):
        events = tmp_path / "events"
        command = [sys.executable, *alias, str(program), "--rounds", "5", "--json", str(events)]
        environment = {**os.environ, **({"RAY_ADDRESS": address} if address else {})}
        process = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=230)
        assert process.returncode == 0, process.stdout + process.stderr
        told = [json.loads(line) for line in events.read_text().splitlines()]
        events.unlink()
        (figures,) = [event["figures"] for event in told if "figures" in event]
        return figures["losses"], figures["rewards"], figures["policy"]

    here = learnt("-m", "rayshim")
    assert len(here[0]) == 5
    assert learnt("-m", "rayshim", address=cluster) == here
    assert learnt() == here
