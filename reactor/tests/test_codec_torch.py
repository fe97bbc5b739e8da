"""The codec with torch tensors: equal, writable, and sharing nothing, although large ones are read without a copy."""

import pytest
from reactor import _core, codec
from reactor.tests.test_codec import run  # noqa: F401

torch = None  # imported by the first test: while the suite is collected it would slow all others down
DTYPES = ["bool", "uint8", "int16", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
SHAPES = [(), (0,), (3, 0, 2), (5,), (40, 50), (300, 400)]


@pytest.fixture(autouse=True)
def import_torch():
    global torch
    torch = pytest.importorskip("torch")


def make(shape, dtype):
    dtype = getattr(torch, dtype)
    return (torch.rand(shape, dtype=torch.float32) * 100).to(dtype)


def check(tensor):
    read = _core.roundtrip(tensor)
    assert type(read) is type(tensor) and read.dtype == tensor.dtype and read.shape == tensor.shape
    assert read.requires_grad == tensor.requires_grad
    assert torch.equal(read.detach(), tensor.detach())
    return read


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_and_shape(dtype, shape):
    check(make(shape, dtype))


@pytest.mark.parametrize("size", [10, 5000, 100_000])
def test_views_of_larger_tensors(size):
    whole = torch.arange(size * 4, dtype=torch.float32).reshape(4, size)
    empty = whole[:, 5:5].T
    for view in (
        whole[1],
        whole[:, ::2],
        whole.T,
        whole[1:3, 3:],
        whole[2, 5],
        whole.expand(2, 4, size),
        empty,
        whole[1:3].T[2::3, 1:],
    ):
        assert check(view).stride() == view.stride() or view.is_contiguous()


def test_of_a_view_only_the_part_that_it_covers_is_sent():
    whole = torch.arange(1_000_000.0)
    for view in (whole[10:20], whole[10:20].reshape(2, 5).T, whole[7:8].expand(1000)):
        data, buffers = codec.dumps(view)
        assert len(data) + sum(memoryview(b).nbytes for b in buffers) < 1000
        assert torch.equal(codec.loads(data, buffers), view)


def test_gradients_parameters_and_modules():
    check(torch.ones(3000, requires_grad=True))
    assert isinstance(check(torch.nn.Parameter(torch.ones(20_000))), torch.nn.Parameter)
    layer = torch.nn.Linear(100, 200)
    read = _core.roundtrip(layer)
    assert all(torch.equal(a, b) for a, b in zip(layer.state_dict().values(), read.state_dict().values()))
    read(torch.ones(100)).sum().backward()
    check(torch.ones(2, 3, dtype=torch.complex64).conj())


def test_sparse_tensors():
    sparse = torch.eye(50).to_sparse()
    assert torch.equal(_core.roundtrip(sparse).to_dense(), torch.eye(50))


@pytest.mark.parametrize("size", [4, 2000, 20_000, 1_000_000])
def test_what_is_read_is_writable_and_two_reads_share_nothing(size):
    original = torch.zeros(size)
    ref = _core.put(original)
    a, b = _core.get([ref], None) + _core.get([ref], None)
    a += 1
    assert (a == 1).all() and (b == 0).all() and (original == 0).all()
    b += 2
    assert (a == 1).all() and (_core.get([ref], None)[0] == 0).all()


def test_a_private_view_is_as_new_when_its_memory_is_used_again():
    for i in range(6):
        tensor = _core.roundtrip(torch.full((100_000,), float(i)))
        assert (tensor == i).all()
        tensor.fill_(-1)
        del tensor


def test_a_dict_of_tensors_and_arrays():
    import numpy as np

    value = {"w": torch.rand(30_000), "b": torch.rand(3), "a": np.arange(9000.0), "n": 1, "shared": None}
    value["shared"] = value["w"]
    read = _core.roundtrip(value)
    assert torch.equal(read["w"], value["w"]) and read["shared"] is read["w"]
    assert (read["a"] == value["a"]).all() and not read["a"].flags.writeable
    read["w"][0] = 5.0
    assert read["shared"][0] == 5.0


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_a_strided_nested_tensor_arrives_with_its_parts():
    parts = [torch.ones(2), torch.ones(3000)]
    for nested in (
        torch.nested.nested_tensor(parts),
        torch.nested.nested_tensor([part.reshape(-1, 1) for part in parts]).transpose(1, 2),
    ):
        read = _core.roundtrip([nested])[0]
        assert read.is_nested and read.layout is torch.strided
        for one, other in zip(read.unbind(), nested.unbind(), strict=True):
            assert torch.equal(one, other)
