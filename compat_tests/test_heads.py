"""Sessions that outlive their drivers: `start --head`, several drivers, detached actors, and what ends with a driver."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from compat_tests import processes

pytestmark = [pytest.mark.needs_own_processes, pytest.mark.timeout(180)]

COUNTER = """
    import os, sys, time
    import ray

    @ray.remote
    class Counter:
        def __init__(self, child=False):
            self.value = 0
            self.child = Counter.options(name="child").remote() if child else None

        def add(self, n=1):
            self.value += n
            return self.value

        def namespace(self):
            return ray.get_runtime_context().namespace

    def gone(name, **where):
        try:
            ray.get_actor(name, **where)
        except ValueError:
            return True
        return False
"""


class Head:
    """Starts heads, each in a temporary directory of its own, and ends them."""

    def __init__(self, backend, scripts, monkeypatch):
        self.backend, self.scripts = backend, scripts
        self.directory = tempfile.mkdtemp(prefix="h", dir="/tmp")  # short: real Ray has sockets there
        self.port = free_port()
        self.address = None
        monkeypatch.setenv("RAY_TMPDIR", self.directory)
        monkeypatch.delenv("RAY_ADDRESS", raising=False)

    def command(self, *arguments):
        module = "ray.scripts.scripts" if self.backend.is_ray else "rayshim"
        return subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, timeout=120)

    def start(self, *arguments):
        more = ["--disable-usage-stats", "--include-dashboard=false", f"--port={self.port}", "--object-store-memory=100000000"]
        made = self.command("start", "--head", "--num-cpus=4", *more, *arguments)
        assert made.returncode == 0, made.stdout + made.stderr
        shown = re.sub(r"\x1b\[[0-9;]*m", "", made.stdout)  # Ray may colour it, in a pipe, too
        host = next(line for line in shown.splitlines() if "Local node IP" in line).rpartition(":")[2].strip()
        self.address = f"{host}:{self.port}"
        return self

    def write(self, name, source):
        self.scripts.write(name, COUNTER + source)
        return name

    def run(self, source, *arguments):
        """What a driver with the class Counter prints; its arguments are `sys.argv[1:]`."""
        return self.scripts.finished(self.scripts.start(self.write("driver.py", source), *arguments))

    def start_driver(self, name, source, *arguments):
        return self.scripts.start(self.write(name, source), *arguments)

    def stop(self):
        if self.backend.is_ray:  # `ray stop` would end every cluster of this machine
            processes.end(processes.marked(self.scripts.mark))
        else:
            self.command("stop")
        shutil.rmtree(self.directory, ignore_errors=True)


@pytest.fixture
def head(backend, scripts, monkeypatch):
    head = Head(backend, scripts, monkeypatch)
    yield head
    head.stop()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_detached_actor_lives_across_drivers(head):
    head.start()
    first = head.run("""
    ray.init(address="auto", namespace="ours", log_to_driver=False)
    kept = Counter.options(name="kept", lifetime="detached").remote()
    plain = Counter.options(name="plain").remote()
    print(ray.get([kept.add.remote(3), plain.add.remote(), kept.namespace.remote()]))
    """)
    second = head.run("""
    ray.init(address="auto", namespace="ours", log_to_driver=False)
    print(ray.get(ray.get_actor("kept").add.remote()), gone("plain"))
    ray.kill(ray.get_actor("kept"))
    """)
    third = head.run("""
    ray.init(address="auto", namespace="ours", log_to_driver=False)
    print(gone("kept"))
    """)
    assert (first, second, third) == ("[3, 1, 'ours']\n", "4 True\n", "True\n")


def test_each_driver_has_a_namespace_of_its_own_unless_it_names_one(head):
    head.start()
    head.run("""
    ray.init(address="auto", log_to_driver=False)
    ray.get(Counter.options(name="a", lifetime="detached", namespace="there").remote().add.remote())
    ray.get(Counter.options(name="b", lifetime="detached").remote().add.remote())
    """)
    assert head.run("""
    ray.init(address="auto", log_to_driver=False)
    print(gone("a"), gone("b"), gone("a", namespace="there"))
    """) == "True True False\n"


def test_drivers_at_the_same_time_share_the_actors_and_the_cpus(head):
    head.start()
    source = """
    me, other = sys.argv[1:]
    ray.init(address="auto", namespace="ours", log_to_driver=False)
    counter = Counter.options(name="counter", lifetime="detached", get_if_exists=True).remote()
    mine = Counter.remote()
    for _ in range(50):
        ray.get([counter.add.remote(), mine.add.remote()])
    open(me, "w").close()
    while not os.path.exists(other):
        time.sleep(0.01)
    print(ray.get(counter.add.remote(0)), ray.get(mine.add.remote(0)), ray.cluster_resources()["CPU"])
    """
    drivers = [head.start_driver(f"{names[0]}.py", source, *names) for names in (("a", "b"), ("b", "a"))]
    assert [head.scripts.finished(driver) for driver in drivers] == ["100 50 4.0\n"] * 2


def test_a_killed_driver_ends_what_is_its_own_and_nothing_else(head):
    head.start()
    first = head.start_driver("first.py", """
    ray.init(address="auto", namespace="ours", log_to_driver=False)

    @ray.remote
    def stay():
        time.sleep(1000)

    kept = Counter.options(name="kept", lifetime="detached", num_cpus=0).remote(child=True)
    plain = Counter.options(name="plain", num_cpus=1).remote()
    print(ray.get([kept.add.remote(), plain.add.remote()]))
    refs = [stay.remote() for _ in range(20)]
    while ray.available_resources().get("CPU", 0) > 0:
        time.sleep(0.01)
    print("ready", flush=True)
    time.sleep(1000)
    """)
    first.wait_for("ready", 60)
    first.process.kill()
    assert head.run("""
    ray.init(address="auto", namespace="ours", log_to_driver=False)
    while ray.available_resources().get("CPU", 0) < 4:
        time.sleep(0.01)
    while not gone("plain"):
        time.sleep(0.01)
    print(ray.get(ray.get_actor("kept").add.remote()), ray.get(ray.get_actor("child").add.remote()))

    @ray.remote
    def f(i):
        return i

    print(ray.get([f.remote(i) for i in range(10)]))
    """) == "2 1\n[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n"


def test_a_driver_that_leaves_may_come_again(head):
    head.start()
    assert head.run("""
    for i in range(3):
        ray.init(address="auto", namespace="ours", log_to_driver=False)
        counter = Counter.options(name="counter", lifetime="detached", get_if_exists=True).remote()
        plain = Counter.options(name="plain").remote()
        print(ray.get([counter.add.remote(), plain.add.remote()]))
        ray.shutdown()
    """) == "[1, 1]\n[2, 1]\n[3, 1]\n"


def test_a_parameter_server_is_made_trained_and_evaluated_by_three_drivers(head):
    head.start()
    make = """
    ray.init(address="auto", namespace="train", log_to_driver=False)

    @ray.remote
    class Parameters:
        def __init__(self, size):
            import numpy as np
            self.values = np.zeros(size)

        def apply(self, step):
            self.values = self.values + step
            return float(self.values.sum())

        def get(self):
            return self.values

    server = Parameters.options(name="parameters", lifetime="detached").remote(1000)
    print(ray.get(server.get.remote()).sum())
    """
    train = """
    import numpy as np
    ray.init(address="auto", namespace="train", log_to_driver=False)

    @ray.remote
    def gradient(values, seed):
        return np.random.default_rng(seed).normal(size=values.shape) - 0.1 * values

    server = ray.get_actor("parameters")
    for i in range(5):
        values = server.get.remote()
        steps = ray.get([gradient.remote(values, 10 * i + k) for k in range(3)])
        total = ray.get(server.apply.remote(sum(steps)))
    print(round(total, 6))
    """
    evaluate = """
    ray.init(address="auto", namespace="train", log_to_driver=False)
    print(round(float(ray.get(ray.get_actor("parameters").get.remote()).sum()), 6))
    """
    values = np.zeros(1000)
    for i in range(5):
        values = values + sum(np.random.default_rng(10 * i + k).normal(size=1000) - 0.1 * values for k in range(3))
    trained = f"{round(float(values.sum()), 6)}\n"
    assert [head.run(source) for source in (make, train, evaluate)] == ["0.0\n", trained, trained]


def test_init_without_an_address_attaches_to_the_head_that_runs(head):
    head.start()
    assert head.run("""
    context = ray.init(namespace="ours", log_to_driver=False)
    print(context.address_info["address"], ray.cluster_resources()["CPU"])
    """) == f"{head.address} 4.0\n"


def test_the_variable_ray_address_names_the_head(head, monkeypatch):
    head.start()
    monkeypatch.setenv("RAY_ADDRESS", head.address)
    for address in ("", "address='auto'"):
        assert head.run(f"""
    print(ray.init({address}).address_info["gcs_address"])
    """) == f"{head.address}\n"


def test_local_is_a_session_of_the_programs_own(head):
    head.start()
    assert head.run("""
    ray.init(address="local", num_cpus=3, log_to_driver=False)
    print(ray.cluster_resources()["CPU"])
    """) == "3.0\n"


@pytest.mark.parametrize("argument", ["num_cpus=1", "num_gpus=0", "resources={'lamp': 1}", "object_store_memory=100000000",
                                      "labels={'a': 'b'}", "_system_config={'a': 1}"])
def test_what_belongs_to_the_session_cannot_be_given_by_a_driver(head, argument):
    head.start()
    assert head.run(f"""
    try:
        ray.init(address="auto", {argument})
    except ValueError as error:
        print(str(error).partition(" must not be")[0])
    """).startswith("When connecting to an existing cluster, ")


def test_without_a_head_auto_finds_nothing(head):
    if head.backend.is_ray:
        pytest.skip("real Ray finds the clusters of every program on this machine")
    assert head.run("""
    try:
        ray.init(address="auto")
    except ConnectionError as error:
        print(error)
    """).startswith("Could not find any running Ray instance. Please specify the one to connect to by setting ")


def test_a_second_head_with_the_same_port_is_refused(head):
    head.start()
    made = head.command("start", "--head", f"--port={head.port}", "--include-dashboard=false", "--disable-usage-stats")
    assert made.returncode != 0
    assert "already running" in made.stdout + made.stderr


def test_workers_find_the_modules_beside_the_drivers_script(head):
    head.start()
    head.scripts.write("there/own_module.py", "def f():\n    return 'own'\n")
    head.scripts.write("there/driver.py", """
    import ray
    import own_module

    @ray.remote
    def f():
        return own_module.f()

    ray.init(address="auto", log_to_driver=False)
    print(ray.get(f.remote()))
    """)
    assert head.scripts.finished(head.scripts.start("there/driver.py")) == "own\n"


def test_drivers_do_not_share_their_environments(head):
    head.start()
    for name in ("one", "two"):
        assert head.run("""
    ray.init(address="auto", runtime_env={"env_vars": {"WHO": sys.argv[1]}}, log_to_driver=False)

    @ray.remote
    def who():
        return os.environ["WHO"], ray.get_runtime_context().get_job_id()

    @ray.remote
    def nested():
        return ray.get(who.remote())

    name, job = ray.get(nested.remote())
    print(name, job == ray.get_runtime_context().get_job_id())
    """, name) == f"{name} True\n"


def test_workers_output_goes_to_their_own_driver(head):
    head.start()
    source = """
    me, other = sys.argv[1:]
    ray.init(address="auto")

    @ray.remote
    def tell():
        print(f"worker of {me}", flush=True)

    ray.get(tell.remote())
    open(me, "w").close()
    while not os.path.exists(other):
        time.sleep(0.01)
    time.sleep(1)
    """
    drivers = {names[0]: head.start_driver(f"{names[0]}.py", source, *names) for names in (("a", "b"), ("b", "a"))}
    for name, driver in drivers.items():
        driver.finish(60)
        told = driver.out + driver.err
        assert f"worker of {name}" in told
        assert sum(f"worker of {other}" in told for other in drivers) == 1
