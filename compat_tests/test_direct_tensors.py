"""Ray Direct Transport: tensors that stay in their actor until another one needs them."""

import importlib
import os
import pickle
import uuid

import numpy as np
import pytest

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:RDT ObjectRef:UserWarning")]


def experimental(ray, *modules):
    """The module `experimental`, or one below it, of this backend."""
    return importlib.import_module(".".join([ray.__name__, "experimental", *modules]))


def sender_class(ray):
    """Actors that keep a tensor, return it directly, and tell what they get."""
    import torch

    freed = experimental(ray).wait_tensor_freed

    @ray.remote(enable_tensor_transport=True)
    class Sender:
        def __init__(self):
            self.tensor = torch.zeros(3)

        @ray.method(tensor_transport="gloo")
        def give(self):
            return self.tensor

        @ray.method(tensor_transport="gloo")
        def give_many(self):
            return {"a": self.tensor, "b": [1, self.tensor + 1], "text": "x"}

        @ray.method(tensor_transport="gloo")
        def give_number(self):
            return 5

        @ray.method(tensor_transport="gloo")
        def fail(self):
            raise KeyError("no tensor")

        @ray.method(tensor_transport="gloo", num_returns=2)
        def give_two(self):
            return self.tensor, self.tensor

        def plain(self):
            return self.tensor + 7

        def add(self, tensor, amount=1):
            tensor += amount
            return tensor

        def own(self):
            return self.tensor

        def is_own(self, tensor):
            return tensor is self.tensor

        def same(self, first, second):
            return first is second, first, second

        def echo(self, value):
            return value

        def get_inside(self, refs):
            return ray.get(refs[0])

        def when_freed(self, timeout):
            freed(self.tensor, timeout)
            return True

    return Sender


@pytest.fixture
def pair(ray):
    """Two such actors in a group."""
    collective = experimental(ray, "collective")
    Sender = sender_class(ray)
    actors = Sender.remote(), Sender.remote()
    collective.create_collective_group(list(actors), backend="torch_gloo")
    yield actors
    collective.destroy_all_collective_groups()


def test_a_transport_has_a_known_name(ray):
    for name in ("nope", "object_store"):
        with pytest.raises(ValueError, match=f"Invalid tensor transport: {name.upper()}"):

            @ray.remote
            class A:
                @ray.method(tensor_transport=name)
                def f(self):
                    pass


def test_a_call_needs_a_group_of_its_actor(ray):
    Sender = sender_class(ray)
    with pytest.raises(ValueError, match="does not have tensor transport GLOO available"):
        Sender.remote().give.remote()


def test_transports_for_other_machines_and_gpus_are_not_available(ray):
    for name in ("nixl", "nccl"):

        @ray.remote
        class A:
            @ray.method(tensor_transport=name)
            def f(self):
                pass

        with pytest.raises(ValueError, match=f"does not have tensor transport {name.upper()} available"):
            A.remote().f.remote()


def test_one_result_only_is_direct(ray, pair):
    with pytest.raises(ValueError, match="only support 1 return value"):
        pair[0].give_two.remote()


def test_an_actor_class_cannot_refuse_what_its_methods_need(ray):
    class A:
        @ray.method(tensor_transport="gloo")
        def f(self):
            pass

    with pytest.raises(ValueError, match="Either set enable_tensor_transport=True or remove"):
        ray.remote(enable_tensor_transport=False)(A).remote()


def test_an_option_of_a_call_needs_an_actor_that_is_enabled(ray):
    @ray.remote
    class A:
        def f(self):
            pass

    with pytest.raises(ValueError, match="not supported when enable_tensor_transport=False"):
        A.remote().f.options(tensor_transport="gloo").remote()
    with pytest.raises(ValueError, match="Invalid tensor transport: NOPE"):
        A.remote().f.options(tensor_transport="nope").remote()


def test_put_is_for_one_sided_transports(ray):
    import torch

    with pytest.raises(ValueError, match="not supported for two-sided RDT transport 'GLOO'"):
        ray.put(torch.ones(2), _tensor_transport="gloo")
    with pytest.raises(ValueError, match="Invalid tensor transport: NOPE"):
        ray.put(torch.ones(2), _tensor_transport="nope")
    with pytest.raises(ModuleNotFoundError, match="No module named 'nixl'"):
        ray.put(torch.ones(2), _tensor_transport="nixl")


