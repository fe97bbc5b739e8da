"""Inline placement: actors and tasks in the driver's process, each with what would be its own."""

import json
import subprocess
import sys
import textwrap

import pytest

import rayshim as ray
from rayshim import session


@pytest.fixture
def inline():
    ray.init(placement="inline")
    yield
    ray.shutdown()


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
    run = subprocess.run([sys.executable, "-c", program, placement], capture_output=True, text=True, timeout=50, check=True)
    assert json.loads(run.stdout) == [True, 7]
