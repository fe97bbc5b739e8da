"""What holds for all tests."""

import gc
import importlib.machinery
import os
import signal
import sys

import pytest

# A call that has failed is run again at once; the tests of the pause before it set this themselves.
os.environ.setdefault("RAY_task_retry_delay_ms", "0")
_breakpoint = os.environ.get("PYTHONBREAKPOINT")


def pytest_configure(config):
    """What a shell starts in the background ignores SIGINT, and so would each process of the tests: on real Ray no running task could be cancelled.
    What `nohup` starts ignores SIGHUP."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        # What the tests start has the default, and they go on when the terminal closes.
        signal.signal(signal.SIGHUP, lambda *_: None)
    sys.meta_path.insert(0, LaidAside())


def pytest_collection_finish():
    spare_modules()


_spared = 0  # number of modules when their objects were last spared


def spare_modules():
    """Spares `gc.collect()`, which many tests call, the objects of the modules: half a million of the tests', and as many of the libraries' that
    tests import. They stay to the end."""
    global _spared
    if len(sys.modules) > _spared + 50:
        gc.collect()
        gc.freeze()
        _spared = len(sys.modules)


class LaidAside:
    """A test that imports torch leaves it to itself alone: where the driver has it, every zygote imports it too, which takes more than a second.

    A module cannot be imported twice in a process. So it is taken from `sys.modules` after the test and found here when it is imported again.
    """

    modules = {}  # noqa: RUF012

    @classmethod
    def lay_aside(cls, name):
        if name in sys.modules:
            module = sys.modules.pop(name)
            cls.modules[name] = module, module.__spec__

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name in self.modules else None

    def create_module(self, spec):
        return self.modules[spec.name][0]

    def exec_module(self, module):
        module.__spec__ = self.modules[module.__name__][1]
        module.__loader__ = module.__spec__.loader


_shared = []  # the sessions that tests of compat_tests share


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup():
    value = yield
    if type(value).__name__ == "SharedCluster":
        _shared.append(value)
    return value


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Such a session has ended where a test begins that does not know of it: an idle process of pytest takes tests of any kind over."""
    if "backend" not in getattr(item, "fixturenames", ()):
        for cluster in _shared:
            cluster.stop()


def pytest_itemcollected(item):
    """A warning is an error, except on real Ray: there it is Ray's, or is about a use of it that rayshim has to take as Ray does."""
    backend = item.callspec.params.get("backend") if hasattr(item, "callspec") else None
    if getattr(backend, "is_ray", False):
        item.add_marker(pytest.mark.filterwarnings("default"), append=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    try:
        return (yield)
    finally:
        LaidAside.lay_aside("torch")
        spare_modules()
        if _breakpoint is None:
            # Real Ray sets it for its driver, and programs of later tests would inherit it.
            os.environ.pop("PYTHONBREAKPOINT", None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    """The value of a fixture is gone when the fixture is finished: pytest keeps it as an argument of the test, and an actor in it would live on."""
    getattr(item, "funcargs", {}).clear()


def pytest_terminal_summary(terminalreporter):
    """Why a test failed that then passed: pytest-rerunfailures gives its name alone."""
    reports = terminalreporter.getreports("rerun")
    if reports:
        terminalreporter.write_sep("=", "failed first")
    for report in reports:
        terminalreporter.write_sep("_", report.nodeid)
        terminalreporter.write_line(report.longreprtext)
        for title, text in report.sections:
            terminalreporter.write_sep("-", title)
            terminalreporter.write_line(text)


@pytest.fixture(scope="module")
def zygote_has_pytest():
    """For a module whose workers import it, since they read its classes and functions there, and with it pytest: that takes a tenth of a
    second, which sessions begun after this spend once, not in each worker."""
    from rayshim.api import start

    with pytest.MonkeyPatch.context() as patch:
        found = start.slow_imports
        patch.setattr(start, "slow_imports", lambda *given, **how: [*found(*given, **how), "pytest"])
        yield