def test_a_ref_tells_its_transport(ray, pair):
    assert pair[0].give.remote().tensor_transport() == "GLOO"
    assert ray.put(1).tensor_transport() is None
    assert pair[0].plain.remote().tensor_transport() is None


def test_a_tensor_gets_to_another_actor(ray, pair):
    import torch

    assert torch.equal(ray.get(pair[1].echo.remote(pair[0].give.remote())), torch.zeros(3))


def test_tensors_inside_a_value_get_to_another_actor(ray, pair):
    got = ray.get(pair[1].echo.remote(pair[0].give_many.remote()))
    assert got["text"] == "x" and got["b"][0] == 1
    assert got["a"].tolist() == [0, 0, 0] and got["b"][1].tolist() == [1, 1, 1]


def test_an_option_of_a_call_makes_its_result_direct(ray, pair):
    ref = pair[0].plain.options(tensor_transport="gloo").remote()
    assert ref.tensor_transport() == "GLOO"
    assert ray.get(pair[1].echo.remote(ref)).tolist() == [7, 7, 7]


def test_a_value_without_tensors_may_be_direct(ray, pair):
    ref = pair[0].give_number.remote()
    assert ray.get(pair[1].echo.remote(ref)) == 5 and ray.get(ref) == 5


def test_the_error_of_a_direct_call_is_that_of_any_call(ray, pair):
    failed = pair[0].fail.remote()
    with pytest.raises(KeyError, match="no tensor"):
        ray.get(failed)
    with pytest.raises(KeyError, match="no tensor"):
        ray.get(pair[1].echo.remote(failed))


def test_get_takes_tensors_of_a_group_through_the_object_store_only(ray, pair):
    ref = pair[0].give_many.remote()
    with pytest.raises(ValueError, match="ray.get is not allowed on RDT objects using the two-sided transport GLOO"):
        ray.get(ref)
    assert ray.get(ref, _use_object_store=True)["a"].tolist() == [0, 0, 0]
    assert [value["text"] for value in ray.get([ref, ref], _use_object_store=True)] == ["x", "x"]
    assert ray.get(ray.put(3), _use_object_store=True) == 3


def test_wait_needs_no_transfer(ray, pair):
    ref = pair[0].give.remote()
    assert ray.wait([ref], timeout=20) == ([ref], [])


def test_an_actor_gets_its_own_tensor_back(ray, pair):
    ref = pair[0].give.remote()
    assert ray.get(pair[0].is_own.remote(ref))
    assert not ray.get(pair[1].is_own.remote(ref))


def test_each_receiver_writes_to_a_tensor_of_its_own(ray, pair):
    ref = pair[0].give.remote()
    assert ray.get(pair[1].add.remote(ref)).tolist() == [1, 1, 1]
    assert ray.get(pair[1].add.remote(ref)).tolist() == [1, 1, 1]
    assert ray.get(pair[0].own.remote()).tolist() == [0, 0, 0]


def test_a_call_gets_one_object_once(ray, pair):
    ref = pair[0].give.remote()
    same, first, second = ray.get(pair[1].same.remote(ref, ref))
    assert same and first.tolist() == second.tolist() == [0, 0, 0]


def test_a_receiver_sees_what_its_owner_has_written_since(ray, pair):
    ref = pair[0].give.remote()
    ray.get(pair[0].add.remote(ref, 4))
    assert ray.get(pair[1].echo.remote(ref)).tolist() == [4, 4, 4]


def test_both_actors_send_to_each_other_at_the_same_time(ray, pair):
    refs = [actor.give.remote() for actor in pair]
    for _ in range(3):
        calls = [pair[0].add.remote(refs[1]), pair[1].add.remote(refs[0])]
        assert [value.tolist() for value in ray.get(calls)] == [[1, 1, 1], [1, 1, 1]]


def test_a_ref_inside_a_value_stays_a_ref(ray, pair):
    ref = pair[0].give.remote()
    ray.wait([ref])
    assert ray.get(pair[1].echo.remote([ref])) == [ref]
    assert ray.get(pair[0].get_inside.remote([ref])).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="two-sided transport GLOO"):
        ray.get(pair[1].get_inside.remote([ref]))


