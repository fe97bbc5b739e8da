"""Inline placement: actors and tasks in the driver's process, each with what would be its own."""

import json
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import rayshim as ray
from rayshim import session
from reactor import _core


@pytest.fixture
def inline():
    ray.init(placement="inline")
    yield
    ray.shutdown()


def printed(program, placement):
    return subprocess.run([sys.executable, "-c", program, placement], capture_output=True, text=True, timeout=50, check=True).stdout


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

    ray.get(Passing.remote().class_of.remote())
    before = len(session.current.exports)
    for _ in range(20):
        ray.get(Passing.remote().class_of.remote())
    assert len(session.current.exports) == before
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
        kept.append(len(session.current.exports))
    assert len(set(kept)) == 1


@pytest.mark.parametrize("placement", ["isolated", "inline"])
def test_an_actor_that_is_made_anew_has_its_class_anew(placement):
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
    assert _core.running() == (0, 0)
    with ThreadPoolExecutor(1) as threads:
        going = threads.submit(lambda: ray.get(actors[0].setting.remote(0.1)))
        while not _core.running()[1]:
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
def test_what_an_actor_imports_begins_anew_in_each_of_the_others(placement):
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
