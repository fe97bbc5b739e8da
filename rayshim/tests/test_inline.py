"""Inline placement: actors and tasks in the driver's process, each with what would be its own."""

import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from reactor import _core
from reactor.runtime.processes import library_threads

import rayshim as ray
from rayshim.session import session


@pytest.fixture
def inline(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    ray.init(placement="inline")
    yield
    ray.shutdown()


def printed(program, placement):
    return subprocess.run(
        [sys.executable, "-c", program, placement], capture_output=True, text=True, timeout=200, check=True
    ).stdout


def test_an_end_of_the_session_in_a_call_is_that_of_a_worker_and_ends_nothing(inline):
    @ray.remote
    class Ends:
        def end(self):
            ray.shutdown()
            return ray.is_initialized()

    ends = Ends.remote()
    assert ray.get(ends.end.remote()) is True
    assert ray.get(ends.end.remote()) is True


def test_of_actors_that_are_gone_no_class_is_kept(inline):
    @ray.remote
    class Passing:
        def class_of(self):
            return id(type(self))

    def kept():
        gc.collect()  # a class is always part of a cycle
        return len(session.current.exports)

    ray.get(Passing.remote().class_of.remote())
    before = kept()
    for _ in range(20):
        ray.get(Passing.remote().class_of.remote())
    assert kept() == before
    together = [Passing.remote() for _ in range(3)]
    assert len({ray.get(actor.class_of.remote()) for actor in together}) == 3


def test_an_actor_that_makes_actors_of_its_class_leaves_no_class(inline):
    class Plain:
        def more(self):
            return ray.get(Parent.remote().one.remote())

        def one(self):
            return 1

    Parent = ray.remote(Plain)
    kept = []
    for _ in range(3):
        assert ray.get(Parent.remote().more.remote()) == 1
        gc.collect()  # a class is always part of a cycle
        kept.append(len(session.current.exports))
    assert len(set(kept)) == 1


@pytest.mark.parametrize("placement", ["isolated", "inline"])
def test_an_actor_that_is_created_again_has_a_new_class(placement):
    @ray.remote(max_restarts=1, max_task_retries=1)
    class Counting:
        def __init__(self):
            cls = type(self)
            cls.made = getattr(cls, "made", 0) + 1

        def count(self):
            return type(self).made

    with ray.init(placement=placement):
        actor = Counting.remote()
        assert ray.get(actor.count.remote()) == 1
        ray.kill(actor, no_restart=False)
        assert ray.get(actor.count.remote()) == 1


def test_calls_of_threads_overlap_and_leave_the_driver_as_it_was(inline):
    class Setting:
        pass

    @ray.remote
    class Slow:
        def setting(self, seconds):
            time.sleep(seconds)
            return Setting()

    actors = [Slow.remote() for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        settings = list(threads.map(lambda n: ray.get(actors[n % 8].setting.remote(0.001 * (n % 3))), range(40)))
    assert {type(setting) for setting in settings} == {Setting}
    assert type(ray.get(ray.put(Setting()))) is Setting
    assert _core.running_uid() == _core.running_actor() == 0
    with ThreadPoolExecutor(1) as threads:
        going = threads.submit(lambda: ray.get(actors[0].setting.remote(0.1)))
        while not _core.running_actor():
            time.sleep(0.001)
        assert type(ray.get(ray.put(Setting()))) is Setting
        assert type(going.result()) is Setting


def test_a_task_goes_on_with_what_it_has_imported_after_a_nested_one():
    program = textwrap.dedent("""
        import sys
        import rayshim as ray

        ray.init(placement=sys.argv[1], seed=3)

        @ray.remote
        def inner():
            import random

            return random.random()

        @ray.remote
        def outer():
            import torch

            torch.manual_seed(5)
            return ray.get(inner.remote()), torch.rand(2).tolist()

        print(ray.get(outer.remote()))
    """)
    assert printed(program, "inline") == printed(program, "isolated")


@pytest.mark.parametrize("placement", ["isolated", "packed", "inline"])
def test_what_an_actor_imports_is_imported_again_in_each_of_the_others(placement):
    program = textwrap.dedent("""
        import json
        import sys
        import rayshim as ray

        ray.init(placement=sys.argv[1])

        @ray.remote
        class Draws:
            def draw(self, seed=None):
                import torch

                if seed is not None:
                    torch.manual_seed(seed)
                return torch.rand(2).tolist() + torch.randn(1).tolist()

        seeded, *others = [Draws.remote() for _ in range(4)]
        assert "torch" not in sys.modules
        first, *drawn = ray.get([seeded.draw.remote(5), *(actor.draw.remote() for actor in others), seeded.draw.remote()])
        import torch

        drawn += [torch.rand(2).tolist(), *ray.get([actor.draw.remote() for actor in others])]
        again = drawn.pop(3)
        torch.manual_seed(5)
        expected = [torch.rand(2).tolist() + torch.randn(1).tolist() for _ in range(2)]
        print(json.dumps([[first, again] == expected, len({values[0] for values in drawn})]))
    """)
    assert json.loads(printed(program, placement)) == [True, 7]


SUMS = """
import sys
import torch
import rayshim as ray

values = torch.rand(2_000_003, generator=torch.Generator().manual_seed(3))
matrix = torch.rand(301, 301, generator=torch.Generator().manual_seed(4))

def sums():
    return values.sum().item(), values.cumsum(0).std().item(), (matrix @ matrix).sum().item()

class Summing:
    def sums(self):
        return sums()

    def sums_with(self, threads):
        torch.set_num_threads(threads)
        return sums()

in_driver = sums()
ray.init(placement=sys.argv[1], num_cpus=8, logging_level="ERROR")
actors = [ray.remote(Summing).options(num_cpus=cpus).remote() for cpus in (1, 2)]
print(ray.get([actor.sums.remote() for actor in actors]))
print(ray.get([ray.remote(sums).options(num_cpus=cpus).remote() for cpus in (1, 2, 1)]))
print(ray.get([actors[0].sums_with.remote(2), actors[1].sums.remote(), actors[0].sums.remote()]))
print(in_driver, sums() == in_driver)
"""


def test_sums_over_arrays_are_the_same_to_the_last_bit_as_in_workers_and_the_drivers_are_not_changed():
    pytest.importorskip("torch")
    inline = printed(SUMS, "inline")
    assert inline.endswith("True\n")
    assert inline == printed(SUMS, "isolated")


def test_each_actor_and_the_driver_has_its_own_number_of_threads(inline):
    torch = pytest.importorskip("torch")

    @ray.remote
    class Counts:
        def set(self, count):
            torch.set_num_threads(count)

        def get(self):
            return torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")

    @ray.remote
    class Asks:
        def ask(self, other):
            before = torch.get_num_threads()
            return before, ray.get(other.get.remote()), torch.get_num_threads()

    before = torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")
    one, other, asks = Counts.remote(), Counts.remote(), Asks.remote()
    ray.get(one.set.remote(5))
    assert ray.get([one.get.remote(), other.get.remote(), asks.ask.remote(one)]) == [
        (5, "1"),
        (1, "1"),
        (1, (5, "1"), 1),
    ]
    torch.set_num_threads(3)
    try:
        assert ray.get(other.get.remote()) == (1, "1")
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before[0])
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda actor: ray.get(actor.get.remote())[1], [one, other] * 20)) == ["1"] * 40
    assert (torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")) == before


def test_the_drivers_own_number_of_threads_stays_whichever_of_its_threads_called_an_actor_or_ended_one(inline):
    torch = pytest.importorskip("torch")

    @ray.remote
    class Counts:
        def set(self, count):
            torch.set_num_threads(count)

        def get(self):
            return torch.get_num_threads()

    before = torch.get_num_threads()
    one, other = Counts.remote(), Counts.remote()
    ray.get(one.set.remote(5))
    try:
        for mine in (3, 2):
            torch.set_num_threads(mine)
            with ThreadPoolExecutor(2) as pool:
                assert set(pool.map(lambda actor: ray.get(actor.get.remote()), [one] * 20)) == {5}
            assert torch.get_num_threads() == mine
        del one
        assert torch.get_num_threads() == 2
        ray.get(other.set.remote(4))
        assert torch.get_num_threads() == 2
        del other
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_the_drivers_number_of_blas_threads_stays_though_its_threads_call_actors_side_by_side(inline):
    import numpy  # noqa: F401

    def openblas():
        return [library for library in library_threads.libraries() if "OPENBLAS_NUM_THREADS" in library.variables]

    def numbers():
        return [library.get() for library in openblas()], os.environ.get(library_threads.OPENMP)

    if not (blas := openblas()):
        pytest.skip("numpy has another library")

    @ray.remote
    class Slow:
        def numbers(self, seconds):
            first = numbers()
            time.sleep(seconds)
            return first

    before = [library.get() for library in blas]
    actors = [Slow.options(num_cpus=1 + n % 2).remote() for n in range(8)]
    count = min(2, len(os.sched_getaffinity(0)))
    try:
        for mine in (count, 1):
            for library in blas:
                library.set(mine)
            with ThreadPoolExecutor(8) as pool:
                seen = list(pool.map(lambda n: ray.get(actors[n % 8].numbers.remote(0.001 * (n % 3))), range(80)))
            assert {variable for _, variable in seen} == {"1", "2"}
            assert numbers() == ([mine] * len(blas), None)
        ray.shutdown()
        assert numbers() == ([1] * len(blas), None)
    finally:
        for library, number in zip(blas, before, strict=True):
            library.set(number)


IMPORTS = """
import os, sys
import rayshim as ray
from reactor.runtime.processes import library_threads

@ray.remote
class Imports:
    def threads(self):
        import numpy, torch
        return torch.get_num_threads()

ray.init(placement="inline", logging_level="ERROR")
print(ray.get(Imports.remote().threads.remote()))
import torch
print(torch.get_num_threads() == {library.default() for library in library_threads.libraries() if "MKL_NUM_THREADS" in library.variables}.pop())
print(os.environ.get("OMP_NUM_THREADS"), os.popen("echo $OMP_NUM_THREADS").read().strip() == "")
"""


def test_a_library_that_an_actor_is_first_to_import_has_the_actors_number_in_it_and_the_drivers_outside():
    pytest.importorskip("torch")
    environment = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, timeout=200, check=True, env=environment
    )
    assert done.stdout == "1\nTrue\nNone True\n"


