"""Ids: their kinds, sizes, text, constructors, and what of other ids is in them."""

import pickle

import pytest

SIZES = {
    "UniqueID": 28, "NodeID": 28, "WorkerID": 28, "FunctionID": 28, "ActorClassID": 28, "ClusterID": 28, "JobID": 4, "ActorID": 16, "TaskID": 24,
    "PlacementGroupID": 18, "ObjectRef": 28,
}
WITH_HEX = sorted(set(SIZES) - {"UniqueID", "ObjectRef"})


@pytest.mark.parametrize("kind", sorted(SIZES))
def test_an_id_is_its_bytes(bare_ray, kind):
    cls = getattr(bare_ray, kind)
    data = bytes(range(SIZES[kind]))
    one = cls(data)
    assert cls.size() == SIZES[kind] and one.binary() == data and bytes(one) == data and one.hex() == data.hex()
    assert repr(one) == f"{kind}({data.hex()})" and isinstance(one.redis_shard_hash(), int)
    assert one == cls.from_binary(data) and hash(one) == hash(cls.from_binary(data)) and one != 3
    assert pickle.loads(pickle.dumps(one)) == one
    assert not one.is_nil() and cls.nil().is_nil() and cls.nil().binary() == b"\xff" * SIZES[kind]


@pytest.mark.parametrize("kind", sorted(SIZES))
def test_an_id_takes_bytes_of_its_length_only(bare_ray, kind):
    with pytest.raises(ValueError, match=f"ID string needs to have length {SIZES[kind]}, got 1"):
        getattr(bare_ray, kind)(b"1")
    with pytest.raises(TypeError, match="Unsupported type: <class 'str'>, expected bytes"):
        getattr(bare_ray, kind)("1")


@pytest.mark.parametrize("kind", WITH_HEX)
def test_an_id_is_read_from_hex_and_nil_where_that_is_none(bare_ray, kind):
    cls = getattr(bare_ray, kind)
    one = cls(bytes(range(SIZES[kind])))
    assert cls.from_hex(one.hex()) == one == cls.from_hex(one.hex().encode())
    assert cls.from_hex("ab").is_nil() and cls.from_hex("z" * 2 * SIZES[kind]).is_nil()
    with pytest.raises(TypeError):
        cls.from_hex(3)


def test_an_id_is_of_one_kind(bare_ray):
    data = bytes(28)
    assert bare_ray.NodeID(data) != bare_ray.WorkerID(data)
    assert issubclass(bare_ray.ClusterID, bare_ray.UniqueID)
    assert bare_ray.NodeID.from_random() != bare_ray.NodeID.from_random()


def test_a_job_id_is_a_number(bare_ray):
    job = bare_ray.JobID.from_int(5)
    assert job.int() == 5 and job.hex() == "05000000"
    assert bare_ray.JobID.from_int(2**32 - 1).is_nil()
    with pytest.raises(OverflowError, match="can't convert negative value to uint32_t"):
        bare_ray.JobID.from_int(-1)
    with pytest.raises(AssertionError, match="Maximum JobID integer"):
        bare_ray.JobID.from_int(2**32)


def test_ids_of_tasks_and_actors_hold_those_that_they_belong_to(bare_ray):
    job = bare_ray.JobID.from_int(1)
    driver = bare_ray.TaskID.for_driver_task(job)
    actor = bare_ray.ActorID.of(job, driver, 1)
    assert driver.job_id() == job and actor.job_id == job and actor != bare_ray.ActorID.of(job, driver, 2)
    assert bare_ray.TaskID.for_actor_creation_task(actor).actor_id() == actor
    assert bare_ray.TaskID.for_actor_task(job, driver, 1, actor).actor_id() == actor
    assert bare_ray.TaskID.for_normal_task(job, driver, 1).job_id() == job
    assert bare_ray.TaskID.for_fake_task(job).job_id() == job
    assert bare_ray.PlacementGroupID.of(job) != bare_ray.PlacementGroupID.of(job)
    for wrong in (lambda: bare_ray.ActorID.of(1, driver, 3), lambda: bare_ray.TaskID.for_normal_task(1, driver, 3), lambda: bare_ray.PlacementGroupID.of(1)):
        with pytest.raises(AssertionError):
            wrong()


def test_a_ref_tells_its_task_and_job(ray):
    @ray.remote
    def own():
        return ray.get_runtime_context().get_task_id()

    ref = own.remote()
    assert ref.task_id().hex() == ray.get(ref) == ref.hex()[:48]
    assert isinstance(ref.job_id(), ray.JobID) and ref.job_id().hex() == ray.get_runtime_context().get_job_id()
    assert isinstance(ref.owner_address(), bytes) and isinstance(ref.call_site(), str) and ref.tensor_transport() is None


def test_a_handle_tells_its_actors_id(ray):
    @ray.remote
    class Known:
        def id(self):
            return ray.get_runtime_context().get_actor_id()

    known = Known.remote()
    assert known._actor_id.hex() == known._ray_actor_id.hex() == ray.get(known.id.remote())
    assert repr(known) == f"Actor(test_a_handle_tells_its_actors_id.<locals>.Known, {known._actor_id.hex()})"
    assert known._actor_id.job_id.hex() == ray.get_runtime_context().get_job_id()
