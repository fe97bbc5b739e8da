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


@ray.remote
class Plain:
    def ping(self):
        return 1


@ray.remote(enable_tensor_transport=True)
class Owner:
    @ray.method(tensor_transport="gloo")
    def give(self):
        import torch

        self.given = torch.zeros(3)
        return self.given

    def is_own(self, value):
        return value is self.given


@pytest.mark.parametrize("placement", ["inline", "packed"])
def test_an_actor_gets_its_own_tensor_back_beside_actors_without_tensors(placement):
    pytest.importorskip("torch")
    ray.init(placement=placement, num_cpus=1, log_to_driver=False, logging_level="ERROR")
    try:
        plain = [Plain.remote() for _ in range(3)]
        assert ray.get([actor.ping.remote() for actor in plain]) == [1, 1, 1]
        owner, other = Owner.remote(), Owner.remote()
        create_collective_group([owner, other], backend="gloo")
        assert ray.get(owner.is_own.remote(owner.give.remote()))
        other.give.remote()
        assert not ray.get(other.is_own.remote(owner.give.remote()))
    finally:
        ray.shutdown()