INTERRUPTED = """
    import os, signal, sys, time
    import rayshim as ray

    ray.init(placement="inline")
    HANDLER

    def work():
        try:
            os.kill(os.getpid(), getattr(signal, sys.argv[2]))
            time.sleep(20)
        except Exception:
            print("an exception of the call")

    class Plain:
        def work(self):
            work()

    class Asynchronous:
        async def work(self):
            work()

    def stream():
        yield work()

    def converts():
        try:
            work()
        except BaseException as error:
            raise error.__class__(*error.args) from error

    def loops():
        import asyncio

        async def waits():
            os.kill(os.getpid(), getattr(signal, sys.argv[2]))
            await asyncio.sleep(20)

        asyncio.run(waits())

    def yields():
        yield 1
        yield work()

    def nested():
        try:
            ray.get(ray.remote(work).remote())
        except Exception:
            print("an exception of the inner call")

    call = {
        "task": lambda: ray.remote(work).remote(),
        "nested": lambda: ray.remote(nested).remote(),
        "plain": lambda: ray.remote(Plain).remote().work.remote(),
        "asynchronous": lambda: ray.remote(Asynchronous).remote().work.remote(),
        "converts": lambda: ray.remote(converts).remote(),
        "loops": lambda: ray.remote(loops).remote(),
        "yields": lambda: ray.remote(yields).options(num_returns=2).remote(),
        "stream": lambda: ray.remote(stream).options(num_returns="streaming").remote(),
    }[sys.argv[1]]
    try:
        ray.get(call())
        print("went on")
    except Exception as error:
        print("went on after", type(error))
    except BaseException as error:
        print(repr(error))
"""


