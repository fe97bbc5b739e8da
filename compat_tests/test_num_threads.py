"""How many threads numeric libraries use in a worker: OMP_NUM_THREADS and what follows from it."""

import os
import re
import subprocess
import sys

import pytest

VARIABLE = "OMP_NUM_THREADS"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    for name in (VARIABLE, "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def own_ray(nothing_said, bare_ray, backend):
    backend.init(num_cpus=8, log_to_driver=False)
    return bare_ray


def said():
    return os.environ.get(VARIABLE)


def numpy_threads():
    """Threads of the OpenBLAS that numpy brings; None if it has another library."""
    import ctypes

    import numpy  # noqa: F401

    with open("/proc/self/maps") as file:
        paths = sorted({line.split()[-1] for line in file if re.search("numpy.libs/.*openblas", line)})
    if not paths:
        return None
    library = ctypes.CDLL(paths[0])
    get = getattr(library, "scipy_openblas_get_num_threads64_", None) or getattr(library, "openblas_get_num_threads", None)
    return get and get()


def available(count):
    return min(count, len(os.sched_getaffinity(0)))


class Worker:
    """An actor that tells what it had in its constructor, and what it has."""

    def __init__(self):
        self.first = said()

    def said(self):
        return self.first, said()

    def numpy(self):
        return numpy_threads()

    def torch(self):
        import torch

        return torch.get_num_threads()

    def torch_after(self, count):
        import torch

        torch.set_num_threads(count)
        return torch.get_num_threads()

    def of_child(self):
        return subprocess.run([sys.executable, "-c", f"import os; print(os.environ.get('{VARIABLE}'))"], capture_output=True, text=True).stdout.strip()

    def die(self):
        os._exit(1)


ASKED = [({}, 1), ({"num_cpus": 0}, 1), ({"num_cpus": 0.5}, 1), ({"num_cpus": 1}, 1), ({"num_cpus": 2}, 2), ({"num_cpus": 2.5}, 2), ({"num_cpus": 4}, 4)]


def test_an_actor_has_as_many_threads_as_cpus_rounded_down_and_one_at_least(own_ray):
    actors = own_ray.remote(Worker)
    for options, count in ASKED:
        actor = actors.options(**options).remote() if options else actors.remote()
        assert own_ray.get(actor.said.remote()) == (str(count), str(count)), options
        assert own_ray.get(actor.of_child.remote()) == str(count), options
        assert own_ray.get(actor.numpy.remote()) in (available(count), None), options
        del actor  # its CPUs are the next one's


def test_tasks_after_each_other_have_each_its_own(own_ray):
    task = own_ray.remote(said)
    for options, count in [*ASKED, ({}, 1)]:
        assert own_ray.get((task.options(**options) if options else task).remote()) == str(count), options


def test_a_generator_task_has_its_own(own_ray):
    @own_ray.remote(num_cpus=3)
    def yields():
        yield said()
        yield said()

    assert [own_ray.get(ref) for ref in yields.remote()] == ["3", "3"]
    assert own_ray.get(own_ray.remote(said).remote()) == "1"


def test_an_actor_in_a_placement_group_has_as_many_as_cpus_too(own_ray, backend):
    from importlib import import_module

    group = import_module(f"{backend.package}.util.placement_group").placement_group([{"CPU": 3}])
    strategy = import_module(f"{backend.package}.util.scheduling_strategies").PlacementGroupSchedulingStrategy(group)
    actor = own_ray.remote(Worker).options(num_cpus=3, scheduling_strategy=strategy).remote()
    assert own_ray.get(actor.said.remote()) == ("3", "3")
    assert own_ray.get(own_ray.remote(said).options(num_cpus=0, scheduling_strategy=strategy).remote()) == "1"


def test_what_a_runtime_environment_says_holds_whatever_the_cpus(own_ray):
    env = {"env_vars": {VARIABLE: "2"}}
    for cpus in (1, 4):
        actor = own_ray.remote(Worker).options(num_cpus=cpus, runtime_env=env).remote()
        assert own_ray.get(actor.said.remote()) == ("2", "2")
        assert own_ray.get(actor.numpy.remote()) in (available(2), None)
        assert own_ray.get(own_ray.remote(said).options(num_cpus=cpus, runtime_env=env).remote()) == "2"
    assert own_ray.get(own_ray.remote(Worker).remote().said.remote()) == ("1", "1")


def test_what_the_sessions_runtime_environment_says_holds_whatever_the_cpus(bare_ray, backend):
    backend.init(num_cpus=8, log_to_driver=False, runtime_env={"env_vars": {VARIABLE: "2"}})
    assert bare_ray.get(bare_ray.remote(said).options(num_cpus=4).remote()) == "2"
    actor = bare_ray.remote(Worker).options(num_cpus=4).remote()
    assert bare_ray.get([actor.said.remote(), actor.numpy.remote()]) in ([("2", "2"), available(2)], [("2", "2"), None])


def test_what_the_program_has_said_before_init_holds_whatever_the_cpus(bare_ray, backend, monkeypatch):
    monkeypatch.setenv(VARIABLE, "3")
    backend.init(num_cpus=8, log_to_driver=False)
    assert bare_ray.get(bare_ray.remote(said).options(num_cpus=2).remote()) == "3"
    assert bare_ray.get(bare_ray.remote(Worker).options(num_cpus=4).remote().said.remote()) == ("3", "3")
    assert os.environ[VARIABLE] == "3"


def test_what_a_setup_hook_says_holds_whatever_the_cpus(bare_ray, backend):
    def hook():
        os.environ["COMPAT_SAID_BEFORE"] = str(os.environ.get("OMP_NUM_THREADS"))
        os.environ["OMP_NUM_THREADS"] = "2"

    if backend.is_serial:
        pytest.skip("inline runs the hook in the driver")
    backend.init(num_cpus=8, log_to_driver=False, runtime_env={"worker_process_setup_hook": hook})
    assert bare_ray.get(bare_ray.remote(Worker).options(num_cpus=4).remote().said.remote()) == ("2", "2")
    assert bare_ray.get(bare_ray.remote(lambda: os.environ.get("COMPAT_SAID_BEFORE")).remote()) == "None"


def test_an_actor_that_is_made_anew_has_as_many_as_before(own_ray, backend):
    actor = own_ray.remote(Worker).options(num_cpus=2, max_restarts=1, max_task_retries=1).remote()
    assert own_ray.get(actor.said.remote()) == ("2", "2")
    if backend.is_serial:
        own_ray.kill(actor, no_restart=False)
    else:
        with pytest.raises(own_ray.exceptions.RayActorError):
            own_ray.get(actor.die.options(max_task_retries=0).remote())
    assert own_ray.get(actor.said.remote()) == ("2", "2")
    assert own_ray.get(actor.numpy.remote()) in (available(2), None)


def test_the_driver_has_what_it_had(own_ray):
    actor = own_ray.remote(Worker).remote()
    own_ray.get([actor.numpy.remote(), own_ray.remote(said).options(num_cpus=2).remote()])
    assert said() is None
    assert numpy_threads() in (available(sys.maxsize), None)


@pytest.mark.torch
def test_torch_that_the_driver_has_imported_has_as_many_threads_in_a_worker_as_it_has_cpus(own_ray):
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    actors = own_ray.remote(Worker)
    for cpus in (1, 2, 4):
        actor = actors.options(num_cpus=cpus).remote()
        assert own_ray.get(actor.torch.remote()) == min(cpus, before)
        assert torch.get_num_threads() == before
    actor = actors.options(num_cpus=4, runtime_env={"env_vars": {VARIABLE: "1"}}).remote()
    assert own_ray.get(actor.torch.remote()) == 1


@pytest.mark.torch
@pytest.mark.needs_own_processes
def test_a_number_that_an_actor_has_set_is_its_own(own_ray):
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    actors = own_ray.remote(Worker)
    first, other = actors.remote(), actors.remote()
    assert own_ray.get([other.torch.remote(), first.torch_after.remote(3), other.torch.remote(), first.torch.remote()]) == [1, 3, 1, 3]
    assert torch.get_num_threads() == before


@pytest.mark.torch
@pytest.mark.rayshim_only
def test_tasks_after_each_other_in_one_worker_have_torch_use_as_many_as_each_has_cpus(own_ray):
    torch = pytest.importorskip("torch")

    @own_ray.remote
    def threads():
        import torch

        return torch.get_num_threads(), numpy_threads()

    for cpus in (1, 2, 1, 4, 0):
        count, of_numpy = own_ray.get(threads.options(num_cpus=cpus).remote())
        assert count == min(max(cpus, 1), torch.get_num_threads())
        assert of_numpy in (available(max(cpus, 1)), None)