def test_a_tensor_is_free_when_its_refs_are_gone(ray, pair):
    ref = pair[0].give.remote()
    ray.get(pair[1].echo.remote(ref))
    with pytest.raises(TimeoutError, match="not freed from RDT object store after 0.2s"):
        ray.get(pair[0].when_freed.remote(0.2))
    del ref
    assert ray.get(pair[0].when_freed.remote(20))


@pytest.mark.needs_concurrency
def test_an_actor_that_waits_for_its_tensor_still_sends_it(ray, pair):
    ref = pair[0].give.remote()
    waiting = pair[0].when_freed.remote(60)
    sent = pair[1].add.remote(ref)
    assert ray.get(sent).tolist() == [1, 1, 1]
    assert ray.wait([waiting], timeout=0.2)[0] == []
    del ref
    assert ray.get(waiting)


def test_an_actor_is_in_one_group_of_a_backend(ray, pair):
    collective = experimental(ray, "collective")
    other = sender_class(ray).remote()
    with pytest.raises(RuntimeError, match="already in group for backend GLOO"):
        collective.create_collective_group([pair[1], other], backend="gloo")
    with pytest.raises(ValueError, match="All actors must be unique"):
        collective.create_collective_group([other, other], backend="gloo")
    with pytest.raises(ValueError, match="Unrecognized backend: 'nope'"):
        collective.create_collective_group([other], backend="nope")


def test_a_group_tells_its_members(ray, pair):
    collective = experimental(ray, "collective")
    other = sender_class(ray).remote()
    (group,) = collective.get_collective_groups([pair[0]])
    assert type(group).__name__ == "CommunicatorHandle" and group.name and group.backend == "GLOO"
    assert group.actors == list(pair)
    assert [group.get_rank(actor) for actor in (*pair, other)] == [0, 1, -1]
    assert collective.get_collective_groups([pair[0], other]) == []
    assert collective.get_collective_groups([pair[0]], backend="gloo") == [group]
    assert collective.get_collective_groups([pair[0]], backend="nccl") == []


def test_a_destroyed_group_is_gone(ray, pair):
    collective = experimental(ray, "collective")
    (group,) = collective.get_collective_groups(list(pair))
    for wrong, told in (("nope", "No group with name nope found"), (3, "Expected CommunicatorHandle or str")):
        with pytest.raises(ValueError, match=told):
            collective.destroy_collective_group(wrong)
    collective.destroy_collective_group(group.name)
    with pytest.raises(ValueError, match="does not have tensor transport GLOO"):
        pair[0].give.remote()
    again = collective.create_collective_group([pair[1], pair[0]], backend="gloo", name=uuid.uuid4().hex)
    assert again.get_rank(pair[1]) == 0
    collective.destroy_all_collective_groups()
    assert collective.get_collective_groups([]) == []


# ---- transports of the program's own


def file_transport(ray, folder, one_sided):
    """Registers a transport that writes arrays to files, as soon as they are made (one-sided) or when they are sent. Returns its name."""
    rdt = experimental(ray)
    name = f"files_{uuid.uuid4().hex[:8]}"

    class Files(rdt.TensorTransportManager):
        def tensor_transport_backend(self):
            return name

        @staticmethod
        def is_one_sided():
            return one_sided

        @staticmethod
        def can_abort_transport():
            return False

        def actor_has_tensor_transport(self, actor):
            return True

        def _path(self, obj_id):
            return os.path.join(folder, obj_id)

        def _write(self, obj_id, tensors):
            with open(self._path(obj_id) + ".part", "wb") as file:
                pickle.dump(tensors, file)
            os.rename(self._path(obj_id) + ".part", self._path(obj_id))

        def extract_tensor_transport_metadata(self, obj_id, rdt_object):
            if one_sided:
                self._write(obj_id, rdt_object)
            about = [(part.shape, part.dtype) for part in rdt_object]
            made = rdt.TensorTransportMetadata(about, "cpu")
            made.obj_id = obj_id
            return made

        def get_communicator_metadata(self, src_actor, dst_actor, backend=None):
            return rdt.CommunicatorMetadata()

        def recv_multiple_tensors(self, obj_id, tensor_transport_metadata, communicator_metadata, target_buffers=None):
            import time

            until = time.monotonic() + 30
            while not os.path.exists(self._path(obj_id)) and time.monotonic() < until:
                time.sleep(0.005)
            with open(self._path(obj_id), "rb") as file:
                received = pickle.load(file)
            if not one_sided:
                os.remove(self._path(obj_id))
            return received

        def send_multiple_tensors(self, tensors, tensor_transport_metadata, communicator_metadata):
            assert not one_sided
            self._write(tensor_transport_metadata.obj_id, tensors)

        def garbage_collect(self, obj_id, tensor_transport_meta, tensors):
            with open(os.path.join(folder, "collected"), "a") as file:
                file.write(f"{len(tensors)}\n")

        def abort_transport(self, obj_id, communicator_metadata):
            pass

    rdt.register_tensor_transport(name, ["cpu"], Files, np.ndarray)
    with pytest.raises(ValueError, match=f"Transport {name.upper()} already registered"):
        rdt.register_tensor_transport(name, ["cpu"], Files, np.ndarray)
    return name