@pytest.mark.parametrize("call", ["task", "nested", "plain", "asynchronous", "stream", "converts", "loops", "yields"])
@pytest.mark.parametrize(
    "number, handler, raised",
    [
        ("SIGINT", "", "KeyboardInterrupt()"),
        ("SIGTERM", "", "SystemExit(15)"),
        (
            "SIGUSR1",
            "signal.signal(signal.SIGUSR1, lambda *_: sys.exit('by the handler'))",
            "SystemExit('by the handler')",
        ),
        (
            "SIGINT",
            "signal.signal(signal.SIGINT, lambda *_: sys.exit('by the handler'))",
            "SystemExit('by the handler')",
        ),
    ],
    ids=["Ctrl-C", "SIGTERM", "handler", "handler of Ctrl-C"],
)
def test_a_signal_to_the_driver_interrupts_the_program_and_not_the_call_that_runs_in_it(call, number, handler, raised):
    driver = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED.replace("HANDLER", handler)), call, number],
        capture_output=True, text=True, timeout=200, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert driver.stdout == raised + "\n", driver.stderr


@pytest.mark.parametrize(
    "how, error", [("raise KeyboardInterrupt", "TaskCancelledError"), ("sys.exit(3)", "WorkerCrashedError")]
)
def test_what_a_call_raises_by_itself_stays_the_calls(inline, how, error):
    @ray.remote(max_retries=0)
    def work():
        exec(how, {"sys": sys})

    with pytest.raises(getattr(ray.exceptions, error)):
        ray.get(work.remote())


@pytest.mark.parametrize("end", ["ray.kill", "exit_actor", "sys.exit"])
def test_an_actor_that_has_ended_is_listed_as_dead_while_a_handle_is_there(inline, end):
    @ray.remote
    class Actor:
        def leave(self):
            ray.actor.exit_actor() if end == "exit_actor" else sys.exit(1)

    actor = Actor.remote()
    assert [found.state for found in ray.util.state.list_actors()] == ["ALIVE"]
    if end == "ray.kill":
        ray.kill(actor)
    else:
        with pytest.raises(ray.exceptions.ActorDiedError):
            ray.get(actor.leave.remote())
    assert [found.state for found in ray.util.state.list_actors()] == ["DEAD"]
