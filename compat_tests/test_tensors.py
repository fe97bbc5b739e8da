import pytest

pytestmark = pytest.mark.torch


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_tensors_arrive_with_values_dtype_and_shape(ray, torch):
    @ray.remote
    def echo(tensors):
        return tensors

    sent = [
        torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3).t(), torch.zeros(0, 4), torch.tensor(2),
        torch.ones(3, dtype=torch.bfloat16), torch.tensor([True]), torch.arange(300_000),
        torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(2)),
    ]
    for arrived in (ray.get(echo.remote(sent)), ray.get(ray.put(sent)), ray.get([ray.put(tensor) for tensor in sent])):
        for one, other in zip(arrived, sent, strict=True):
            assert type(one) is type(other)
            assert (one.dtype, one.shape, one.requires_grad) == (other.dtype, other.shape, other.requires_grad)
            assert torch.equal(one, other)


def test_a_tensor_from_get_may_be_changed_without_changing_the_object(ray, torch):
    for length in (4, 300_000):
        ref = ray.put(torch.zeros(length))
        first = ray.get(ref)
        first += 1
        assert first[0] == 1
        assert ray.get(ref)[0] == 0


def test_a_module_and_its_state_arrive(ray, torch):
    @ray.remote
    def evaluate(module, state, x):
        module.load_state_dict(state)
        return module(x).detach()

    module, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    x = torch.ones(1, 3)
    assert torch.allclose(ray.get(evaluate.remote(other, module.state_dict(), x)), module(x))


def test_workers_draw_different_tensors(ray, torch):
    @ray.remote
    class Drawer:
        def draw(self):
            import torch
            return float(torch.rand(1))

    actors = [Drawer.remote() for _ in range(2)]
    assert len({float(torch.rand(1)), *ray.get([actor.draw.remote() for actor in actors])}) == 3


def test_a_tensor_given_to_several_is_each_ones_own(ray, torch):
    @ray.remote
    class Adder:
        def add(self, tensor, value):
            tensor += value
            self.held = tensor
            return float(tensor.sum())

        def total(self):
            return float(self.held.sum())

    adders = [Adder.remote() for _ in range(3)]
    for length in (4, 300_000):
        tensor = torch.ones(length, dtype=torch.float64)
        for _ in range(2):
            found = ray.get([adder.add.remote(tensor, value) for value, adder in enumerate(adders)])
            assert found == [length * (1.0 + value) for value in range(3)]
        assert ray.get([adder.total.remote() for adder in adders]) == found
        assert float(tensor.sum()) == length
