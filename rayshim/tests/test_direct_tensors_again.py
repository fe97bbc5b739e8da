"""Direct tensors in one session after another, whose ids are the same."""

import pytest

import rayshim as ray
from rayshim.experimental.collective import create_collective_group


@ray.remote(enable_tensor_transport=True)
class Actor:
    @ray.method(tensor_transport="gloo")
    def give(self):
        import torch

        return torch.zeros(3)

    def echo(self, value):
        return value


def test_another_session_knows_nothing_of_the_tensors_of_the_last():
    pytest.importorskip("torch")
    for placement in ("inline", "isolated", "inline", "packed"):
        ray.init(placement=placement, num_cpus=4, log_to_driver=False, logging_level="ERROR")
        try:
            assert [ray.put(1).tensor_transport() for _ in range(20)] == 20 * [None]
            giver, reader = Actor.remote(), Actor.remote()
            create_collective_group([giver, reader], backend="gloo")
            ref = giver.give.remote()
            assert ref.tensor_transport() == "GLOO"
            assert ray.get(reader.echo.remote(ref)).tolist() == [0, 0, 0]
        finally:
            ray.shutdown()