def array_actor(ray, name):
    @ray.remote
    class Arrays:
        def __init__(self):
            self.array = np.arange(3)

        @ray.method(tensor_transport=name)
        def give(self):
            return {"array": self.array, "one": 1}

        def put(self):
            return [ray.put(self.array, _tensor_transport=name)]

        def get_first(self, refs):
            return ray.get(refs[0])

        def total(self, value):
            return int(value["array"].sum()) + value["one"]

        def is_own(self, value):
            return value["array"] is self.array

    return Arrays


def test_a_transport_is_made_of_the_right_class(ray):
    with pytest.raises(ValueError, match="must be a subclass of TensorTransportManager"):
        experimental(ray).register_tensor_transport("wrong", ["cpu"], dict, np.ndarray)


@pytest.mark.parametrize("one_sided", [True, False], ids=["one-sided", "two-sided"])
def test_an_own_transport_brings_tensors_to_other_actors(ray, tmp_path, one_sided):
    Arrays = array_actor(ray, file_transport(ray, str(tmp_path), one_sided))
    first, second = Arrays.remote(), Arrays.remote()
    ref = first.give.remote()
    assert ray.get(second.total.remote(ref)) == 4
    assert ray.get(first.is_own.remote(ref)) and not ray.get(second.is_own.remote(ref))


def test_an_own_transport_cleans_up_when_the_refs_are_gone(ray, tmp_path):
    from compat_tests.processes import wait_until

    Arrays = array_actor(ray, file_transport(ray, str(tmp_path), True))
    first, second = Arrays.remote(), Arrays.remote()
    ref = first.give.remote()
    assert ray.get(second.total.remote(ref)) == 4
    assert not (tmp_path / "collected").exists()
    del ref
    wait_until(lambda: (tmp_path / "collected").exists(), 20, "the transport has cleaned up")
    assert (tmp_path / "collected").read_text() == "1\n"


def test_get_takes_tensors_by_a_one_sided_transport(ray, tmp_path):
    Arrays = array_actor(ray, file_transport(ray, str(tmp_path), True))
    actor = Arrays.remote()
    ref = actor.give.remote()
    assert ray.get(ref)["array"].tolist() == [0, 1, 2]
    assert ray.get(ref, _use_object_store=True)["array"].tolist() == [0, 1, 2]


def test_put_keeps_tensors_where_they_are(ray, tmp_path):
    name = file_transport(ray, str(tmp_path), True)
    Arrays = array_actor(ray, name)
    first, second = Arrays.remote(), Arrays.remote()
    array = np.arange(3)
    ref = ray.put({"array": array, "one": 1}, _tensor_transport=name)
    assert ref.tensor_transport() == name.upper()
    assert ray.get(ref)["array"] is array
    assert ray.get([first.total.remote(ref), second.total.remote(ref)]) == [4, 4]  # Ray's actor knows the transport when it has had one of its values
    inner = ray.get(first.put.remote())
    assert ray.get(inner[0]).tolist() == [0, 1, 2]
    assert ray.get(second.get_first.remote(inner)).tolist() == [0, 1, 2]


def test_only_direct_refs_have_a_target(ray):
    import torch

    with pytest.raises(ValueError, match="is not an RDT object"):
        experimental(ray).set_target_for_ref(ray.put(1), [torch.ones(1)])
    with pytest.raises(ValueError, match="is not an RDT object"):
        experimental(ray).set_target_device_for_ref(ray.put(1), "cpu")
