"""Every test here runs on real Ray, which is the specification, and on each placement of rayshim."""

import contextlib
import gc
import importlib
import os
import sys
import time
import uuid
from importlib.util import find_spec

os.environ["RAY_AUTH_MODE"] = "disabled"

import pytest  # noqa: E402

from compat_tests import processes, seen_on_ray  # noqa: E402
from compat_tests.backends import BACKENDS  # noqa: E402
from compat_tests.gate import new_gate  # noqa: E402
from compat_tests.scripts import Scripts  # noqa: E402

MARKERS = {
    "needs_processes": "the outcome is about processes; inline has only one",
    "needs_own_processes": "the outcome is about an actor's own process; packed actors share theirs",
    "needs_concurrency": "the outcome is about work beside the driver; inline runs each call to its end first",
    "torch": "the driver imports torch; run last, because rayshim's workers then import it at each init",
    "rayshim_only": "a promise that Ray does not make",
}


def pytest_addoption(parser):
    parser.addoption("--backends", help="comma-separated, of: " + ", ".join(BACKENDS)
                     + "; default: all, Ray only for modules not in seen_on_ray.txt as they are now")
    parser.addoption("--record-ray", action="store_true", help="write to seen_on_ray.txt which whole modules Ray has passed")


def pytest_configure(config):
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    config.addinivalue_line("filterwarnings", "ignore::FutureWarning:ray")
    asked = (config.getoption("--backends") or ",".join(BACKENDS)).split(",")
    if unknown := set(asked) - set(BACKENDS):
        raise pytest.UsageError(f"--backends: no {', '.join(sorted(unknown))}; there are {', '.join(BACKENDS)}")
    config.backends = [BACKENDS[name] for name in asked if BACKENDS[name].installed]
    config.missing = [BACKENDS[name] for name in asked if not BACKENDS[name].installed]
    if not config.backends:
        raise pytest.UsageError("compat_tests: neither Ray nor rayshim can be imported")
    again = config.getoption("--backends") or config.getoption("--record-ray") or BACKENDS["ray"] not in config.backends
    config.seen_on_ray = set() if again else seen_on_ray.modules()
    if config.getoption("--record-ray") and not hasattr(config, "workerinput"):
        if config.option.keyword or config.option.markexpr or any("::" in argument for argument in config.args):
            raise pytest.UsageError("--record-ray is for whole modules: leave out -k, -m and names of tests")
        config.pluginmanager.register(seen_on_ray.Recorder())


def pytest_terminal_summary(terminalreporter, config):
    for backend in config.missing:
        terminalreporter.write_line(f"compat_tests on {backend.name}: skipped, {backend.package} is not installed")
    if config.seen_on_ray:
        terminalreporter.write_line(f"compat_tests on ray: not run again for {len(config.seen_on_ray)} modules that it has "
                                    "passed as they are; make test-ray runs them all")


def pytest_generate_tests(metafunc):
    if "backend" in metafunc.fixturenames:
        # A promise of one side is no test of the other, not even a skipped one.
        own = metafunc.definition.get_closest_marker("rayshim_only") is not None
        chosen = [backend for backend in metafunc.config.backends if not (own and backend.is_ray)]
        metafunc.parametrize("backend", chosen, ids=lambda backend: backend.name, scope="session")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """One backend after the other, on each first what shares a cluster, then what starts its own; torch at the end."""
    mine = [item for item in items if "backend" in getattr(item, "fixturenames", ())]
    others = [item for item in items if "backend" not in getattr(item, "fixturenames", ())]
    # A promise of a side that is not here leaves a test without a backend.
    idle = [item for item in mine if _backend(item) not in config.backends
            or _backend(item).is_ray and item.path.name in config.seen_on_ray]
    mine = [item for item in mine if item not in set(idle)]
    if "torch" in sys.modules:
        raise pytest.UsageError("a test module imports torch when it is collected: each test's workers would import it too")
    for item in mine:
        if item.get_closest_marker("torch") and find_spec("torch") is None:
            item.add_marker(pytest.mark.skip(reason="torch is not installed"))
        lacking = ["needs_processes", "needs_own_processes", "needs_concurrency"] if _backend(item).is_serial else []
        lacking += ["needs_own_processes"] if _backend(item).shares_processes else []
        for name in lacking:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=MARKERS[name]))
        item.user_properties.append(("backend", _backend(item).name))
        if _backend(item).is_ray:  # that it is slow on a busy machine, or fails now and then, is no failure of rayshim
            item.add_marker(pytest.mark.flaky(reruns=2))
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(180))
    mine.sort(key=lambda item: (
        item.get_closest_marker("torch") is not None,
        config.backends.index(_backend(item)),
        not _shares_a_session(item),
    ))
    config.hook.pytest_deselected(items=idle)
    items[:] = others + mine


