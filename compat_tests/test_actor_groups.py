"""`ray.util.actor_group`: actors of one class that are called together."""

import importlib

import pytest

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Member:
    def __init__(self, first, then=0):
        self.sum = first + then

    def add(self, n):
        self.sum += n
        return self.sum


@pytest.fixture
def group(ray):
    module = importlib.import_module(f"{ray.__name__}.util.actor_group")
    made = module.ActorGroup(Member, num_actors=2, num_cpus_per_actor=1, init_args=(10,), init_kwargs={"then": 5})
    yield made
    made.shutdown()


def test_a_method_is_called_on_each(ray, group):
    assert ray.get(group.add.remote(1)) == [16, 16] and len(group) == 2


def test_one_of_them_is_called_alone(ray, group):
    assert ray.get(group[0].actor.add.remote(1)) == 16
    assert ray.get(group.add.remote(1)) == [17, 16]
    assert group[1].metadata == group.actor_metadata[1]


def test_a_method_is_not_called_directly(ray, group):
    method = group.add
    assert type(method) is importlib.import_module(f"{ray.__name__}.util.actor_group").ActorGroupMethod
    assert ray.get(method.remote(0)) == [15, 15]
    with pytest.raises(TypeError, match="cannot be called directly"):
        group.add(1)


def test_members_come_and_go(ray, group):
    group.add_actors(1)
    assert ray.get(group.add.remote(0)) == [15, 15, 15]
    group.remove_actors([0, 1])
    assert ray.get(group.add.remote(0)) == [15]


def test_a_class_of_members_is_not_one_of_actors(ray):
    module = importlib.import_module(f"{ray.__name__}.util.actor_group")
    assert [field for field in module.ActorConfig.__dataclass_fields__] == ["num_cpus", "num_gpus", "resources", "init_args", "init_kwargs"]
    assert list(module.ActorWrapper.__dataclass_fields__) == ["actor", "metadata"]
