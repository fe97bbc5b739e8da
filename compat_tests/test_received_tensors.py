import pytest

pytestmark = pytest.mark.torch
LENGTHS = (4, 300_000)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def received(ray, torch):
    """Tensors as they arrive: from put, from a task and inside a list, contiguous and transposed, with and without gradient."""

    @ray.remote
    def echo(value):
        return value

    def arrive(tensor):
        return ray.get(ray.put(tensor)), ray.get(echo.remote(tensor)), ray.get(echo.remote([tensor]))[0]

    sent = [
        torch.ones(*shape, requires_grad=grad) for grad in (False, True) for length in LENGTHS for shape in ((length,), (2, length // 2))
    ]
    sent += [torch.ones(2, 3).t(), torch.tensor(1.0), torch.ones(0)]
    return [one for tensor in sent for one in arrive(tensor)]


def test_a_received_tensor_can_be_detached_in_place(received):
    for tensor in received:
        assert tensor.is_leaf
        assert not tensor._is_view()
        assert tensor.detach_().requires_grad is False


def test_a_received_tensor_that_needs_a_gradient_is_refused_in_place_as_one_made_here(ray, torch):
    for length in LENGTHS:
        tensor = ray.get(ray.put(torch.ones(length, requires_grad=True)))
        with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place operation"):
            tensor.mul_(2)


def test_an_optimizer_steps_received_tensors(ray, torch):
    for length in LENGTHS:
        tensor = ray.get(ray.put(torch.zeros(length, requires_grad=True)))
        gradient = ray.get(ray.put(torch.ones(length)))
        tensor.grad = gradient
        optimizer = torch.optim.SGD([tensor], lr=0.5)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        assert tensor.detach()[0] == -0.5
        assert gradient.sum() == 0