def _backend(item):
    return item.callspec.params["backend"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.failed = getattr(item, "failed", False) or report.failed
    return report


class SharedCluster:
    """The one session, or Ray cluster, of the tests that need nothing special: to start one for each takes more time than most of them."""

    def __init__(self):
        self._backend = None
        self._torch = False
        self._at_end = contextlib.ExitStack()

    def start(self, backend, torch=False):
        """Have a session of `backend`; with `torch` one whose workers have it from their start, if rayshim's driver has."""
        torch = torch and not backend.is_ray
        if self._backend is backend and self._torch == torch and backend.module.is_initialized():
            return
        self.stop()
        if torch:
            importlib.import_module("torch")
        self._backend, self._torch = backend, torch
        if not backend.is_ray:
            self._at_end.enter_context(_nothing_left_behind())
        self._at_end.callback(backend.module.shutdown)
        backend.init_full()
        self._resources = backend.module.cluster_resources()

    def stop(self):
        self._backend = None
        self._at_end.close()

    def tidy(self):
        """Leave nothing of a test to the next one: no actor, no placement group, no call that runs; a session that keeps something ends."""
        if self._backend.is_ray:
            self._tidy_ray()
        elif not self._tidied():
            self.stop()

    def _tidied(self):
        ray = self._backend.module
        if not ray.is_initialized() or any(group["state"] != "REMOVED" for group in ray.util.placement_group_table().values()):
            return False
        for actor in ray.util.list_named_actors(all_namespaces=True):
            ray.kill(ray.get_actor(**actor))
        deadline = time.monotonic() + 1.0
        while ray.available_resources() != self._resources or ray.util.state.list_actors(filters=[("state", "!=", "DEAD")]):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def _tidy_ray(self):
        """An actor with a name stays, and one in a compiled graph looks for input all the time."""
        from ray._private.state import actors
        from ray._private.worker import global_worker

        for number, entry in actors().items():
            if entry["State"] != "DEAD":
                with contextlib.suppress(self._backend.module.exceptions.ActorHandleNotFoundError):  # it has died meanwhile
                    global_worker.core_worker.kill_actor(self._backend.module.ActorID.from_hex(number), True)


@pytest.fixture(scope="session")
def cluster():
    cluster = SharedCluster()
    yield cluster
    cluster.stop()


def _shares_a_session(item):
    """A promise of rayshim alone may be about what a new session does; inline placement starts nothing."""
    backend = _backend(item)
    return "ray" in item.fixturenames and (backend.is_ray or not backend.is_serial and item.get_closest_marker("rayshim_only") is None)


@pytest.fixture
def ray(backend, cluster, request):
    """Ray's API, initialised as by `Backend.init_full`, and no other test's actors; the session may have served other tests before."""
    if _shares_a_session(request.node):
        cluster.start(backend, torch=request.node.get_closest_marker("torch") is not None)
        yield backend.module
        gc.collect()
        if request.node.failed:
            cluster.stop()
        else:
            cluster.tidy()
        return
    cluster.stop()
    with _nothing_left_behind():
        backend.init_full()
        yield backend.module
        backend.module.shutdown()


@pytest.fixture
def bare_ray(backend, cluster):
    """Ray's API, not initialised; the test may call `backend.init` and need not call `shutdown`."""
    cluster.stop()
    if backend.is_ray:
        yield backend.module
        backend.module.shutdown()
        return
    with _nothing_left_behind():
        yield backend.module
        backend.module.shutdown()


@pytest.fixture
def scripts(backend, cluster, tmp_path):
    """Runs drivers of their own; none of their processes may outlive the test."""
    cluster.stop()
    with _nothing_left_behind(seconds=20.0 if backend.is_ray else 5.0) as mark:
        scripts = Scripts(backend, tmp_path, mark)
        yield scripts
        scripts.stop()


@pytest.fixture
def gate(tmp_path):
    """A closed gate for tasks that are to be busy; opened at the latest when the test ends."""
    gate = new_gate(tmp_path / "gate")
    yield gate
    gate.open()


class _nothing_left_behind:
    """Marks the processes started within, and fails if one outlives the block by `seconds`."""

    def __init__(self, seconds=2.0):
        self.seconds = seconds
        self.mark = uuid.uuid4().hex

    def __enter__(self):
        os.environ[processes.MARK] = self.mark
        return self.mark

    def __exit__(self, kind, error, traceback):
        del os.environ[processes.MARK]
        try:
            if kind is None:
                processes.wait_until(lambda: not processes.marked(self.mark), self.seconds, "no process is left behind")
        finally:
            processes.end(processes.marked(self.mark))
